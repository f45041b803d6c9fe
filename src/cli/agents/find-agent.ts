import { nearest } from '../../core/nearest.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { agentPrefix } from '../../workflow/agent-instance.ts'
import type { AgentSummary } from '../../workflow/definitions/definition.ts'
import type { Workflow } from '../../workflow/workflow.ts'
import { CliError, UsageError } from '../cli-error.ts'
import { isBeingWritten } from '../sessions/session-state.ts'
import type { OpenedWorkflow } from './open-workflow.ts'

/** Finds an agent by its id, by a unique beginning of the id, with or without `agent-`, or by its name. */
export async function findAgent(workflow: Pick<Workflow, 'listAgents'>, asked: string): Promise<AgentSummary> {
  const { agents: all } = await workflow.listAgents({ closed: true, subAgents: true, limit: 1000 })
  const exact = all.find(({ id }) => id === asked || id === agentPrefix + asked)
  if (exact) return exact
  const named = all.filter(({ title, isSubAgent }) => title === asked && !isSubAgent)
  const prefixed =
    asked === '' ? [] : all.filter(({ id }) => id.startsWith(asked) || id.startsWith(agentPrefix + asked))
  const matches = preferOpen(named.length > 0 ? named : prefixed)
  if (matches.length === 1) return matches[0]!
  throw matches.length > 1 ? ambiguous(asked, matches) : unknown(asked, all)
}

/** The same for an agent to send a message to. Throws for a sub-agent: only its parent sends messages to it. */
export async function findTopLevelAgent(workflow: Pick<Workflow, 'listAgents'>, asked: string): Promise<AgentSummary> {
  const agent = await findAgent(workflow, asked)
  refuseSubAgent(agent, `send the message to that one. What it did: libero agents show ${fullyVisible(agent.id)}`)
  return agent
}

/** Throws for a sub-agent; `instead` says what to do with its parent. */
export function refuseSubAgent({ id, isSubAgent, parentAgentId = '' }: AgentSummary, instead: string): void {
  if (isSubAgent) throw new CliError(`${fullyVisible(id)} is a sub-agent of ${fullyVisible(parentAgentId)}; ${instead}`)
}

/** The id that a command needs as its first word. */
export function requireAgent(words: readonly string[], command: string): string {
  const [asked] = words
  if (asked === undefined || asked === '')
    throw new UsageError(`${command} needs an agent: its id, or its name; libero agents lists them`)
  return asked
}

/** Of several matches, open top-level agents are preferred. */
function preferOpen(agents: readonly AgentSummary[]): readonly AgentSummary[] {
  const open = agents.filter(({ closed, isSubAgent }) => !closed && !isSubAgent)
  return open.length > 0 ? open : agents
}

const maxNamed = 5

function ambiguous(asked: string, agents: readonly AgentSummary[]): CliError {
  const more = agents.length > maxNamed ? ` and ${agents.length - maxNamed} more` : ''
  const named = agents.slice(0, maxNamed).map(({ id }) => fullyVisible(id))
  return new CliError(`"${fullyVisible(asked)}" may be ${named.join(', ')}${more}; type more of the id`)
}

function unknown(asked: string, all: readonly AgentSummary[]): CliError {
  const names = all.filter(({ isSubAgent }) => !isSubAgent).flatMap(({ id, title }) => (title ? [id, title] : [id]))
  const [meant] = nearest(asked, names, 1)
  const hint = meant === undefined ? '' : ` (did you mean ${fullyVisible(meant)}?)`
  return new CliError(
    `There is no agent "${fullyVisible(asked.slice(0, 100))}"${hint}; libero agents --all lists them, libero agents new creates one`,
  )
}

/** Throws if another program is working on the agent. */
export async function requireIdle({ store }: Pick<OpenedWorkflow, 'store'>, agentId: string): Promise<void> {
  if (!(await isBeingWritten(store, agentId))) return
  const id = fullyVisible(agentId)
  throw new CliError(
    `Agent ${id} is working in another program; stop it first: libero agents cancel ${id}. Nothing was done`,
  )
}
