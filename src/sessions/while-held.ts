import { LeaseLostError, SessionBusyError, SessionNotFoundError } from '../core/errors.ts'
import type { Lease, SessionStore } from '../core/store.ts'

const ttlMs = 60_000

/**
 * Does maintenance under the lease of a session; undefined if a process has it, or if the session is gone. Unlike an open
 * session it recovers nothing. `renew` rejects if another process has taken the session since.
 */
export async function whileHeld<Result>(
  store: SessionStore,
  id: string,
  work: (lease: Lease & { renew(): Promise<unknown> }) => Promise<Result>,
): Promise<Result | undefined> {
  const owner = `maintenance#${crypto.randomUUID()}`
  const lease = await store.lease(id, { owner, ttlMs }).catch((error) => {
    if (error instanceof SessionBusyError || error instanceof SessionNotFoundError) return undefined
    throw error
  })
  if (!lease) return undefined
  const { epoch } = lease
  try {
    return await work({ ...lease, renew: () => store.lease(id, { owner, ttlMs, epoch }) })
  } finally {
    await store.lease(id, { owner, ttlMs: 0, epoch }).catch((error) => {
      // The work may have deleted the session.
      if (!(error instanceof LeaseLostError) && !(error instanceof SessionNotFoundError)) throw error
    })
  }
}
