import { fullyVisible } from '../../platform/visible-text.ts'
import type { AgentInstance } from '../../workflow/definitions/definition.ts'
import { CliError } from '../cli-error.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { type AgentSummary, agentStateWords, summaryOf } from './agent-state.ts'
import { findAgent, refuseSubAgent, requireAgent } from './find-agent.ts'
import { withWorkflow } from './open-workflow.ts'

/** `libero agents cancel`: stops what an agent does, wherever it works, and denies what it waits for. */
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
      throw new CliError(`Agent ${id} is at work in another program and was not stopped; end that program`)
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
    return `Stopped ${id}; what it waited for is denied. Go on with: libero agents send ${id} "…"`
  if (before !== state) return `Stopped ${id}; go on with: libero agents send ${id} "…"`
  return `There was nothing to stop: agent ${id} is not at work (${agentStateWords[state]})`
}
