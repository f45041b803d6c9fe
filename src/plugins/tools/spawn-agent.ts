import type { EntryOf } from '../../core/log.ts'
import type { Session } from '../../core/store.ts'
import type { JsonSchema, ToolDef } from '../../core/tool.ts'
import { toolResultToText } from '../../core/tool-output.ts'
import { boundedKey } from '../../platform/digest.ts'
import { childRunner } from '../../tools/spawn.ts'
import {
  definePlugin,
  type PluginDefinition,
  type PluginServices,
  type PluginSetup,
  type SubAgentPreset,
} from '../plugin.ts'
import { marksOf, withMarks } from '../tool-marks.ts'

const description = `Hands a task to a sub-agent that works on its own and reports back once, at the end.
It sees nothing of this conversation: say in the task and the context everything it needs to know.`

interface SpawnAgentInput {
  readonly task: string
  readonly context?: string
  readonly agentDefinitionId?: string
}

const defaultLimitMs = 120_000
const resultDuration = 2
const deepest = 3

/** Lets the model give tasks to agents of this or another definition. A child that takes too long is cancelled. */
export const spawnAgentPlugin: PluginDefinition = definePlugin({
  toolId: 'spawn-agent',
  displayName: 'Sub-agents',
  description: 'Hands a task to another agent and waits for its report.',
  defaultApproval: { 'spawn-agent': { mode: 'confirm' } },
  tools: (setup) => [withMarks(spawnAgentTool(setup), { duration: resultDuration })],
})

function spawnAgentTool({ services, entry }: PluginSetup): ToolDef<SpawnAgentInput> {
  const runChild = childRunner()
  return {
    spec: { name: 'spawn-agent', description, inputSchema: inputSchema(services.definitionIds ?? []) },
    isConcurrencySafe: true,
    replay: 'keyed', // the child is named after the call, which finds the same child again
    effects: ['spawn'],
    deriveApprovalKey: ({ agentDefinitionId = 'spawn-agent' }) => boundedKey(agentDefinitionId),
    timeoutMs: entry.timeoutMs ?? defaultLimitMs,
    maxDepth: deepest,
    async execute({ task, context, agentDefinitionId }, ctx) {
      if (task.trim() === '') throw new Error('"task" is empty; say what the sub-agent has to do')
      const preset = presetOf(services, agentDefinitionId)
      return runChild({ task, context, preset, model: preset.provider?.meta.defaultModel, endedWith }, ctx)
    },
  }
}

function presetOf({ childOf, definitionIds = [] }: PluginServices, id: string | undefined): SubAgentPreset {
  if (!childOf) throw new Error('sub-agents cannot be started here: the host offers no `childOf`; do the task yourself')
  if (id !== undefined && definitionIds.length > 0 && !definitionIds.includes(id))
    throw new Error(
      `there is no agent definition ${JSON.stringify(id.slice(0, 100))}; leave agentDefinitionId out, or choose ${definitionIds.join(', ')}`,
    )
  return childOf(id)
}

function inputSchema(definitionIds: readonly string[]): JsonSchema {
  const choice = definitionIds.length > 0 && { enum: definitionIds }
  return {
    type: 'object',
    properties: {
      task: { type: 'string', description: 'What to do, complete in itself.' },
      context: { type: 'string', description: 'Facts the sub-agent needs beside the task.' },
      agentDefinitionId: { type: 'string', ...choice, description: 'Which kind of agent. Default: one like you.' },
    },
    required: ['task'],
  }
}

/** The result of the call that ended the work of an agent; undefined if none did, or if a message came since. */
async function endedWith(session: Session): Promise<string | undefined> {
  const { transcript } = session.log
  if (transcript.openCalls.length > 0) return undefined
  const reply = transcript.findLastTurn(({ role }) => role === 'assistant')
  let results: (EntryOf<'call_result'> & ReturnType<typeof marksOf>)[] = []
  for await (const entry of session.entries({ after: transcript.seqOf(reply?.id) ?? 0 })) {
    if (entry.type === 'turn') results = []
    if (entry.type === 'call_result') results.push({ ...entry, ...marksOf(entry.details) })
  }
  if (results.some(({ leavesTo }) => leavesTo === 'human')) return undefined
  const last = results.findLast(({ leavesTo, isError }) => leavesTo === 'end' && !isError)
  return last && toolResultToText(last.output)
}
