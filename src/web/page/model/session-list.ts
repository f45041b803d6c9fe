import type { RemoteClient, RemotePendingCall, RemoteProblem, RemoteSession } from '../libero.ts'
import { Cell, type Model } from './model.ts'

/** The sessions of the server and the calls that wait for a person, kept up to date. */
export interface SessionList extends Model<SessionListState> {
  start(): void
  stop(): void
  /** Reads the next page of older sessions. */
  loadMore(): Promise<void>
  /** Reads again which calls wait. */
  refreshPending(): Promise<void>
}

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
  let following: AbortController | undefined
  let cursor: string | undefined

  async function readAll(): Promise<void> {
    const [page, pending] = await Promise.all([client.sessions.list({ limit: pageSize }), client.pending()])
    cursor = page.next
    cell.set({ sessions: page.sessions, hasMore: page.next !== undefined, pending })
  }

  async function refreshPending(): Promise<void> {
    cell.change({ pending: await client.pending() })
  }

  function merge(changed: RemoteSession): void {
    const known = cell.state.sessions ?? []
    if (changed.parent !== undefined) return
    const others = known.filter(({ id }) => id !== changed.id)
    const wasWaiting = known.find(({ id }) => id === changed.id)?.status === 'waiting'
    cell.change({ sessions: [changed, ...others].sort((a, b) => b.updatedAt - a.updatedAt) })
    if (wasWaiting || changed.status === 'waiting') refreshPending().catch(() => {})
  }

  async function follow(signal: AbortSignal): Promise<void> {
    for await (const change of client.allEvents({ signal, onConnection })) {
      if (change.type === 'session') merge(change.session)
      else await readAll() // what changed before this connection may have been missed
    }
  }

  return {
    get state() {
      return cell.state
    },
    subscribe: (listener) => cell.subscribe(listener),
    start() {
      if (following) return
      following = new AbortController()
      follow(following.signal).catch((problem: RemoteProblem) => onConnection(problem))
    },
    stop() {
      following?.abort()
      following = undefined
    },
    async loadMore() {
      if (cursor === undefined) return
      const page = await client.sessions.list({ limit: pageSize, cursor })
      cursor = page.next
      const known = new Set(cell.state.sessions?.map(({ id }) => id))
      const older = page.sessions.filter(({ id }) => !known.has(id))
      cell.change({ sessions: [...(cell.state.sessions ?? []), ...older], hasMore: page.next !== undefined })
    },
    refreshPending,
  }
}

const pageSize = 50
