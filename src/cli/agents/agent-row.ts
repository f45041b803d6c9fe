import type { SessionStatus } from '../../core/store.ts'
import type { PendingApproval } from '../../workflow/agent/pending-calls.ts'
import type { AgentSummary } from '../../workflow/definitions/definition.ts'
import { statusLabel } from '../sessions/status-label.ts'
import type { OpenedWorkflow } from './open-workflow.ts'

/** An agent in a list. */
export interface AgentRow extends Pick<AgentSummary, 'id' | 'title' | 'status' | 'attention' | 'created' | 'modified'> {
  readonly definition: string
  readonly closed: boolean
  readonly parent?: string
  readonly waiting: readonly PendingApproval[]
  /** When a schedule wakes it next. */
  readonly nextWake?: number
}

/** Describes agents, with what they wait for and when they wake. Reads only the logs of those that may wait. */
export async function describeAgents(
  agents: readonly AgentSummary[],
  { workflow }: Pick<OpenedWorkflow, 'workflow'>,
): Promise<readonly AgentRow[]> {
  const wakes = Map.groupBy(await workflow.schedules.list(), ({ agentId }) => agentId)
  const rows: AgentRow[] = []
  for (const agent of agents) {
    const { id, definitionId, title, status, attention, created, modified, closed, isSubAgent, parentAgentId } = agent
    const times = closed || isSubAgent ? [] : (wakes.get(id) ?? []).flatMap(({ nextRunAt }) => nextRunAt ?? [])
    const mayWait = !closed && !isSubAgent && mayWaitWith.has(status)
    rows.push({
      ...{ id, definition: definitionId, status, created, modified, closed },
      ...(title !== undefined && { title }),
      ...(attention && { attention }),
      ...(parentAgentId !== undefined && { parent: parentAgentId }),
      waiting: mayWait ? await workflow.pending(id) : [],
      ...(times.length > 0 && { nextWake: Math.min(...times) }),
    })
  }
  return rows
}

/** A call may wait while others of its run are at work, or since before its process died. */
const mayWaitWith: ReadonlySet<SessionStatus> = new Set(['waiting', 'working', 'interrupted'])

/** The status of an agent in words for people. */
export const agentLabel = ({ status, attention, closed }: Pick<AgentRow, 'status' | 'attention' | 'closed'>): string =>
  closed ? 'closed' : statusLabel({ status, turns: 1, ...(attention && { attention }) })
