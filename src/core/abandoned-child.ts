import type { Session } from './store.ts'
import { abortedResult } from './synthetic-result.ts'

/**
 * A call that began before (its process died, or it was suspended) and is now answered without being run again may have
 * left children behind. Nobody will go on with them, so the calls they left open are answered here, before their parent's:
 * then a crash in between leaves nothing without an answer.
 */
export async function abandonChildren(session: Session, callIds: readonly string[]): Promise<void> {
  if (callIds.length === 0) return
  for (const name of await session.childrenOf(...callIds)) {
    const child = await session.child(name) // settles what its process left behind
    const open = child.log.transcript.openCalls.map(({ id }) => abortedResult(child.log.transcript, id))
    await abandonOpenCalls(child)
    if (open.length > 0) await child.log.appendAll(open)
  }
}

/** The same for all calls that a session has open: nobody goes on with what they began. */
export function abandonOpenCalls(session: Session): Promise<void> {
  const { transcript } = session.log
  const begun = transcript.openCalls.filter(({ id }) => transcript.startOf(id))
  return abandonChildren(
    session,
    begun.map(({ id }) => id),
  )
}

/** Whether a call began that child. By itself: `call`, the second `call~2`. Through calls of its own: `call.1`. */
export const isChildOf = (name: string, callId: string): boolean =>
  name === callId || name.startsWith(`${callId}.`) || name.startsWith(`${callId}~`)
