import type { EntryOf } from '../../core/log.ts'
import type { Session, SessionStore } from '../../core/store.ts'
import type { MessageProjection } from '../../plugins/message-projection.ts'
import { inboxOf } from '../../sessions/pending.ts'

/** Whether a run would do something: messages wait, calls were answered, or a process died during a run. */
export function hasWork(
  { log, pending }: Session,
  messages: MessageProjection,
  isCancelled: (message: EntryOf<'input'>) => boolean,
): boolean {
  const { transcript } = log
  const inbox = transcript.inbox.filter((message) => !isCancelled(message))
  if (inbox.some(({ mode }) => mode === 'steer')) return true
  const { state } = messages.status
  if (state === 'canceled' && inbox.length === 0) return false // calls that were denied with it are not continued
  if (transcript.openCalls.length > 0)
    return pending.every(({ callId, decision }) => decision ?? transcript.answers.has(callId))
  if (inbox.length > 0) return true
  const last = transcript.runs.at(-1)
  if (transcript.turns.length === 0 || transcript.isAnswered) return false
  if (state === 'submitted') return true
  // A message after that run was for the handler, which has ended.
  if (last?.stop !== 'max_turns' || last.turnCountAtEnd !== transcript.turnCount) return false
  const lastMessage = messages.get(transcript.turns.at(-1)?.id ?? '')
  return lastMessage?.role === 'user' && !lastMessage.hidden // a person's, and neither a result nor a plugin's note
}

/**
 * Whether a message waits in the store that the log does not have. Needs no lease, so that a process can check once more
 * after it has released the lease: it finds earlier messages here, and later ones find the session free.
 */
export async function hasStoredMessage(
  store: SessionStore,
  { id, log }: Session,
  isMeant: (clientKey: string) => boolean = () => true,
): Promise<boolean> {
  const inbox = await inboxOf(store, id, log.head)
  return inbox.some(
    ({ clientKey, mode }) => mode !== 'stop' && !log.transcript.hasClientKey(clientKey) && isMeant(clientKey),
  )
}
