import { createRemoteClient, type RemoteClient, RemoteProblem } from '../libero.ts'
import type { Attached } from '../session/attached-files.ts'
import { Cell, type Model } from './model.ts'
import { createSessionList, type SessionList } from './session-list.ts'
import { createThemeChoice, type ThemeChoice } from './theme-choice.ts'
import { tokenIn } from './token-in.ts'

/** What all screens of the page share. */
export interface PageModel extends Model<PageState> {
  readonly client: RemoteClient
  /** The path before all routes of the page, such as `/libero`; empty at the root. */
  readonly base: string
  readonly sessions: SessionList
  readonly theme: ThemeChoice
  /** The files that go with the next message of a session. The page keeps them while the person looks at other sessions. */
  attachedTo(session: string): Cell<readonly Attached[]>
  /** Whether the host set something up, as `/v1/about` says. What is not there is not asked for. */
  offers(what: string): Promise<boolean>
  /** Logs in with the token of the address, if it has one, and follows the server from then on. */
  start(): Promise<void>
  /** Trades a token for the cookie. Rejects if the token is wrong. */
  login(token: string): Promise<void>
  logout(): Promise<void>
}

export interface PageState {
  readonly access: 'asking' | 'granted' | 'refused'
  /** Why the server cannot be reached; it is tried again by itself. */
  readonly offline?: string | undefined
}

export function createPageModel(): PageModel {
  const base = document.querySelector<HTMLMetaElement>('meta[name=libero-base]')!.content.replace(/\/$/, '')
  const url = location.origin + base
  const client = createRemoteClient({ url })
  const cell = new Cell<PageState>({ access: 'asking' })
  const sessions = createSessionList(client, {
    onConnection: (problem) => {
      if (problem?.status === 401) cell.change({ access: 'refused' })
      else cell.change({ offline: problem?.detail })
    },
  })

  let about: ReturnType<RemoteClient['about']> | undefined
  const attached = new Map<string, Cell<readonly Attached[]>>()

  async function enter(): Promise<void> {
    try {
      await client.sessions.list({ limit: 1 })
      cell.change({ access: 'granted', offline: undefined })
      sessions.start()
    } catch (error) {
      if (!(error instanceof RemoteProblem)) throw error
      if (error.status === 401 || error.status === 429) cell.change({ access: 'refused' })
      else cell.change({ offline: error.detail })
    }
  }

  async function login(token: string): Promise<void> {
    await createRemoteClient({ url, token, retryForMs: 0 }).login()
    await enter()
  }

  return {
    client,
    base,
    sessions,
    theme: createThemeChoice(),
    async offers(what) {
      about ??= client.about()
      about.catch(() => {
        about = undefined
      })
      return (await about).offers.includes(what)
    },
    attachedTo(session) {
      const cell = attached.get(session) ?? new Cell<readonly Attached[]>([])
      attached.set(session, cell)
      return cell
    },
    get state() {
      return cell.state
    },
    subscribe: (listener) => cell.subscribe(listener),
    async start() {
      const token = takeTokenFromAddress()
      if (token !== undefined) await login(token).catch(() => cell.change({ access: 'refused' }))
      else await enter()
    },
    login,
    async logout() {
      await client.logout()
      sessions.stop()
      cell.change({ access: 'refused' })
    },
  }
}

/** The token is in the fragment, which is sent to no server; it is taken out of the address at once, and so out of the history. */
function takeTokenFromAddress(): string | undefined {
  const token = tokenIn(location.hash)
  if (token !== undefined) history.replaceState(null, '', location.pathname + location.search)
  return token
}
