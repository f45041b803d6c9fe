import { closeCallsInAllChildSessions } from '../core/children.ts'
import type { Clock } from '../core/clock.ts'
import { SessionBusyError, SessionParkedError } from '../core/errors.ts'
import type { Session, SessionStore } from '../core/store.ts'
import { abortedResult } from '../core/tool-result.ts'
import { loadSession } from '../sessions/session.ts'

/** Stops the work on a session: the run under way, or one that a worker would begin or continue. */
export async function stopSession(store: SessionStore, id: string, clock: Clock): Promise<void> {
  const summary = await store.find(id)
  if (!summary?.isHeld && !summary?.attention) return
  await store.send(id, { mode: 'stop', clientKey: `stop/${crypto.randomUUID()}`, content: [] })
  if (summary.isHeld) return // its holder gets the message
  try {
    const session = await loadSession(store, id, { clock })
    await session.open()
    try {
      await endWork(session)
    } finally {
      await session.release()
    }
  } catch (error) {
    // A worker that has begun meanwhile gets the message; a parked session does nothing.
    if (!(error instanceof SessionBusyError) && !(error instanceof SessionParkedError)) throw error
  }
}

/** Writes the end that a stopped run would have written, so that no worker begins or continues one. */
async function endWork(session: Session): Promise<void> {
  const { transcript } = session.log
  if (transcript.runs.at(-1)?.status === 'aborted' && session.log.deliverable.length === 0) return
  await closeCallsInAllChildSessions(session)
  const results = transcript.openCalls.map(({ id }) => abortedResult(transcript, id))
  const runId = crypto.randomUUID()
  const stoppedAt = session.log.head
  await session.log.append({ type: 'run_started', runId, model: '' }, ...results, {
    type: 'run_ended',
    runId,
    status: 'aborted',
    stop: 'aborted',
    stoppedAt,
  })
}
