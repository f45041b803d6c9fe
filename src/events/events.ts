import type { Agent } from '../core/agent.ts'
import type { Decision, ToolOrigin } from '../core/authority.ts'
import type { LogEntry } from '../core/log.ts'

/** What events are made of, for wires and screens: they know nothing below this layer. */
export type { LogEntry, RunStatus } from '../core/log.ts'
export type { SessionContentBlock, SessionTurn, ToolOutput, TurnUsage } from '../core/turn.ts'

/** The version of this stream's shape; it changes when a reader of the old shape could misunderstand the new one. */
export const eventVersion = 1

/**
 * What a screen or a wire hears. A durable event is a log entry and carries its number: replay equals live. A
 * provisional one is shown and never replayed; it comes after log entry `after`, as number `n` of this listener.
 */
export type AgentEvent = DurableEvent | ProvisionalEvent | ChildEvent

export interface DurableEvent {
  readonly durable: true
  readonly seq: number
  readonly entry: LogEntry
}

export type ProvisionalEvent = { readonly durable: false; readonly after: number; readonly n: number } & Provisional

/** What happens in a child, or in a child's child: its own events, numbered by its own log. */
export interface ChildEvent {
  readonly durable: false
  readonly type: 'child'
  readonly child: { readonly id: string; readonly depth: number }
  readonly event: DurableEvent | ProvisionalEvent
}

export type Provisional =
  | { readonly type: 'turn_started'; readonly turnId: string; readonly step: number }
  | { readonly type: 'stream_started'; readonly turnId: string; readonly attempt: number }
  /** What was streamed for this turn so far is void. */
  | {
      readonly type: 'stream_void'
      readonly turnId: string
      readonly attempt: number
      readonly reason: string
      /** How long the service is left alone before it is asked again. */
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
      /** Where the tool comes from; absent where there is none of that name. */
      readonly origin?: ToolOrigin
    }
  /** What the authority decided about a call, before anything of it runs. */
  | ({ readonly type: 'call_decided'; readonly turnId: string } & CallDecision)
  | { readonly type: 'tool_args'; readonly turnId: string; readonly callId: string; readonly delta: string }
  | { readonly type: 'tool_end'; readonly turnId: string; readonly callId: string }
  | { readonly type: 'tool_progress'; readonly turnId: string; readonly callId: string; readonly text: string }
  | {
      readonly type: 'turn_failed'
      readonly turnId: string
      readonly stop: 'error' | 'aborted'
      readonly error: string
      /** What had been streamed; absent when nothing had come. */
      readonly partial?: string
    }

interface CallDecision {
  readonly callId: string
  /** The tool's own name. */
  readonly name: string
  readonly decision: Decision
  /** Where the tool comes from; absent where the authority could not tell what the call is. */
  readonly origin?: ToolOrigin
  /** Who allowed or denied it, where a person did. */
  readonly approver?: string
  /** The call of a tool that made this one. */
  readonly parentCallId?: string
}

type Followed = Pick<Agent, 'log' | 'hooks'>

/** Follows an agent and the children it spawns, from now on. Returns how to stop. */
export function followEvents(agent: Followed, listener: (event: AgentEvent) => void): () => void {
  /** A screen that fails must not take the run down with it. */
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
  const letGo = ({ childId }: { childId: string }): void => {
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
    hooks.hook('spawn:complete', letGo),
    hooks.hook('spawn:error', letGo),
  ]
  return () => {
    for (const stop of [...stops, ...children.values()]) stop()
  }
}

/** Durable events come from the log; only what the log never sees comes from hooks. */
function followOne({ log, hooks }: Followed, emit: (event: DurableEvent | ProvisionalEvent) => void): (() => void)[] {
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

/** A log entry as the event it is; what a reader gets who was not there. */
export function durable(entry: LogEntry): DurableEvent {
  return { durable: true, seq: entry.seq, entry }
}
