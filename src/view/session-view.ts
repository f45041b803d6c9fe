import type { LogEntry } from '../core/log.ts'
import type { StatusFacts } from '../core/session-status.ts'
import type { SessionDetails, SessionStatus } from '../core/session-summary.ts'
import type { TurnUsage } from '../core/turn.ts'
import type { ChildSessionEvent, SessionEvent } from '../events/event-queue.ts'
import type { AgentEvent, ChildEvent, DurableEvent, ProvisionalEvent } from '../events/events.ts'
import { foldEntry } from './fold-entry.ts'
import { foldSnapshot, foldStream } from './fold-stream.ts'
import { PersistentList } from './persistent-list.ts'
import type { Row } from './rows.ts'
import type { TakenBack } from './taken-back.ts'

/**
 * What a screen shows of a session. It is made from events alone: the same events give the same view, live and on replay.
 * Immutable: `foldEvent` returns a new view that shares all unchanged rows with the one before.
 */
export interface SessionView {
  /** The number of the last log entry in it. */
  readonly head: number
  readonly rows: PersistentList<Row>
  /**
   * That of the session's summary, as far as its runs tell it. A run under way is never `interrupted`: the log does not tell
   * whether its process lives.
   */
  readonly status: SessionStatus
  /** The run under way. */
  readonly run?: RunView
  /** The model call failed, and is tried again; only live. */
  readonly retry?: { readonly attempt: number; readonly reason: string; readonly delayMs?: number }
  /** Messages that wait for the model, oldest first. */
  readonly queue: readonly QueuedMessage[]
  readonly todos: readonly TodoView[]
  /** Background jobs of the shell tool that ran when the log last told of them. */
  readonly jobs: readonly JobView[]
  readonly usage: UsageView
  readonly details: SessionDetails
  /** Only live. The log of a sub-agent is a session of its own: fold that one to replay it. */
  readonly children: readonly ChildView[]
  /** For `foldEvent`. */
  readonly fold: FoldState
}

export interface RunView {
  readonly id: string
  readonly model: string
  readonly startedAt: number
  readonly agent?: string
}

export interface QueuedMessage {
  readonly id: string
  readonly seq: number
  readonly at: number
  readonly mode: Extract<LogEntry, { type: 'input' }>['mode']
  readonly clientKey: string
  readonly content: Extract<LogEntry, { type: 'input' }>['content']
  readonly meta?: Extract<LogEntry, { type: 'input' }>['meta']
}

export interface TodoView {
  readonly content: string
  readonly status: 'pending' | 'in_progress' | 'completed'
}

export interface JobView {
  readonly job: number
  readonly command: string
  /** The call that told of it last. */
  readonly callId: string
}

/** Tokens and dollars of all model calls, those that a rewind took back included. */
export interface UsageView {
  readonly calls: number
  readonly input: number
  readonly output: number
  readonly cacheRead: number
  readonly cacheCreation: number
  /** Absent if no price is known. */
  readonly cost?: number
  /** Of the last reply: what it read is the size of the conversation. */
  readonly last?: TurnUsage
}

export interface ChildView {
  readonly id: string
  readonly depth: number
  /** The call of its parent that it works for. */
  readonly callId?: string
  /** Its run has ended. */
  readonly isOver?: true
  readonly view: SessionView
}

/** What the next entries depend on, beside what is shown. */
interface FoldState {
  /** The rows before this index are committed; those from it on only stream. */
  readonly committed: number
  /** The indexes of calls without a result, by id. */
  readonly open: ReadonlyMap<string, number>
  /** The entry that began a run which has no turn yet. */
  readonly beganAt?: number
  /** A run has begun, and neither its prompt nor an answer has come. */
  readonly isBeginning: boolean
  /** The process of the last run, which its jobs end with. */
  readonly processId?: string
  readonly status: StatusFacts
  /** For an undo of the last rewinds. */
  readonly takenBack?: TakenBack
}

/** The view of a session without entries. */
export const emptyView: SessionView = Object.freeze({
  head: 0,
  rows: PersistentList.of<Row>(),
  status: 'idle' as const,
  queue: [],
  todos: [],
  jobs: [],
  usage: { calls: 0, input: 0, output: 0, cacheRead: 0, cacheCreation: 0 },
  details: {},
  children: [],
  fold: { committed: 0, open: new Map(), isBeginning: false, status: { status: 'idle' as const } },
})

/** The view after an event. An entry that the view has already changes nothing; one that comes too early is an error. */
export function foldEvent(view: SessionView, event: AgentEvent | SessionEvent | ChildSessionEvent): SessionView {
  if (event.durable) return foldOwn(view, event)
  if (event.type === 'child') return foldChild(view, event)
  if (event.type === 'snapshot') return foldSnapshot(view, event)
  return event.type === 'gap' || event.type === 'inbox' ? view : foldOwn(view, event)
}

/** As `foldEvent`, for a listener that joined late or missed entries: the view goes on without them. */
export function foldOnwards(view: SessionView, event: Parameters<typeof foldEvent>[1]): SessionView {
  const isBehind = event.durable && event.seq > view.head + 1
  return foldEvent(isBehind ? { ...view, head: event.seq - 1 } : view, event)
}

/** The view after several events. */
export function foldEvents(view: SessionView, events: Iterable<Parameters<typeof foldEvent>[1]>): SessionView {
  let now = view
  for (const event of events) now = foldEvent(now, event)
  return now
}

/** The view after log entries, as of a replay. */
export function foldEntries(view: SessionView, entries: Iterable<LogEntry>): SessionView {
  let now = view
  for (const entry of entries) now = foldOwn(now, { durable: true, seq: entry.seq, entry })
  return now
}

function foldOwn(view: SessionView, event: DurableEvent | ProvisionalEvent): SessionView {
  if (!event.durable) return foldStream(view, event)
  if (event.seq <= view.head) return view
  if (event.seq > view.head + 1)
    throw new Error(
      `The view ends with entry ${view.head}, and entry ${event.seq} does not follow it; read the entries in between first`,
    )
  return { ...foldEntry(view, event.entry), head: event.seq }
}

function foldChild(view: SessionView, { child, event }: ChildEvent | ChildSessionEvent): SessionView {
  const at = view.children.findIndex(({ id }) => id === child.id)
  const { isOver: _, ...known } = view.children[at] ?? { ...child, view: emptyView }
  const entry = event.durable ? event.entry : undefined
  const callId = entry?.type === 'run_started' ? entry.parent?.callId : undefined
  const changed: ChildView = {
    ...known,
    view: foldOnwards(known.view, event),
    ...(callId !== undefined && { callId }),
    ...(entry?.type === 'run_ended' && { isOver: true }),
  }
  return { ...view, children: at < 0 ? [...view.children, changed] : view.children.with(at, changed) }
}
