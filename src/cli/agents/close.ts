import { fullyVisible } from '../../platform/visible-text.ts'
import type { AgentInstance } from '../../workflow/definitions/definition.ts'
import { CliError, exitCodes } from '../cli-error.ts'
import type { Io } from '../io.ts'
import { type AgentSummary, agentStateLabels, summaryOf } from './agent-state.ts'
import { confirm, requireTerminal } from './confirm.ts'
import { findAgent, refuseSubAgent, requireAgent } from './find-agent.ts'
import { type OpenedWorkflow, withWorkflow } from './open-workflow.ts'

interface Ending {
  readonly values: { readonly yes?: boolean }
  readonly words: readonly string[]
}

/** `libero agents close`. */
export async function close({ words }: Ending, io: Io): Promise<number> {
  requireAgent(words, 'agents close')
  return withWorkflow(io, async (opened) => {
    for (const { id, closed } of await meant(opened, words, 'close')) {
      await opened.workflow.closeAgent(id)
      io.err(closed ? `${fullyVisible(id)} was closed already` : `Closed ${fullyVisible(id)} and removed its schedules`)
    }
    return exitCodes.done
  })
}

/** `libero agents delete`. Finds all agents and asks for confirmation before deleting the first one. */
export async function remove({ values, words }: Ending, io: Io): Promise<number> {
  requireAgent(words, 'agents delete')
  if (!values.yes) requireTerminal(io, 'agents delete asks before it deletes')
  return withWorkflow(io, async (opened) => {
    const agents = await meant(opened, words, 'delete')
    if (!values.yes && !(await isWanted(agents, io))) {
      io.err('Nothing was deleted')
      return exitCodes.done
    }
    for (const { id } of agents) {
      await opened.workflow.deleteAgent(id)
      io.err(`Deleted ${fullyVisible(id)}`)
    }
    return exitCodes.done
  })
}

async function meant(
  opened: OpenedWorkflow,
  words: readonly string[],
  what: 'close' | 'delete',
): Promise<AgentInstance[]> {
  const found = new Map<string, AgentInstance>()
  for (const word of words) {
    const agent = await findAgent(opened.workflow, word)
    refuseSubAgent(agent, `${what} that one`)
    found.set(agent.id, agent)
  }
  return [...found.values()]
}

function isWanted(agents: readonly AgentInstance[], io: Io): Promise<boolean> {
  for (const { id, definitionId, name = '' } of agents)
    io.err(`  ${fullyVisible(id)}  ${fullyVisible(definitionId)}  ${fullyVisible(name)}`.trimEnd())
  const asked = agents.length === 1 ? 'this agent' : `these ${agents.length} agents`
  return confirm(`Delete ${asked} and all messages permanently?`, io)
}

/** `libero agents cancel`: stops an agent, in whichever process it runs, and denies what it waits for. */
export async function cancel({ words }: { readonly words: readonly string[] }, io: Io): Promise<number> {
  const asked = requireAgent(words, 'agents cancel')
  return withWorkflow(io, async (opened) => {
    const agent = await findAgent(opened.workflow, asked)
    const id = fullyVisible(agent.id)
    refuseSubAgent(agent, 'cancel that one')
    const stateOf = async (): Promise<AgentSummary['state']> => (await summaryOf(agent, opened)).state
    const before = await stateOf()
    await opened.workflow.cancelAgent(agent.id)
    const state = await stateOf()
    if (state === 'working')
      throw new CliError(`Agent ${id} is working in another program and was not stopped; end that program`)
    io.err(outcome(agent, { before, state }))
    return exitCodes.done
  })
}

function outcome(
  { id: agentId }: AgentInstance,
  { before, state }: Readonly<Record<'before' | 'state', AgentSummary['state']>>,
): string {
  const id = fullyVisible(agentId)
  if (before === 'input-required' && state !== before)
    return `Stopped ${id}; what it waited for is denied. Continue with: libero agents send ${id} "…"`
  if (before !== state) return `Stopped ${id}; continue with: libero agents send ${id} "…"`
  return `There was nothing to stop: agent ${id} is not working (${agentStateLabels[state]})`
}
