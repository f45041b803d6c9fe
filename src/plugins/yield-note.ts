import { isRecord } from '../core/is-record.ts'
import type { EntryBody } from '../core/log.ts'
import type { AgentInstanceMessage, AgentState, MessageMetadata } from './message.ts'

const owner = 'workflow:yield'

/**
 * Who is next, or how an agent stands, where the runs of the engine say something else or nothing: `human` where a plugin
 * handed over, `canceled` where somebody did not want to answer, `interrupted` where the process ended in good order and
 * the next one goes on, any state where a handler came to it by itself.
 */
type YieldedTo = 'human' | 'interrupted' | AgentState

/** What a handler says itself. People see it; the model does not. */
export interface HandlerMessage extends Pick<AgentInstanceMessage, 'id' | 'content'> {
  readonly role: 'assistant' | 'agent' | 'error'
  readonly errorDetail?: ErrorDetail
}

type ErrorDetail = NonNullable<MessageMetadata['errorDetail']>

/** As it is written into the log. */
export function yieldEntry(to: YieldedTo, message?: HandlerMessage): EntryBody {
  return { type: 'state', owner, value: message ? { state: to, message } : to }
}

/** As it is found there, where anything may be. */
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

/** It is ours by its owner. */
const isDetail = (value: unknown): value is ErrorDetail => isRecord(value)

const partialOwner = 'workflow:partial'

/**
 * What had been streamed of an answer when it was cut off, in logs of earlier versions: people see it, the model does not.
 * Now it is a turn that is marked as interrupted.
 */
interface PartialNote {
  readonly id: string
  readonly text: string
}

export function partialOf(noteOwner: string, value: unknown): PartialNote | undefined {
  if (noteOwner !== partialOwner || !isRecord(value) || typeof value.id !== 'string') return undefined
  return { id: value.id, text: String(value.text ?? '') }
}
