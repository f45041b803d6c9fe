import { nearest } from '../../core/nearest.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { agentPrefix } from '../../workflow/agent-instance.ts'
import type { AgentSummary } from '../../workflow/definitions/definition.ts'
import type { Directory } from '../../workflow/directory.ts'
import { CliError, UsageError } from '../cli-error.ts'
import type { OpenedWorkflow } from './open-workflow.ts'

type Agents = Pick<OpenedWorkflow, 'directory'>

const maxNamed = 5

/** Finds an agent by its id, by a unique beginning of the id, with or without `agent-`, or by its name. */
export async function findAgent({ directory }: Agents, asked: string): Promise<AgentSummary> {
  const exact = (await directory.find(asked)) ?? (await directory.find(agentPrefix + asked))
  if (exact) return exact
  if (asked === '') throw await unknown(directory, asked)
  // Of several matches, open top-level agents are preferred.
  const queries = [{ name: asked }, { name: asked, closed: true }, { prefix: asked }, { ...all, prefix: asked }]
  for (const query of queries) {
    const { agents } = await directory.list({ ...query, limit: maxNamed + 1 })
    if (agents.length === 1) return agents[0]!
    if (agents.length > 1) throw ambiguous(asked, agents)
  }
  throw await unknown(directory, asked)
}

const all = { closed: true, subAgents: true }

/** The same for an agent to send a message to. Throws for a sub-agent: only its parent sends messages to it. */
export async function findTopLevelAgent(opened: Agents, asked: string): Promise<AgentSummary> {
  const agent = await findAgent(opened, asked)
  refuseSubAgent(agent, `send the message to that one. What it did: libero agents show ${fullyVisible(agent.id)}`)
  return agent
}

/** The same for an agent that is to work. Throws if its definition does not exist any more. */
export async function findWorkingAgent(
  opened: Agents & Pick<OpenedWorkflow, 'definitions'>,
  asked: string,
): Promise<AgentSummary> {
  const agent = await findTopLevelAgent(opened, asked)
  if (opened.definitions.found.some(({ definition }) => definition.id === agent.definitionId)) return agent
  throw new CliError(
    `the definition "${fullyVisible(agent.definitionId)}" of this agent does not exist; restore it in ${fullyVisible(opened.definitions.folder)} (libero agents definitions lists problems)`,
  )
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

function ambiguous(asked: string, agents: readonly AgentSummary[]): CliError {
  const more = agents.length > maxNamed ? ' and others' : ''
  const named = agents.slice(0, maxNamed).map(({ id }) => fullyVisible(id))
  return new CliError(`"${fullyVisible(asked)}" may be ${named.join(', ')}${more}; type more of the id`)
}

/** Of so many of the last changed agents one may have been meant. */
const mostCompared = 500

async function unknown(directory: Directory, asked: string): Promise<CliError> {
  const { agents } = await directory.list({ closed: true, limit: mostCompared })
  const names = agents.flatMap(({ id, title }) => (title ? [id, title] : [id]))
  const [meant] = nearest(asked, names, 1)
  const hint = meant === undefined ? '' : ` (did you mean ${fullyVisible(meant)}?)`
  return new CliError(
    `There is no agent "${fullyVisible(asked.slice(0, 100))}"${hint}; libero agents --all lists them, libero agents new creates one`,
  )
}

/** Throws if another program is working on the agent. */
export async function requireIdle({ directory }: Agents, agentId: string): Promise<void> {
  if (!(await directory.find(agentId))?.isHeld) return
  const id = fullyVisible(agentId)
  throw new CliError(
    `Agent ${id} is working in another program; stop it first: libero agents cancel ${id}. Nothing was done`,
  )
}
