import type { CommandScreen } from '../chat/command.ts'
import { visibleName, visibleText } from '../platform/visible-text.ts'
import type { CallRow, Row } from '../view/rows.ts'
import type { SessionView } from '../view/session-view.ts'
import type { App } from './app.ts'
import { chooseFromList } from './dialogs/choices.ts'
import { keyGroups } from './keys.ts'
import { timeAgo } from './rows/format.ts'
import type { View } from './viewers/viewer.ts'

/** Opens the viewers of the interactive terminal. Their code is loaded with the first one. */
export interface Views {
  open(view: Parameters<CommandScreen['open']>[0] | 'call', at?: number): Promise<void>
  page(page: Parameters<CommandScreen['view']>[0]): Promise<void>
}

export function createViews(app: App): Views {
  const { view } = app
  return view ? screenViews({ ...app, view }) : plainViews(app)
}

/** An app that can leave its screen to viewers. */
export type ScreenApp = App & Required<Pick<App, 'view'>>

function screenViews(app: ScreenApp): Views {
  const { chat, paint } = app

  async function show<T>(view: View<T>): Promise<T | undefined> {
    const { runViewer } = await import('./viewers/viewer.ts')
    return app.view((viewer) => runViewer(view, viewer))
  }

  /** A sub-agent as it works. It stays as it was seen last when a new run forgets it. */
  async function agent(number: number): Promise<void> {
    const { transcriptView } = await import('./viewers/transcript.ts')
    const child = chat.state.view.children[number - 1]
    if (!child) throw new Error(`There is no sub-agent ${number}`)
    let seen = child
    const now = () => (seen = chat.state.view.children.find(({ id }) => id === child.id) ?? seen)
    const title = `Agent ${number}`
    await show(transcriptView({ paint, title, cwd: app.cwd, view: () => now().view, subscribe: chat.subscribe }))
  }

  async function transcript(at: string | undefined): Promise<void> {
    const { transcriptView } = await import('./viewers/transcript.ts')
    await show(
      transcriptView({
        paint,
        cwd: app.cwd,
        view: () => chat.state.view,
        whole: () => chat.readAll(),
        subscribe: chat.subscribe,
        ...(at !== undefined && { at }),
      }),
    )
  }

  /** A call that changed a file as its diff, others in the transcript. */
  async function call(row: CallRow | undefined): Promise<void> {
    const diff = row?.result?.diff
    if (!row || diff === undefined) return transcript(row?.id)
    const { pageView } = await import('./viewers/page.ts')
    const { callTitle } = await import('../chat/describe-call.ts')
    await show(pageView({ title: `${row.name} ${callTitle(row.input, app.cwd)}`, text: diff, syntax: 'diff' }, paint))
  }

  return {
    async open(view, at) {
      if (view === 'transcript') return transcript(at === undefined ? undefined : rowAt(chat.state.view, at))
      if (view === 'call') return call(lastCall(chat.state.view))
      if (view === 'agent') return agent(at ?? 1)
      if (view === 'keys') return void (await show((await import('./viewers/page.ts')).keysView(paint, app.keys)))
      const { openInspector, openSessions, openWaiting } = await import('./open-lists.ts')
      if (view === 'sessions') return openSessions(app)
      return view === 'inspector' ? openInspector(app, at) : openWaiting(app)
    },
    async page(page) {
      const { pageView } = await import('./viewers/page.ts')
      await show(pageView(page, paint))
    },
  }
}

function rowAt({ rows }: SessionView, seq: number): string | undefined {
  for (let at = rows.length - 1; at >= 0; at--) if (rows.at(at)!.seq <= seq) return rows.at(at)!.id
  return undefined
}

function lastCall({ rows }: SessionView): CallRow | undefined {
  for (let at = rows.length - 1; at >= 0; at--) {
    const row = rows.at(at)!
    if (row.kind === 'call') return row
  }
  return undefined
}

/** The views of plain mode, which has no screen to take: pages are printed, and sessions are chosen by number. */
function plainViews(app: App): Views {
  const { chat, paint, terminal, cwd } = app
  const lines = (all: readonly string[]): void => terminal.line(all.join('\n'))

  async function transcript({ rows }: SessionView, from = 0): Promise<void> {
    const { renderRow } = await import('./rows/render-row.ts')
    for (const row of rows.slice(from)) lines(renderRow(row, { paint, columns: terminal.columns, cwd }))
  }

  async function sessions(): Promise<void> {
    const page = await chat.sessions({ parent: null, limit: mostSessions })
    if (page.sessions.length === 0) return app.print('No sessions yet: send a message to begin one')
    const items = page.sessions.map(({ id, title = id, folder, updatedAt }) =>
      visibleName(`${title}, ${timeAgo(updatedAt, Date.now())}${folder === undefined ? '' : `, in ${folder}`}`),
    )
    const list = { items, isMultiple: false, title: 'The number of a session opens it' }
    const [chosen = -1] = (await app.dialog((context) => chooseFromList(list, context))) ?? []
    const { id } = page.sessions[chosen] ?? {}
    if (id !== undefined && id !== chat.state.sessionId) await chat.open({ resume: id })
  }

  return {
    async open(view, at = 1) {
      const { rows, children } = chat.state.view
      if (view === 'sessions') return sessions()
      if (view === 'transcript') return transcript(await chat.readAll())
      if (view === 'call') return transcript(chat.state.view, lastCallIn(rows.slice()))
      if (view === 'keys')
        return lines(keyGroups.flatMap(({ where, keys }) => [where, ...keys.map((key) => `${key.keys}: ${key.does}`)]))
      const child = view === 'agent' ? children[at - 1] : undefined
      if (child) return transcript(child.view)
      throw new Error(elsewhere[view])
    },
    async page({ title, text }) {
      lines([visibleName(title), ...visibleText(text).replaceAll('\r', '').split('\n')])
    },
  }
}

const lastCallIn = (rows: readonly Row[]): number => rows.findLastIndex(({ kind }) => kind === 'call')

const mostSessions = 20

/** Where there is what plain mode does not show. */
const elsewhere = {
  agent: 'There is no such sub-agent',
  inspector: 'Plain mode does not show the log; libero sessions export has it',
  waiting: 'Plain mode does not show what waits elsewhere; libero sessions list and libero sessions answer do',
}
