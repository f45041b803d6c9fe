import type { Session } from './store.ts'
import { syntheticResult } from './synthetic-result.ts'

/**
 * A call that began before (its process died, or it was suspended) and is now answered without being run again may have
 * left children behind. Nobody will go on with them, so the calls they left open are answered here, before their parent's:
 * then a crash in between leaves nothing without an answer.
 */
export async function abandonChildren(session: Session, callId: string): Promise<void> {
  for (let n = 1; ; n++) {
    const child = await session.child(n === 1 ? callId : `${callId}~${n}`) // settles what its process left behind
    if (child.log.head === 0) return
    for (const { id } of child.log.transcript.openCalls) {
      await abandonChildren(child, id)
      await child.log.append(syntheticResult(id, 'aborted'))
    }
  }
}
