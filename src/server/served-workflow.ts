import { codeOf } from '../core/errors.ts'
import type { LogEntry } from '../core/log.ts'
import type { ScheduleState } from '../plugins/schedule.ts'
import type { AgentInstance } from '../workflow/definitions/definition.ts'
import type { Workflow } from '../workflow/workflow-contract.ts'
import { notOffered, Problem, problemOf } from './problem.ts'
import { type Call, done } from './route.ts'

/** The workflow of the caller's tenant. Throws a problem if the host has none. */
export async function workflowOf({ names, server: { options } }: Call): Promise<Workflow> {
  const workflow = await options.workflowFor?.(names.tenant)
  if (!workflow) throw notOffered('agents')
  return workflow
}

/** An agent of the caller's tenant. One of another tenant and one that does not exist get the same answer. */
export async function ownAgent(call: Call, workflow: Workflow, id: string): Promise<AgentInstance> {
  const agent = await workflow.getAgent(id)
  if (!agent || !(await isOwn(call, workflow, agent)))
    throw new Problem(
      404,
      'no_agent',
      `There is no agent ${JSON.stringify(id.slice(0, 200))}; GET /v1/agents lists those you have`,
    )
  return agent
}

/** The same for work: a closed agent takes none. */
export async function openAgent(call: Call, workflow: Workflow, id: string): Promise<AgentInstance> {
  const agent = await ownAgent(call, workflow, id)
  if (agent.closed) throw new Problem(409, 'closed', 'This agent is closed and takes no messages; make another one')
  return agent
}

async function isOwn({ names: { tenant } }: Call, workflow: Workflow, agent: AgentInstance): Promise<boolean> {
  if (tenant === undefined) return true
  const root = agent.parentAgentId ?? agent.id
  const { agents } = await workflow.listAgents({ tenant, prefix: root, closed: true, limit: 1000 })
  return agents.some(({ id }) => id === root)
}

/** The schedules of the caller's agents. */
export async function ownSchedules(
  call: Call,
  workflow: Workflow,
  agentId?: string,
): Promise<readonly ScheduleState[]> {
  const all = await workflow.schedules.list(agentId)
  if (call.names.tenant === undefined) return all
  const own: ScheduleState[] = []
  for (const schedule of all) {
    const agent = await workflow.getAgent(schedule.agentId)
    if (agent && (await isOwn(call, workflow, agent))) own.push(schedule)
  }
  return own
}

/** The sentences with which a workflow refuses something are for clients. Errors of the system are not. */
export async function refusable<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof Error) || problemOf(error) || /^E[A-Z_]+$/.test(codeOf(error) ?? '')) throw error
    throw new Problem(422, 'refused', error.message.slice(0, 500))
  }
}

/**
 * Begins work of an agent: a message, an answer. Resolves once an entry of its log shows that it cannot be lost; the work goes
 * on, and its outcome is in the state of the agent.
 */
export async function untilStored(
  workflow: Workflow,
  agentId: string,
  { isStored, begin }: { isStored(entry: LogEntry): boolean; begin(): Promise<unknown> },
): Promise<void> {
  const stored = Promise.withResolvers<void>()
  const unfollow = await workflow.follow(agentId, (event) => {
    if (event.durable && isStored(event.entry)) stored.resolve()
  })
  try {
    const work = begin().then(() => {})
    work.catch(() => {}) // a failure after it was stored is in the agent's state
    await refusable(Promise.race([stored.promise, work]))
  } finally {
    unfollow()
  }
}

/** Does something with an agent of the caller's tenant. */
export async function withAgent(
  call: Call,
  act: (agent: { readonly workflow: Workflow; readonly id: string }) => Promise<void>,
  status = 204,
): Promise<Response> {
  const workflow = await workflowOf(call)
  const { id } = await ownAgent(call, workflow, call.params.id!)
  await refusable(act({ workflow, id }))
  return done(status)
}

export const noAgent = { 404: { description: 'There is no such agent' } }
