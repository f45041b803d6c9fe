import type { SessionPage, SessionQuery, SessionStatus, SessionSummary } from '../../core/store.ts'
import { visibleName } from '../../platform/visible-text.ts'
import type { Row } from '../../view/rows.ts'
import { formatCost, pluralize, timeAgo } from '../rows/format.ts'
import { renderRow } from '../rows/render-row.ts'
import { own } from '../terminal/marks.ts'
import type { Paint } from '../terminal/paint.ts'
import { cutToWidth, textWidth } from '../terminal/text-width.ts'
import { createListView, type ListControl } from './list.ts'
import type { View } from './viewer.ts'

export interface SessionsOptions {
  readonly paint: Paint
  /** The folder whose sessions are listed at first; without it those of all folders. */
  readonly folder?: string
  readonly now: () => number
  /** A page of the store's index. */
  list(query: SessionQuery): Promise<SessionPage>
  /** The last rows of a session, for the preview. */
  lastRows?(sessionId: string): Promise<readonly Row[]>
  rename?(sessionId: string, title: string): Promise<void>
  delete?(sessionId: string): Promise<void>
}

/** The sessions of a store, newest first, read page by page. Closes with the one that the person opens. */
export function sessionsView(options: SessionsOptions): View<SessionSummary | undefined> {
  const { paint, folder, now, lastRows } = options
  let isEverywhere = folder === undefined
  let sessions: SessionSummary[] = []
  let cursor: string | undefined
  const previews = new Map<string, readonly Row[] | 'reading'>()
  let changed = (): void => {}

  async function more(): Promise<boolean> {
    const wasEverywhere = isEverywhere
    const place = isEverywhere || folder === undefined ? {} : { folder }
    const page = await options.list({ parent: null, limit: 100, ...place, ...(cursor !== undefined && { cursor }) })
    if (wasEverywhere !== isEverywhere) return true // of the other list
    const known = new Set(sessions.map(({ id }) => id))
    sessions = [...sessions, ...page.sessions.filter(({ id }) => !known.has(id))]
    cursor = page.next
    return cursor !== undefined
  }
  function read(id: string): readonly Row[] | 'reading' {
    const known = previews.get(id)
    if (known || !lastRows) return known ?? []
    previews.set(id, 'reading')
    lastRows(id).then(
      (rows) => {
        previews.set(id, rows)
        changed()
      },
      () => previews.set(id, []),
    )
    return 'reading'
  }
  const nameOf = ({ title, id }: SessionSummary): string => visibleName(title ?? id)

  function press(key: string, list: ListControl<SessionSummary>): { readonly value: SessionSummary } | undefined {
    const { selected } = list
    if (key === 'f' && folder !== undefined) {
      isEverywhere = !isEverywhere
      sessions = []
      cursor = undefined
      list.restart()
    }
    if (!selected) return undefined
    if (key === 'enter') return { value: selected }
    if (key === 'd' && options.delete)
      list.confirm(`Delete "${cutToWidth(nameOf(selected), 40)}" for good?`, async () => {
        await options.delete!(selected.id)
        sessions = sessions.filter(({ id }) => id !== selected.id)
        list.say('deleted')
      })
    if (key === 'r' && options.rename)
      list.ask('title: ', selected.title ?? '', async (text) => {
        const title = text.trim()
        if (title === '') return
        await options.rename!(selected.id, title)
        sessions = sessions.map((one) => (one.id === selected.id ? { ...one, title } : one))
        list.say('renamed')
      })
    return undefined
  }

  const view = createListView<SessionSummary>({
    paint,
    title: () => (isEverywhere ? 'Sessions' : `Sessions of ${visibleName(folder!)}`),
    items: () => sessions,
    more,
    text: (one) => `${nameOf(one)} ${one.id} ${one.folder ?? ''} ${statusWords[one.status]} ${one.tags.join(' ')}`,
    line: (one, columns) => sessionLine(one, nameOf(one), { columns, now: now(), paint, isEverywhere }),
    preview: (one, columns, rows) => previewLines(one, read(one.id), { columns, rows, paint }),
    empty: 'no sessions here yet: send a message to begin one',
    hint: [
      'Enter opens',
      ...(options.delete ? ['d deletes'] : []),
      ...(options.rename ? ['r renames'] : []),
      ...(folder === undefined ? [] : ['f folders']),
    ].join(own(' · ')),
    press,
  })
  return {
    ...view,
    subscribe(listener) {
      changed = listener
      return view.subscribe!(listener)
    },
  }
}

/** The words of a status, the same everywhere. */
export const statusWords: Readonly<Record<SessionStatus, string>> = {
  working: 'works',
  waiting: 'waits for you',
  interrupted: 'interrupted',
  failed: 'failed',
  parked: 'parked',
  idle: '',
}

interface LineContext {
  readonly columns: number
  readonly now: number
  readonly paint: Paint
  readonly isEverywhere: boolean
}

/** Title at the left, facts at the right; on narrow screens only the time stays. */
function sessionLine(one: SessionSummary, name: string, { columns, now, paint, isEverywhere }: LineContext): string {
  const status = one.attention === 'answered' ? 'answered' : statusWords[one.status]
  const place = isEverywhere && one.folder !== undefined ? [visibleName(one.folder.split('/').at(-1) ?? '')] : []
  const when = timeAgo(one.updatedAt, now)
  const all = [...place, ...(one.cost > 0 ? [formatCost(one.cost)] : []), when].join(own(' · '))
  const facts = columns >= 48 ? all : when
  const mark = status === '' ? '' : `${status}: `
  const room = columns - textWidth(facts) - textWidth(mark) - 2
  const title = cutToWidth(name, Math.max(8, room))
  const gap = ' '.repeat(Math.max(2, columns - textWidth(mark) - textWidth(title) - textWidth(facts)))
  const style =
    one.status === 'waiting' && status !== 'answered' ? paint.yellow : one.status === 'failed' ? paint.red : paint.cyan
  return `${mark === '' ? '' : style(mark)}${title}${paint.dim(`${gap}${facts}`)}`
}

/** Facts, and the end of the session. */
function previewLines(
  one: SessionSummary,
  read: readonly Row[] | 'reading',
  { columns, rows, paint }: { readonly columns: number; readonly rows: number; readonly paint: Paint },
): string[] {
  const facts = [
    pluralize(one.turns, 'turn'),
    pluralize(one.calls, 'call'),
    ...(one.tags.length > 0 ? [visibleName(one.tags.join(', '))] : []),
  ]
  const head = [paint.dim(cutToWidth(facts.join(own(' · ')), columns)), '']
  if (read === 'reading') return [...head, paint.dim('reading …')]
  const cwd = one.folder ?? ''
  const lines = read.flatMap((row) => renderRow(row, { paint, columns, cwd }))
  return [...head, ...lines.slice(-Math.max(1, rows - head.length))]
}
