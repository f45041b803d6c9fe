import type { Session } from './store.ts'
import { syntheticResult } from './synthetic-result.ts'

/**
 * A call that began before (its process died, or it was suspended) and is now answered without being run again may have
 * left children behind. Nobody will go on with them, so the calls they left open are answered here, before their parent's:
 * then a crash in between leaves nothing without an answer.
 */
export async function abandonChildren(session: Session, callId: string): Promise<void> {
  for (const name of await session.childrenOf(callId)) {
    const child = await session.child(name) // settles what its process left behind
    for (const { id } of child.log.transcript.openCalls) {
      await abandonChildren(child, id)
      await child.log.append(syntheticResult(id, 'aborted'))
    }
  }
}
