import type { ZotUsage } from './frames.ts'

export type AgentStatus = 'idle' | 'working' | 'blocked' | 'done' | 'error'

/** The state of an agent, computed from its output lines. */
export interface WatchedState {
  readonly status: AgentStatus
  /** When the last frame came, known or not; absent before the first. */
  readonly heardAt?: number
  /** The last `usage` frame. */
  readonly usage?: ZotUsage & { readonly cumulative?: ZotUsage }
  /** Lines that were no frames. */
  readonly badLines: number
}

/** The state before the first line. */
export const idleState: WatchedState = Object.freeze({ status: 'idle', badLines: 0 })

/** The state after one more line. Blank lines are ignored, invalid ones counted; unknown frames change no status. */
export function foldLine(state: WatchedState, line: string, now: number): WatchedState {
  if (line.trim() === '') return state
  let frame: unknown
  try {
    frame = JSON.parse(line)
  } catch {
    frame = undefined
  }
  const isFrame = typeof frame === 'object' && frame !== null && 'type' in frame && typeof frame.type === 'string'
  return isFrame ? foldFrame(state, frame as object, now) : { ...state, badLines: state.badLines + 1 }
}

/** The state after one more frame. */
export function foldFrame(state: WatchedState, frame: object, now: number): WatchedState {
  const event = normalizeEvent(frame)
  const status = event ? statusAfter(state.status, event) : state.status
  const usage = isUsage(frame) && { usage: frame }
  return { ...state, ...usage, status, heardAt: now }
}

const isUsage = (frame: object): frame is ZotUsage => 'type' in frame && frame.type === 'usage'

/** Whether a working agent has been silent for four hours, or for `afterMs`. */
export function isStalled({ status, heardAt }: WatchedState, now: number, afterMs = 4 * 60 * 60 * 1000): boolean {
  return (status === 'working' || status === 'blocked') && heardAt !== undefined && now - heardAt >= afterMs
}

type NormalizedEvent = NonNullable<ReturnType<typeof normalizeEvent>>

function statusAfter(status: AgentStatus, { type, stop }: NormalizedEvent): AgentStatus {
  switch (type) {
    case 'turn_start':
    case 'message_update':
    case 'tool_execution_start':
      return 'working'
    case 'queue_update':
      return 'blocked'
    case 'error':
      return 'error'
    case 'turn_end':
      return stop === 'tool_use' ? 'working' : 'done' // a turn with tool calls is followed by another one
    case 'agent_end':
      return status === 'error' ? 'error' : 'done' // a `done` follows every error and must not hide it
    default:
      return status
  }
}

/**
 * A frame as a Glasspane event; undefined for frames that have none, or are unknown. `tool_call` has none because
 * `tool_use_start` has begun the call already.
 */
export function normalizeEvent(frame: unknown):
  | {
      readonly type:
        | 'turn_start'
        | 'turn_end'
        | 'message_start'
        | 'message_update'
        | 'message_end'
        | 'tool_execution_start'
        | 'tool_execution_update'
        | 'tool_execution_end'
        | 'queue_update'
        | 'error'
        | 'agent_end'
      /** The id of the call, for `tool_execution_*`. */
      readonly id?: string
      readonly isError?: boolean
      /** Why a turn ended; after `tool_use` the agent goes on. */
      readonly stop?: string
      readonly message?: string
    }
  | undefined {
  if (typeof frame !== 'object' || frame === null) return undefined
  const { type, id, is_error, stop, success, error, message } = frame as Record<string, unknown>
  if (type === 'response') return success === false ? { type: 'error', ...text('message', error) } : undefined
  const known = typeof type === 'string' ? types.get(type) : undefined
  if (!known) return undefined
  switch (known) {
    case 'tool_execution_end':
      return { type: known, ...text('id', id), isError: is_error === true }
    case 'tool_execution_start':
    case 'tool_execution_update':
      return { type: known, ...text('id', id) }
    case 'turn_end':
      return { type: known, ...text('stop', stop), ...text('message', error) }
    case 'error':
      return { type: known, ...text('message', message) }
    default:
      return { type: known }
  }
}

const types = new Map<string, NormalizedEvent['type']>([
  ['user_message', 'message_update'],
  ['turn_start', 'turn_start'],
  ['assistant_start', 'message_start'],
  ['text_delta', 'message_update'],
  ['tool_use_start', 'tool_execution_start'],
  ['tool_use_args', 'tool_execution_update'],
  ['tool_use_end', 'tool_execution_update'],
  ['tool_progress', 'tool_execution_update'],
  ['assistant_message', 'message_end'],
  ['turn_end', 'turn_end'],
  ['tool_result', 'tool_execution_end'],
  ['queue_update', 'queue_update'],
  ['error', 'error'],
  ['done', 'agent_end'],
])

function text<Key extends string>(key: Key, value: unknown): { readonly [K in Key]?: string } {
  return typeof value === 'string' ? ({ [key]: value } as { readonly [K in Key]?: string }) : {}
}
