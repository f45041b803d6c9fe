import { visibleName, visibleText } from '../platform/visible-text.ts'
import type { Row } from '../view/rows.ts'
import type { SessionView } from '../view/session-view.ts'
import type { App } from './app.ts'
import { chooseFromList } from './dialogs/choices.ts'
import { keyGroups } from './keys.ts'
import { timeAgo } from './rows/format.ts'
import type { Views } from './views.ts'

/** The views of plain mode, which has no screen to take: pages are printed, and sessions are chosen by number. */
export function plainViews(app: App): Views {
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
