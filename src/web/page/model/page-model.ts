import { createRemoteClient, type RemoteClient, RemoteProblem } from '../libero.ts'
import { wordsOf } from '../parts/use-action.ts'
import type { Attached } from '../session/attached-files.ts'
import { backOff } from './back-off.ts'
import { Cell, type Model } from './model.ts'
import { onWake } from './on-wake.ts'
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
  /** Logs in with the token of the address, if it has one now or later, and follows the server from then on. */
  start(): Promise<void>
  /** Trades a token, or the one of a login link, for the cookie. Rejects if the token is wrong. */
  login(token: string): Promise<void>
  logout(): Promise<void>
}

export interface PageState {
  readonly access: 'asking' | 'granted' | 'refused'
  /** Why the login by the address failed. */
  readonly refusal?: string | undefined
  /** Why the server cannot be reached; it is tried again by itself. */
  readonly offline?: string | undefined
  /** What the host set up; undefined until the server has told. */
  readonly offers?: readonly string[]
}

/** What a screen shows is one of these; where the host set up none of them, no link leads to the screen. */
const shownOn: Readonly<Record<string, readonly string[]>> = {
  agents: ['agents'],
  schedules: ['agents'],
  rules: ['explain', 'testPolicy', 'rules', 'grants', 'audit'],
  tools: ['tools', 'mcp', 'skills'],
}

export const hasScreen = ({ offers }: PageState, screen: string): boolean =>
  !offers || (shownOn[screen]?.some((one) => offers.includes(one)) ?? true)

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

  /** Asks until the server answers. The page says meanwhile that it does not. */
  async function untilAnswered(ask: () => Promise<unknown>): Promise<void> {
    for (let tries = 0; ; tries++) {
      try {
        await ask()
        return cell.change({ offline: undefined })
      } catch (error) {
        if (!(error instanceof RemoteProblem) || isRefusal(error)) throw error
        cell.change({ offline: error.detail })
        await backOff(tries)
      }
    }
  }

  const once = createRemoteClient({ url, retryForMs: 0 })
  const trade = (token: string): Promise<void> => createRemoteClient({ url, token, retryForMs: 0 }).login()

  async function enter(): Promise<void> {
    await untilAnswered(() => once.sessions.list({ limit: 1 }))
    cell.change({ access: 'granted', refusal: undefined })
    sessions.start()
    readOffers().catch(() => {}) // all screens are shown then
  }

  async function enterByAddress(token = takeTokenFromAddress()): Promise<void> {
    try {
      if (token !== undefined) await untilAnswered(() => trade(token))
      await enter()
    } catch (error) {
      // Without a token nothing was tried yet: the server asks for one.
      const isFirst = token === undefined && error instanceof RemoteProblem && error.status === 401
      cell.change({ access: 'refused', offline: undefined, refusal: isFirst ? undefined : wordsOf(error) })
    }
  }

  async function readOffers(): Promise<readonly string[]> {
    about ??= client.about()
    about.catch(() => {
      about = undefined
    })
    const { offers } = await about
    cell.change({ offers })
    return offers
  }

  return {
    client,
    base,
    sessions,
    theme: createThemeChoice(),
    offers: async (what) => (await readOffers()).includes(what),
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
      onWake(sessions.wake)
      // A link that is pasted into the address of an open page changes only what is behind its `#`.
      addEventListener('hashchange', () => {
        const token = takeTokenFromAddress()
        if (token !== undefined) void enterByAddress(token)
      })
      await enterByAddress()
    },
    async login(given) {
      await trade(tokenIn(given) ?? given)
      await enter()
    },
    async logout() {
      await client.logout()
      sessions.stop()
      cell.change({ access: 'refused' })
    },
  }
}

/** Asking again would change nothing: also where the host has a login of its own, and gives no cookie for a token. */
const isRefusal = ({ status }: RemoteProblem): boolean => (status >= 400 && status < 500) || status === 501

/** The token is in the fragment, which is sent to no server; it is taken out of the address at once, and so out of the history. */
function takeTokenFromAddress(): string | undefined {
  const token = tokenIn(location.hash)
  if (token !== undefined) history.replaceState(null, '', location.pathname + location.search)
  return token
}
