import { nearest } from '../../core/nearest.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { agentPrefix } from '../../workflow/agent-instance.ts'
import type { AgentInstance } from '../../workflow/definitions/definition.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import { CliError, UsageError } from '../cli-error.ts'
import { isBeingWritten } from '../sessions/session-state.ts'
import type { OpenedWorkflow } from './open-workflow.ts'

/** The agent that somebody means by an id, the beginning of one that no other has, with or without `agent-`, or its name. */
export async function findAgent(workflow: Pick<Workflow, 'listAgents'>, asked: string): Promise<AgentInstance> {
  const all = await workflow.listAgents({ closed: true, subAgents: true })
  const exact = all.find(({ id }) => id === asked || id === agentPrefix + asked)
  if (exact) return exact
  const named = all.filter(({ name, isSubAgent }) => name === asked && !isSubAgent)
  const begun = asked === '' ? [] : all.filter(({ id }) => id.startsWith(asked) || id.startsWith(agentPrefix + asked))
  const meant = preferred(named.length > 0 ? named : begun)
  if (meant.length === 1) return meant[0]!
  throw meant.length > 1 ? ambiguous(asked, meant) : unknown(asked, all)
}

/** The same for who wants to say something to it: nobody but its parent speaks to a sub-agent. */
export async function findTopLevelAgent(workflow: Pick<Workflow, 'listAgents'>, asked: string): Promise<AgentInstance> {
  const agent = await findAgent(workflow, asked)
  refuseSubAgent(agent, `speak to that one. What it did: libero agents show ${fullyVisible(agent.id)}`)
  return agent
}

/** What is done to a sub-agent is done to its parent: `instead` says so. */
export function refuseSubAgent({ id, isSubAgent, parentAgentId = '' }: AgentInstance, instead: string): void {
  if (isSubAgent) throw new CliError(`${fullyVisible(id)} is a sub-agent of ${fullyVisible(parentAgentId)}; ${instead}`)
}

/** The id that a command needs as its first word. */
export function requireAgent(words: readonly string[], command: string): string {
  const [asked] = words
  if (asked === undefined || asked === '')
    throw new UsageError(`${command} needs an agent: its id, or its name; libero agents lists them`)
  return asked
}

/** Who types a beginning means one that can be spoken to. */
function preferred(agents: readonly AgentInstance[]): readonly AgentInstance[] {
  const open = agents.filter(({ closed, isSubAgent }) => !closed && !isSubAgent)
  return open.length > 0 ? open : agents
}

const mostNamed = 5

function ambiguous(asked: string, agents: readonly AgentInstance[]): CliError {
  const more = agents.length > mostNamed ? ` and ${agents.length - mostNamed} more` : ''
  const named = agents.slice(0, mostNamed).map(({ id }) => fullyVisible(id))
  return new CliError(`"${fullyVisible(asked)}" may be ${named.join(', ')}${more}; type more of the id`)
}

function unknown(asked: string, all: readonly AgentInstance[]): CliError {
  const names = all.filter(({ isSubAgent }) => !isSubAgent).flatMap(({ id, name }) => (name ? [id, name] : [id]))
  const [meant] = nearest(asked, names, 1)
  const hint = meant === undefined ? '' : ` (did you mean ${fullyVisible(meant)}?)`
  return new CliError(
    `There is no agent "${fullyVisible(asked.slice(0, 100))}"${hint}; libero agents --all names those there are, libero agents new makes one`,
  )
}

/** Refuses what cannot be done to an agent that another program works on. */
export async function requireIdle({ store }: Pick<OpenedWorkflow, 'store'>, agentId: string): Promise<void> {
  if (!(await isBeingWritten(store, agentId))) return
  const id = fullyVisible(agentId)
  throw new CliError(
    `Agent ${id} is at work in another program; stop it first: libero agents cancel ${id}. Nothing was done`,
  )
}
