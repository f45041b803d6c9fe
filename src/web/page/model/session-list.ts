import type { RemoteChange, RemoteClient, RemotePendingCall, RemoteProblem, RemoteSession } from '../libero.ts'
import { backOff } from './back-off.ts'
import { Cell, type Model } from './model.ts'

/** The sessions of the server and the calls that wait for a person, kept up to date. */
export interface SessionList extends Model<SessionListState> {
  start(): void
  stop(): void
  /** Connects anew at once, as after sleep, and reads what changed meanwhile. */
  wake(): void
  /** Reads the next page of older sessions. */
  loadMore(): Promise<void>
  /** Reads again which calls wait. */
  refreshPending(): Promise<void>
  /** The last change of a draft, in any session and by any client. An empty one after a new connection: any may have changed. */
  readonly drafts: Model<Partial<DraftChange> | undefined>
  /** Takes a session out that was deleted, and what waited in it. */
  forget(id: string): void
}

export type DraftChange = Extract<RemoteChange, { type: 'draft' }>

export interface SessionListState {
  /** Sessions that are no sub-agents, the last changed first. Undefined until they were read. */
  readonly sessions: readonly RemoteSession[] | undefined
  readonly hasMore: boolean
  readonly pending: readonly RemotePendingCall[]
}

interface SessionListOptions {
  readonly onConnection: (problem: RemoteProblem | undefined) => void
}

export function createSessionList(client: RemoteClient, { onConnection }: SessionListOptions): SessionList {
  const cell = new Cell<SessionListState>({ sessions: undefined, hasMore: false, pending: [] })
  const drafts = new Cell<Partial<DraftChange> | undefined>(undefined)
  let following: AbortController | undefined
  let cursor: string | undefined

  async function readAll(): Promise<void> {
    const [page, active] = await Promise.all([
      client.sessions.list({ limit: pageSize }),
      // However old they are: what waits, works or failed is never behind "Older sessions".
      client.sessions.list({ limit: 200, state: ['working', 'waiting', 'failed', 'interrupted', 'parked'] }),
      refreshPending(),
    ])
    cursor = page.next
    const latest = new Set(page.sessions.map(({ id }) => id))
    const older = active.sessions.filter(({ id }) => !latest.has(id))
    cell.change({ sessions: [...page.sessions, ...older], hasMore: page.next !== undefined })
  }

  let lastAsked = 0

  /** Answers may come in another order than they were asked for: only that of the last question counts. */
  async function refreshPending(): Promise<void> {
    const asked = ++lastAsked
    const pending = await client.pending().catch(() => backOff(0).then(() => client.pending()))
    if (asked === lastAsked) cell.change({ pending })
  }

  function merge(changed: RemoteSession): void {
    const { sessions: known = [], pending } = cell.state
    const { id, status } = changed
    const before = known.find((one) => one.id === id)?.status
    // Sub-agents are in no list, and what waits in them is listed with their root.
    if (changed.parent === undefined) {
      const others = known.filter((one) => one.id !== id)
      cell.change({ sessions: [changed, ...others].sort((a, b) => b.updatedAt - a.updatedAt) })
    }
    const isAboutWaiting =
      [before, status].includes('waiting') ||
      pending.some(({ session, root }) => session === id || (root === id && status !== before))
    if (isAboutWaiting) refreshPending().catch(() => {})
  }

  async function follow(signal: AbortSignal): Promise<void> {
    for (let tries = 0; !signal.aborted; tries++) {
      try {
        for await (const change of client.allEvents({ signal, onConnection })) {
          if (change.type === 'session') merge(change.session)
          else if (change.type === 'draft') drafts.set(change)
          else {
            if (cell.state.sessions) drafts.set({})
            await readAll() // what changed before this connection may have been missed
          }
          tries = 0
        }
      } catch (error) {
        if (signal.aborted) return
        onConnection(error as RemoteProblem)
        if ((error as RemoteProblem).status === 401) return stop() // the next login starts it
        await backOff(tries)
      }
    }
  }

  function start(): void {
    if (following) return
    following = new AbortController()
    void follow(following.signal)
  }

  function stop(): void {
    following?.abort()
    following = undefined
  }

  return {
    get state() {
      return cell.state
    },
    subscribe: (listener) => cell.subscribe(listener),
    start,
    stop,
    wake() {
      if (!following) return
      stop()
      start()
    },
    async loadMore() {
      if (cursor === undefined) return
      const page = await client.sessions.list({ limit: olderSize, cursor })
      cursor = page.next
      const known = new Set(cell.state.sessions?.map(({ id }) => id))
      const older = page.sessions.filter(({ id }) => !known.has(id))
      const all = [...(cell.state.sessions ?? []), ...older].sort((a, b) => b.updatedAt - a.updatedAt)
      cell.change({ sessions: all, hasMore: page.next !== undefined })
    },
    refreshPending,
    drafts,
    forget(id) {
      const { sessions, pending } = cell.state
      cell.change({
        sessions: sessions?.filter((one) => one.id !== id),
        pending: pending.filter(({ session, root }) => session !== id && root !== id),
      })
    },
  }
}

const pageSize = 50
const olderSize = 500
