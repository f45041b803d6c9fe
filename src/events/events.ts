import type { Agent } from '../core/agent.ts'
import type { Decision, ToolOrigin } from '../core/authority.ts'
import type { LogEntry } from '../core/log.ts'

/** The types in events, for wires and screens, which import nothing below this layer. */
export type { LogEntry, RunStatus } from '../core/log.ts'
export type { SessionContentBlock, SessionTurn, ToolOutput, TurnUsage } from '../core/turn.ts'

/** The version of the event format. It changes if a reader of the old format could misunderstand the new one. */
export const eventVersion = 1

/**
 * What a screen or a client receives. A durable event is a log entry with its number, the same live and on replay. A
 * provisional one is never replayed; it comes after log entry `after`, as number `n` of this listener.
 */
export type AgentEvent = DurableEvent | ProvisionalEvent | ChildEvent

export interface DurableEvent {
  readonly durable: true
  readonly seq: number
  readonly entry: LogEntry
}

export type ProvisionalEvent = { readonly durable: false; readonly after: number; readonly n: number } & Provisional

/** An event of a descendant, numbered by its own log. */
export interface ChildEvent {
  readonly durable: false
  readonly type: 'child'
  readonly child: { readonly id: string; readonly depth: number }
  readonly event: DurableEvent | ProvisionalEvent
}

export type Provisional =
  | { readonly type: 'turn_started'; readonly turnId: string; readonly step: number }
  | { readonly type: 'stream_started'; readonly turnId: string; readonly attempt: number }
  /** Everything streamed for this turn so far is void. */
  | {
      readonly type: 'stream_void'
      readonly turnId: string
      readonly attempt: number
      readonly reason: string
      /** The pause before the next attempt. */
      readonly delayMs?: number
    }
  | { readonly type: 'text'; readonly turnId: string; readonly attempt: number; readonly delta: string }
  | { readonly type: 'thinking'; readonly turnId: string; readonly attempt: number; readonly delta: string }
  | {
      readonly type: 'tool_start'
      readonly turnId: string
      readonly callId: string
      readonly name: string
      readonly displayName: string
      /** Where the tool comes from; absent if there is no such tool. */
      readonly origin?: ToolOrigin
    }
  /** The decision of the authority about a call, before it runs. */
  | ({ readonly type: 'call_decided'; readonly turnId: string } & CallDecision)
  | { readonly type: 'tool_args'; readonly turnId: string; readonly callId: string; readonly delta: string }
  | { readonly type: 'tool_end'; readonly turnId: string; readonly callId: string }
  | { readonly type: 'tool_progress'; readonly turnId: string; readonly callId: string; readonly text: string }
  | {
      readonly type: 'turn_failed'
      readonly turnId: string
      readonly stop: 'error' | 'aborted'
      readonly error: string
      /** The text streamed before the failure; absent if there was none. */
      readonly partial?: string
    }

interface CallDecision {
  readonly callId: string
  /** The canonical name of the tool. */
  readonly name: string
  readonly decision: Decision
  /** Where the tool comes from; absent if the authority could not analyse the call. */
  readonly origin?: ToolOrigin
  /** The person who allowed or denied it, if one was asked. */
  readonly approver?: string
  /** If a tool made this call: the call of that tool. */
  readonly parentCallId?: string
}

type Followed = Pick<Agent, 'log' | 'hooks'>

/** Calls `listener` with the events of an agent and its descendants. Returns a function that stops it. */
export function followEvents(agent: Followed, listener: (event: AgentEvent) => void): () => void {
  /** A failing listener must not make the run fail. */
  const emit = (event: AgentEvent): void => {
    try {
      listener(event)
    } catch (error) {
      if (agent.hooks.has('hook:error')) void agent.hooks.tell('hook:error', { hook: 'events', error })
      else console.error('libero: a listener for events failed:', error)
    }
  }
  return followTree(agent, emit, emit)
}

type Emit<Event> = (event: Event) => void

function followTree({ log, hooks }: Followed, show: Emit<ChildEvent['event']>, emit: Emit<ChildEvent>): () => void {
  const children = new Map<string, () => void>()
  const unfollow = ({ childId }: { childId: string }): void => {
    children.get(childId)?.()
    children.delete(childId)
  }
  const stops = [
    ...followOne({ log, hooks }, show),
    hooks.hook('spawn:before', ({ childId: id, depth, ...child }) => {
      const wrap: Emit<ChildEvent['event']> = (event) =>
        emit({ durable: false, type: 'child', child: { id, depth }, event })
      children.set(id, followTree(child, wrap, emit))
    }),
    hooks.hook('spawn:complete', unfollow),
    hooks.hook('spawn:error', unfollow),
  ]
  return () => {
    for (const stop of [...stops, ...children.values()]) stop()
  }
}

/** Durable events come from the log, provisional ones from hooks. */
export function followOne(
  { log, hooks }: Followed,
  emit: (event: DurableEvent | ProvisionalEvent) => void,
): (() => void)[] {
  let n = 0
  const show = (event: Provisional): void => emit({ durable: false, after: log.head, n: ++n, ...event })
  return [
    log.subscribe((entry) => emit(durable(entry))),
    hooks.hook('turn:before', ({ turnId, turn }) => show({ type: 'turn_started', turnId, step: turn })),
    hooks.hook('stream:start', ({ turnId, attempt }) => show({ type: 'stream_started', turnId, attempt })),
    hooks.hook('stream:retry', ({ turnId, attempt, reason, delayMs }) => {
      const more = delayMs !== undefined && { delayMs: Math.round(delayMs) }
      show({ type: 'stream_void', turnId, attempt, reason, ...more })
    }),
    hooks.hook('stream:text', ({ turnId, attempt, delta }) => show({ type: 'text', turnId, attempt, delta })),
    hooks.hook('stream:thinking', ({ turnId, attempt, delta }) => show({ type: 'thinking', turnId, attempt, delta })),
    hooks.hook('stream:tool:start', ({ turnId, callId, name, displayName, origin }) =>
      show({ type: 'tool_start', turnId, callId, name, displayName, ...(origin && { origin }) }),
    ),
    hooks.hook('stream:tool:args', ({ turnId, callId, delta }) => show({ type: 'tool_args', turnId, callId, delta })),
    hooks.hook('stream:tool:end', ({ turnId, callId }) => show({ type: 'tool_end', turnId, callId })),
    hooks.hook('tool:decision', ({ turnId, callId, name, decision, origin, approver, parentCallId }) => {
      const more = {
        ...(origin && { origin }),
        ...(approver !== undefined && { approver }),
        ...(parentCallId !== undefined && { parentCallId }),
      }
      show({ type: 'call_decided', turnId, callId, name, decision, ...more })
    }),
    hooks.hook('tool:progress', ({ turnId, callId, text }) => show({ type: 'tool_progress', turnId, callId, text })),
    hooks.hook('turn:after', ({ turnId, stop, error, partial }) => {
      if (!error || (stop !== 'error' && stop !== 'aborted')) return
      show({ type: 'turn_failed', turnId, stop, error: error.message, ...(partial !== undefined && { partial }) })
    }),
  ]
}

/** The event of a log entry. */
export function durable(entry: LogEntry): DurableEvent {
  return { durable: true, seq: entry.seq, entry }
}
