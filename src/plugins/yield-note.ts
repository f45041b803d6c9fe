import { isRecord } from '../core/is-record.ts'
import type { EntryBody } from '../core/log.ts'
import type { AgentInstanceMessage, AgentState, MessageMetadata } from './message.ts'

const owner = 'workflow:yield'

/**
 * Who is next, or the state of an agent, if it differs from that of the engine's runs: `human` after a plugin yielded,
 * `canceled` after a person cancelled a question, `interrupted` after the process was shut down and the next one
 * continues, any state that a handler yielded.
 */
type YieldedTo = 'human' | 'interrupted' | AgentState

/** A message of a handler. People see it; the model does not. */
export interface HandlerMessage extends Pick<AgentInstanceMessage, 'id' | 'content'> {
  readonly role: 'assistant' | 'agent' | 'error'
  readonly errorDetail?: ErrorDetail
}

type ErrorDetail = NonNullable<MessageMetadata['errorDetail']>

export function yieldEntry(to: YieldedTo, message?: HandlerMessage): EntryBody {
  return { type: 'state', owner, value: message ? { state: to, message } : to }
}

export function yieldOf(
  noteOwner: string,
  value: unknown,
): { readonly to: unknown; readonly message?: HandlerMessage | undefined } | undefined {
  if (noteOwner !== owner) return undefined
  return isRecord(value) ? { to: value.state, message: messageIn(value) } : { to: value }
}

function messageIn({ message }: Record<string, unknown>): HandlerMessage | undefined {
  if (!isRecord(message)) return undefined
  const { id, content, role, errorDetail } = message
  if (typeof id !== 'string' || typeof content !== 'string') return undefined
  if (role === 'error' && isDetail(errorDetail)) return { id, content, role, errorDetail }
  return { id, content, role: role === 'assistant' ? role : 'agent' }
}

const isDetail = (value: unknown): value is ErrorDetail => isRecord(value)

const partialOwner = 'workflow:partial'

/**
 * The streamed part of an answer that was cut off, in logs of earlier versions: people see it, the model does not. Newer
 * versions log a turn that is marked as interrupted.
 */
interface PartialNote {
  readonly id: string
  readonly text: string
}

export function partialOf(noteOwner: string, value: unknown): PartialNote | undefined {
  if (noteOwner !== partialOwner || !isRecord(value) || typeof value.id !== 'string') return undefined
  return { id: value.id, text: String(value.text ?? '') }
}
