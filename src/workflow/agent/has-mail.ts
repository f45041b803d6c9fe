import type { Session, SessionStore } from '../../core/store.ts'
import { inboxOf } from '../../sessions/inbox-of.ts'

/**
 * Whether a message waits in the store that the log does not know. Needs no right to write, so that whoever has just
 * given that back can look once more: what came before is found by him, what comes after finds the session free.
 */
export async function hasMail(
  store: SessionStore,
  { id, log }: Session,
  isMeant: (clientKey: string) => boolean = () => true,
): Promise<boolean> {
  const inbox = await inboxOf(store, id, log.head)
  return inbox.some(
    ({ clientKey, mode }) => mode !== 'stop' && !log.transcript.hasClientKey(clientKey) && isMeant(clientKey),
  )
}
