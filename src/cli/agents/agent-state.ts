import type { AgentState } from '../../plugins/message.ts'
import type { PendingApproval } from '../../workflow/agent/pending-calls.ts'
import type { AgentSummary as ListedAgent } from '../../workflow/definitions/definition.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import { isBeingWritten } from '../sessions/session-state.ts'
import type { OpenedWorkflow } from './open-workflow.ts'

/** An agent in a list. */
export interface AgentSummary {
  readonly id: string
  readonly definition: string
  readonly name?: string
  readonly state: AgentState | 'interrupted' | 'closed' | 'new'
  readonly created: number
  readonly modified: number
  readonly parent?: string
  readonly waiting: readonly PendingApproval[]
  /** When a schedule wakes it next. */
  readonly nextWake?: number
}

type AgentFields = 'id' | 'definitionId' | 'created' | 'modified' | 'closed' | 'isSubAgent' | 'parentAgentId' | 'title'
type WorkflowAndStore = Pick<OpenedWorkflow, 'workflow' | 'store'>

/** The current state of an agent. An agent whose process died is `interrupted`, not `working`. */
export async function summaryOf(
  instance: Pick<ListedAgent, AgentFields>,
  { workflow, store }: WorkflowAndStore,
): Promise<AgentSummary> {
  const { id, definitionId, title, created, modified, closed, isSubAgent, parentAgentId } = instance
  const wakes =
    closed || isSubAgent ? [] : (await workflow.schedules.list(id)).flatMap(({ nextRunAt }) => nextRunAt ?? [])
  return {
    ...{ id, definition: definitionId, created, modified },
    ...(title !== undefined && { name: title }),
    ...(parentAgentId !== undefined && { parent: parentAgentId }),
    state: closed ? 'closed' : await stateOf(instance, { workflow, store }),
    waiting: closed || isSubAgent ? [] : await workflow.pending(id),
    ...(wakes.length > 0 && { nextWake: Math.min(...wakes) }),
  }
}

async function stateOf(
  instance: Pick<ListedAgent, AgentFields>,
  { workflow, store }: WorkflowAndStore,
): Promise<AgentSummary['state']> {
  const { id, isSubAgent } = instance
  const { state } = await workflow.getStatus(id)
  if (state === 'submitted' && (isSubAgent || (await workflow.getMessages(id)).length === 0)) return 'new'
  if (state !== 'working') return state
  const holder = await topLevelAgent(instance, workflow)
  return holder && (await isBeingWritten(store, holder.id)) ? 'working' : 'interrupted'
}

const maxParents = 50

/** The top-level agent, whose lease a sub-agent works under; `undefined` if it was deleted. */
async function topLevelAgent(
  instance: Pick<ListedAgent, AgentFields>,
  workflow: Workflow,
): Promise<Pick<ListedAgent, 'id'> | undefined> {
  let holder: Pick<ListedAgent, 'id' | 'isSubAgent' | 'parentAgentId'> | undefined = instance
  for (let i = 0; i < maxParents && holder?.isSubAgent; i++)
    holder = holder.parentAgentId === undefined ? undefined : await workflow.getAgent(holder.parentAgentId)
  return holder
}

/** Labels of the states for people. */
export const agentStateLabels: Readonly<Record<AgentSummary['state'], string>> = {
  new: 'new',
  submitted: 'has work to do',
  working: 'working',
  'input-required': 'waits for you',
  completed: 'done',
  canceled: 'stopped',
  failed: 'failed',
  interrupted: 'interrupted',
  closed: 'closed',
  unknown: 'unknown',
}
