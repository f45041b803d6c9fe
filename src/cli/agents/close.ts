import { fullyVisible } from '../../platform/visible-text.ts'
import type { AgentSummary } from '../../workflow/definitions/definition.ts'
import { CliError, exitCodes } from '../cli-error.ts'
import type { Args } from '../command.ts'
import type { Io } from '../io.ts'
import { removeSnapshots } from '../sessions/delete-whole.ts'
import { agentLabel } from './agent-row.ts'
import { confirm, requireTerminal } from './confirm.ts'
import { findAgent, refuseSubAgent, requireAgent } from './find-agent.ts'
import { type OpenedWorkflow, withWorkflow } from './open-workflow.ts'

/** `libero agents close`. */
export async function close({ words }: Args, io: Io): Promise<number> {
  requireAgent(words, 'agents close')
  return withWorkflow(io, async (opened) => {
    for (const { id, closed } of await findAgents(opened, words, 'close')) {
      await opened.workflow.closeAgent(id)
      io.err(closed ? `${fullyVisible(id)} was closed already` : `Closed ${fullyVisible(id)} and removed its schedules`)
    }
    return exitCodes.done
  })
}

/** `libero agents delete`. Finds all agents and asks for confirmation before deleting the first one. */
export async function remove({ values, words }: Args<{ readonly yes?: boolean }>, io: Io): Promise<number> {
  requireAgent(words, 'agents delete')
  if (!values.yes) requireTerminal(io, 'agents delete asks before it deletes')
  return withWorkflow(io, async (opened) => {
    const agents = await findAgents(opened, words, 'delete')
    if (!values.yes && !(await isConfirmed(agents, io))) {
      io.err('Nothing was deleted')
      return exitCodes.done
    }
    for (const { id } of agents) {
      await opened.workflow.closeAgent(id)
      await removeSnapshots([id], io)
      await opened.workflow.deleteAgent(id)
      io.err(`Deleted ${fullyVisible(id)}`)
    }
    return exitCodes.done
  })
}

async function findAgents(opened: OpenedWorkflow, words: readonly string[], verb: string): Promise<AgentSummary[]> {
  const found = new Map<string, AgentSummary>()
  for (const word of words) {
    const agent = await findAgent(opened, word)
    refuseSubAgent(agent, `${verb} that one`)
    found.set(agent.id, agent)
  }
  return [...found.values()]
}

function isConfirmed(agents: readonly AgentSummary[], io: Io): Promise<boolean> {
  for (const { id, definitionId, title = '' } of agents)
    io.err(`  ${fullyVisible(id)}  ${fullyVisible(definitionId)}  ${fullyVisible(title)}`.trimEnd())
  const asked = agents.length === 1 ? 'this agent' : `these ${agents.length} agents`
  return confirm(`Delete ${asked} and all messages permanently?`, io)
}

/** `libero agents cancel`: stops an agent, in whichever process it runs, and denies what it waits for. */
export async function cancel({ words }: Args, io: Io): Promise<number> {
  const asked = requireAgent(words, 'agents cancel')
  return withWorkflow(io, async (opened) => {
    const agent = await findAgent(opened, asked)
    refuseSubAgent(agent, 'cancel that one')
    const id = fullyVisible(agent.id)
    await opened.workflow.cancelAgent(agent.id)
    const { status = agent.status } = (await opened.directory.find(agent.id)) ?? {}
    if (status === 'working')
      throw new CliError(`Agent ${id} is working in another program and was not stopped; end that program`)
    const denied = agent.status === 'waiting' ? ' and denied what it waited for' : ''
    io.err(
      agent.status === status
        ? `There was nothing to stop: agent ${id} is not working (${agentLabel(agent)})`
        : `Stopped ${id}${denied}; continue with: libero agents send ${id} "…"`,
    )
    return exitCodes.done
  })
}
