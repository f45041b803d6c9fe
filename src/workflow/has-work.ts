import type { Session } from '../core/store.ts'
import type { MessageProjection } from '../plugins/message-projection.ts'

/** Whether a run would do something: messages wait, answers came, or a process died over it. */
export function hasWork({ log, pending }: Session, messages: MessageProjection): boolean {
  const { transcript } = log
  if (transcript.inbox.some(({ mode }) => mode === 'steer')) return true
  if (transcript.openCalls.length > 0)
    return pending.every(({ callId, decision }) => decision ?? transcript.answers.has(callId))
  if (transcript.inbox.length > 0) return true
  const last = transcript.runs.at(-1)
  if (last === undefined || transcript.turns.length === 0 || transcript.isAnswered) return false
  const { state } = messages.status
  if (state === 'submitted') return true
  return last.stop === 'max_turns' && isSpokenTo(messages, transcript.turns.at(-1)?.id)
}

/** The last word is a person's, and no result and no note of a plugin. */
function isSpokenTo(messages: MessageProjection, lastTurn = ''): boolean {
  const last = messages.get(lastTurn)
  return last?.role === 'user' && !last.hidden
}
