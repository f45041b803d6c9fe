import { AgentAbortedError, messageOf } from '../../core/errors.ts'
import type { AgentStats } from '../../core/usage.ts'
import type { RunOutcome } from '../../rpc/host.ts'

/** How a run ended, whether it resolved or was rejected. */
export async function outcomeOf(running: Promise<AgentStats>): Promise<RunOutcome> {
  try {
    const { status, stopReason } = await running
    return { status, stopReason }
  } catch (error) {
    if (error instanceof AgentAbortedError) return { status: 'aborted', stopReason: 'aborted' }
    return { status: 'error', stopReason: 'error', error: messageOf(error) }
  }
}
