import { isRecord } from '../core/is-record.ts'
import type { EntryBody } from '../core/log.ts'
import type { AgentInstanceMessage, AgentState, MessageMetadata } from './message.ts'
import { yieldOwner } from './yield-note.ts'

/** How a handler left an agent, where the runs of the engine say something else or nothing. */
export interface HandlerNote {
  /** `interrupted` where its process ended in good order and the next one goes on. */
  readonly state: AgentState | 'interrupted'
  /** What it says itself. People see it; the model does not. */
  readonly message?: HandlerMessage
}

export interface HandlerMessage extends Pick<AgentInstanceMessage, 'id' | 'content'> {
  readonly role: 'assistant' | 'agent' | 'error'
  readonly errorDetail?: NonNullable<MessageMetadata['errorDetail']>
}

/** As it is written into the log. */
export function handlerEntry({ state, message }: HandlerNote): EntryBody {
  return { type: 'state', owner: yieldOwner, value: message ? { state, message } : state }
}

/** The state in what was noted under `yieldOwner`. */
export const yieldedTo = (value: unknown): unknown => (isRecord(value) ? value.state : value)

/** The message in it; a log may hold anything. */
export function handlerMessageOf(value: unknown): HandlerMessage | undefined {
  const message = isRecord(value) ? value.message : undefined
  if (!isRecord(message) || typeof message.id !== 'string' || typeof message.content !== 'string') return undefined
  const { id, content, role, errorDetail } = message as unknown as HandlerMessage
  if (role === 'error' && isRecord(errorDetail)) return { id, content, role, errorDetail }
  return { id, content, role: role === 'assistant' ? role : 'agent' }
}

export const agentStates: readonly AgentState[] = [
  'submitted',
  'working',
  'input-required',
  'completed',
  'canceled',
  'failed',
  'unknown',
]

/** Handlers and logs may say anything. */
export const isAgentState = (value: unknown): value is AgentState => agentStates.includes(value as AgentState)
