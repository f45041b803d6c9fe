import type { EntryOf } from '../../core/log.ts'
import type { Session } from '../../core/store.ts'
import type { MessageProjection } from '../../plugins/message-projection.ts'

/** Whether a run would do something: messages wait, answers came, or a process died over it. */
export function hasWork(
  { log, pending }: Session,
  messages: MessageProjection,
  isCancelled: (message: EntryOf<'input'>) => boolean,
): boolean {
  const { transcript } = log
  const inbox = transcript.inbox.filter((message) => !isCancelled(message))
  if (inbox.some(({ mode }) => mode === 'steer')) return true
  const { state } = messages.status
  if (state === 'canceled' && inbox.length === 0) return false // what was denied with it is not gone on with
  if (transcript.openCalls.length > 0)
    return pending.every(({ callId, decision }) => decision ?? transcript.answers.has(callId))
  if (inbox.length > 0) return true
  const last = transcript.runs.at(-1)
  if (transcript.turns.length === 0 || transcript.isAnswered) return false
  if (state === 'submitted') return true
  // What was said after that run is a handler's affair, who has done what he wanted about it.
  return (
    last?.stop === 'max_turns' &&
    last.turns === transcript.turns.length &&
    isSpokenTo(messages, transcript.turns.at(-1)?.id)
  )
}

/** The last word is a person's, and no result and no note of a plugin. */
function isSpokenTo(messages: MessageProjection, lastTurn = ''): boolean {
  const last = messages.get(lastTurn)
  return last?.role === 'user' && !last.hidden
}
