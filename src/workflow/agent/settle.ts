import type { AgentInstanceLatestStatus } from '../../plugins/message.ts'
import type { LiveAgent } from './live-agent.ts'

/**
 * Lets an agent go on until nothing is left to do: what came in while a run was ending is not left lying, nor what was
 * said after it was cancelled.
 */
export async function settle(agent: LiveAgent, status: AgentInstanceLatestStatus): Promise<AgentInstanceLatestStatus> {
  let latest = status
  const isFree = (): boolean => agent.over === undefined && !agent.isRunning && isAtRest(latest)
  while (isFree() && (await agent.hasMore()) && isFree()) {
    const { isElsewhere, session } = agent
    const { turns, pending } = session
    latest = await agent.advance()
    if (isElsewhere && agent.isElsewhere) break // whoever works on it looks when he is done
    if (session.turns === turns && session.pending.length === pending.length) break // it still waits for somebody
  }
  return latest
}

const isAtRest = ({ state }: AgentInstanceLatestStatus): boolean =>
  state === 'completed' || state === 'input-required' || state === 'submitted' || state === 'canceled'
