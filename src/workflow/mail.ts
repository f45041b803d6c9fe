import type { Session, SessionStore } from '../core/store.ts'

/**
 * Whether a message waits in the store that the log does not know. Needs no right to write, so that whoever has just
 * given that back can look once more: what came before is found by him, what comes after finds the session free.
 */
export async function hasMail(
  store: SessionStore,
  { id, log }: Session,
  isMeant: (clientKey: string) => boolean = () => true,
): Promise<boolean> {
  const done = new AbortController()
  // With the last entry that is known there is always something to be told at once.
  const changes = store.watch(id, { after: Math.max(0, log.head - 1), signal: done.signal })
  try {
    for await (const { inbox } of changes)
      return inbox.some(
        ({ clientKey, mode }) => mode !== 'stop' && !log.transcript.hasClientKey(clientKey) && isMeant(clientKey),
      )
    return false
  } finally {
    done.abort()
  }
}
