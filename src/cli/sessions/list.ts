import type { SessionStore } from '../../core/store.ts'
import { visibleName } from '../../platform/visible-text.ts'
import { allSessions } from '../../sessions/session-query.ts'
import { exitCodes } from '../cli-error.ts'
import type { Io } from '../io.ts'
import { pluralize, timeAgo } from '../screen/format.ts'
import { createPaint, hasColours } from '../screen/paint.ts'
import { cutToWidth, textWidth } from '../screen/text-width.ts'
import { jsonText } from '../text.ts'
import { newestFirst } from './find-session.ts'
import { type SessionArgs, withStore } from './open-store.ts'
import { realFolder } from './session-folder.ts'
import { liveState, type SessionState, stateLabels } from './session-state.ts'
import { openSummaryCache, type SessionSummary } from './summary.ts'

const defaultLimit = 30

type ListArgs = SessionArgs<{ readonly all?: boolean; readonly limit?: string; readonly json?: boolean }>

/** `libero sessions list`. Reads only as many sessions as it shows. */
export async function list({ values }: ListArgs, io: Io): Promise<number> {
  const limit = Number(values.limit ?? defaultLimit)
  const isAll = values.all === true
  const { shown, hasMore, others } = await withStore(io, (store) =>
    newest(store, limit, isAll ? undefined : realFolder(io.cwd), io),
  )
  if (values.json) {
    io.out(jsonText(shown))
    return exitCodes.done
  }
  for (const line of table(shown, io, isAll)) io.out(line)
  if (shown.length === 0)
    io.err(
      others > 0
        ? `No session was begun in this folder; libero sessions list --all shows ${others} of other folders`
        : 'There are no sessions yet; begin one with libero "task"',
    )
  if (hasMore) io.err(`There are older ones: libero sessions list${isAll ? ' --all' : ''} --limit ${limit * 4}`)
  return exitCodes.done
}

/** The most recent sessions of a folder, or of all, without empty ones; `others` counts those of other folders. */
async function newest(store: SessionStore, limit: number, cwd: string | undefined, io: Io) {
  const all = await allSessions(store)
  const summaries = await openSummaryCache(store, io)
  const shown: SessionSummary[] = []
  let others = 0
  let hasMore = false
  for (const info of newestFirst(all)) {
    const summary = await summaries.of(info).catch(() => damaged(info))
    if (summary.state === 'empty') continue
    if (cwd !== undefined && summary.cwd !== cwd) others++
    else if ((hasMore = shown.length === limit)) break
    else shown.push(await withLiveState(store, summary))
  }
  await summaries.save(all)
  return { shown, hasMore, others }
}

/** The session may have been damaged since its summary was cached. */
async function withLiveState(store: SessionStore, summary: SessionSummary): Promise<SessionSummary> {
  try {
    return { ...summary, state: await liveState(store, summary) }
  } catch {
    return damaged(summary)
  }
}

type Dated = Pick<SessionSummary, 'id' | 'createdAt' | 'updatedAt'>

const damaged = ({ id, createdAt, updatedAt }: Dated): SessionSummary => ({
  id,
  ...(createdAt !== undefined && { createdAt }),
  ...(updatedAt !== undefined && { updatedAt }),
  prompts: 0,
  title: '(cannot be read; libero sessions show says why)',
  state: 'failed',
})

function table(sessions: readonly SessionSummary[], { stdout, env }: Io, isAll: boolean): string[] {
  const paint = createPaint({ colours: hasColours(stdout, env) })
  const now = Date.now()
  const columns: Column[] = [
    { text: ({ id }) => visibleName(id), style: () => paint.bold },
    { text: ({ updatedAt }) => (updatedAt === undefined ? '' : timeAgo(updatedAt, now)), style: () => paint.dim },
    { text: ({ prompts }) => pluralize(prompts, 'prompt'), style: () => paint.dim },
    { text: ({ state }) => stateLabels[state], style: ({ state }) => paint[stateStyles[state] ?? 'dim'] },
    { text: ({ title }) => visibleName(title), style: () => String },
    ...(isAll ? [{ text: ({ cwd }: SessionSummary) => visibleName(cwd ?? ''), style: () => paint.dim }] : []),
  ]
  const widths = columns.map(({ text }) => Math.max(0, ...sessions.map((one) => textWidth(text(one)))))
  return sessions.map((one) => {
    const cells = columns.map(({ text, style }, i) => {
      const isLast = i === columns.length - 1
      return style(one)(isLast ? text(one) : padded(text(one), widths[i]!))
    })
    const line = cells.join('  ').trimEnd()
    return stdout.isTTY ? cutToWidth(line, stdout.columns ?? 80) : line
  })
}

interface Column {
  text(session: SessionSummary): string
  style(session: SessionSummary): (text: string) => string
}

const stateStyles: Partial<Record<SessionState, 'yellow' | 'red' | 'cyan'>> = {
  waiting: 'yellow',
  answered: 'yellow',
  parked: 'yellow',
  failed: 'red',
  interrupted: 'red',
  running: 'cyan',
}

const padded = (cell: string, width: number): string => cell + ' '.repeat(Math.max(0, width - textWidth(cell)))
