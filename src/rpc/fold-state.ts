import type { ZotUsage } from './frames.ts'
import { type NormalizedEvent, normalizeEvent } from './normalize-event.ts'

export type AgentStatus = 'idle' | 'working' | 'blocked' | 'done' | 'error'

/** What a program that watches an agent's lines knows about it. */
export interface WatchedState {
  readonly status: AgentStatus
  /** When the last frame came, known or not; absent before the first. */
  readonly heardAt?: number
  /** The last `usage` frame. */
  readonly usage?: ZotUsage & { readonly cumulative?: ZotUsage }
  /** Lines that were no frames. */
  readonly badLines: number
}

/** An agent that nobody has heard of yet. */
export const idleState: WatchedState = Object.freeze({ status: 'idle', badLines: 0 })

/** The state after one more line. Blank lines are none; what is no frame is counted; unknown frames change no status. */
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
  const usage = 'type' in frame && frame.type === 'usage' && { usage: frame as unknown as ZotUsage }
  return { ...state, ...usage, status, heardAt: now }
}

/** Whether an agent that should be at work has not been heard of for four hours, or as long as you say. */
export function isStalled({ status, heardAt }: WatchedState, now: number, afterMs = 4 * 60 * 60 * 1000): boolean {
  return (status === 'working' || status === 'blocked') && heardAt !== undefined && now - heardAt >= afterMs
}

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
      return stop === 'tool_use' ? 'working' : 'done' // else every tool would make it flicker
    case 'agent_end':
      return status === 'error' ? 'error' : 'done' // a `done` follows every error; it must not hide it
    default:
      return status
  }
}
