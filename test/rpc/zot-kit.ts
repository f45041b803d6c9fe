import { outcomeOf } from '../../src/cli/run/run-outcome.ts'
import type { Agent } from '../../src/core/agent.ts'
import type { Provider } from '../../src/core/provider.ts'
import type { AgentHookMap, RunOptions } from '../../src/core/run.ts'
import type { ToolDef } from '../../src/core/tool.ts'
import { createAgent } from '../../src/create-agent.ts'
import { type AgentEvent, followEvents } from '../../src/events/index.ts'
import type { RunOutcome } from '../../src/rpc/host.ts'
import { writeFrame, ZotProjection } from '../../src/rpc/index.ts'
import { memoryExecution, type Step, scripted } from '../../src/testing/index.ts'
import type { Frame } from './check-grammar.ts'

export interface Plan {
  readonly steps?: readonly Step[]
  readonly provider?: Provider
  readonly tools?: readonly ToolDef[]
  readonly hooks?: (agent: Agent) => AgentHookMap
  readonly options?: RunOptions
  readonly aliases?: Record<string, string>
  readonly projection?: ConstructorParameters<typeof ZotProjection>[0]
}

export interface Recorded {
  readonly frames: Frame[]
  readonly events: AgentEvent[]
  readonly agent: Agent
  readonly projection: ZotProjection
  readonly outcome: RunOutcome
}

/** One run as zot's frames, read back from their lines, and as our own events. */
export async function record(plan: Plan): Promise<Recorded> {
  const agent = agentOf(plan)
  const projection = new ZotProjection({ now: () => 0, ...plan.projection })
  const frames: Frame[] = []
  const events: AgentEvent[] = []
  const put = (out: readonly object[]): void => void frames.push(...out.map(readBack))
  followEvents(agent, (event) => {
    events.push(event)
    put(projection.framesFor(event))
  })
  const outcome = await outcomeOf(agent.run({ prompt: 'go', ...plan.options, hooks: plan.hooks?.(agent) ?? {} }))
  put(projection.end(outcome))
  return { frames, events, agent, projection, outcome }
}

export function agentOf({ steps = [], provider, tools = [], aliases }: Plan): Agent {
  return createAgent({
    provider: provider ?? scripted(...steps),
    tools: Object.fromEntries(tools.map((one) => [one.spec.name, one])),
    execution: memoryExecution(),
    ...(aliases && { toolAliases: aliases }),
  })
}

export const readBack = (frame: object): Frame => JSON.parse(writeFrame(frame)) as Frame
export const typesOf = (frames: readonly { type: string }[]): string[] => frames.map(({ type }) => type)
