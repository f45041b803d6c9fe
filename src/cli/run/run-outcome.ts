import { AgentAbortedError, messageOf } from '../../core/errors.ts'
import type { AgentStats } from '../../core/usage.ts'
import type { RunOutcome } from '../../rpc/host.ts'
import { exitCodes } from '../exit-codes.ts'

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

/** What a process ends with whose last run ended so. */
export function exitCodeOf({ status, stopReason }: RunOutcome): number {
  if (status === 'aborted') return exitCodes.interrupted
  if (status === 'error') return exitCodes.error
  if (status === 'suspended') return exitCodes.permission
  return stopReason === 'budget' || stopReason === 'max_turns' ? exitCodes.budget : exitCodes.done
}
