import type { SessionStore } from '../core/store.ts'
import { loadSession } from './session.ts'

/** Writes into the log why nothing ran: a client that follows the session would wait for ever. */
export async function recordFailure(store: SessionStore, id: string, message: string): Promise<void> {
  const runId = crypto.randomUUID()
  try {
    const session = await loadSession(store, id)
    await session.open()
    try {
      const error = { name: 'AgentError', message }
      // In one append: a process that died between the two would leave an open run, which counts as a crash.
      await session.log.append(
        { type: 'run_started', runId, model: '' },
        { type: 'run_ended', runId, status: 'error', stop: 'error', error },
      )
    } finally {
      await session.release()
    }
  } catch {} // the store failed, the session is parked, or another process has it
}
