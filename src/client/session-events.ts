import type { LogEntry } from '../core/log.ts'
import type { ChildSessionEvent, SessionEvent } from '../events/event-queue.ts'
import { replacesReply } from '../events/replaces-reply.ts'
import type { Connection } from './connection.ts'
import { type FollowOptions, follow } from './follow.ts'
import { RemoteProblem } from './remote-problem.ts'
import type { ServerSentEvent } from './sse-parser.ts'

/** What `events` of a client gives. All of it can be folded by `foldEvent`. */
export type RemoteEvent = SessionEvent | ChildSessionEvent

export interface RemoteEventsOptions extends FollowOptions {
  /** The number of the last entry that the reader has. Default 0: all come. */
  readonly after?: number
  /** Default true: what a run streams comes too. */
  readonly deltas?: boolean
  /** Only entries of these types. */
  readonly types?: readonly LogEntry['type'][]
  /** The events of sub-agents too. */
  readonly children?: boolean
  /** Messages that no run has accepted yet too, each until an entry has its `clientKey`. */
  readonly inbox?: boolean
}

/** The events of a session. However often the connection is lost, each entry comes once and in its order. */
export function sessionEvents(
  connection: Connection,
  path: string,
  { after = 0, deltas, types, children, inbox, ...options }: RemoteEventsOptions,
): AsyncGenerator<RemoteEvent, void, undefined> {
  const own = new Place(after, types !== undefined)
  const places = new Map<string, Place>()
  const read = ({ event, data }: ServerSentEvent): RemoteEvent | undefined => {
    if (event === 'entry' || event === 'delta' || event === 'gap') return own.next(parsed(data))
    if (event === 'inbox') return parsed(data)
    if (event === 'child') return readChild(parsed(data))
    if (event === 'failed')
      throw broken(`The server could not read on: ${String(parsed<{ error: unknown }>(data).error)}`)
    return undefined
  }
  const readChild = ({ session: id, depth, data }: ChildFrame): RemoteEvent | undefined => {
    const place = places.get(id) ?? new Place(0, types !== undefined)
    places.set(id, place)
    const event = place.next(data)
    return event && { durable: false, type: 'child', child: { id, depth }, event }
  }
  const query = () => ({ after: own.last, deltas, types: types?.join(), children, inbox })
  return follow(connection, { path, query, read, ...options })
}

/** The sub-agents are sent from their beginning with each connection. */
interface ChildFrame {
  readonly session: string
  readonly depth: number
  readonly data: SessionEvent
}

/** How far a session was read. */
class Place {
  last: number
  #replacedTo: number
  readonly #hasHoles: boolean

  constructor(last: number, hasHoles: boolean) {
    this.last = last
    this.#replacedTo = last
    this.#hasHoles = hasHoles
  }

  /** The event, unless it is known or void. */
  next(event: SessionEvent): SessionEvent | undefined {
    // Deltas before a reply that the reader has are part of that reply. The number of lost events is still reported.
    if (!event.durable) return event.type === 'gap' || event.after >= this.#replacedTo ? event : undefined
    if (event.seq <= this.last) return undefined
    if (!this.#hasHoles && event.seq > this.last + 1) throw broken(`Entry ${event.seq} came after entry ${this.last}`)
    this.last = event.seq
    if (replacesReply(event.entry)) this.#replacedTo = event.seq
    return event
  }
}

function parsed<T>(data: string): T {
  try {
    return JSON.parse(data) as T
  } catch {
    throw broken('An event is no JSON')
  }
}

/** Ends the connection; the next one goes on behind the last entry. */
const broken = (detail: string): RemoteProblem => new RemoteProblem({ status: 0, code: 'broken_stream', detail })
