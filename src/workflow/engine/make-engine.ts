import type { Authority } from '../../authority/authority.ts'
import type { ToolRule } from '../../authority/rules/settings.ts'
import { didYouMean } from '../../core/nearest.ts'
import { type Provider, plainProvider } from '../../core/provider.ts'
import type { Extension } from '../../core/run.ts'
import type { Session } from '../../core/store.ts'
import type { ToolDef } from '../../core/tool.ts'
import { toolResultToText } from '../../core/tool-output.ts'
import { createAgent, type LiberoAgent } from '../../create-agent.ts'
import { pluginExtension } from '../../plugins/extension.ts'
import type { LogViews } from '../../plugins/log-views.ts'
import type { PluginServices, SubAgentPreset } from '../../plugins/plugin.ts'
import { approvalsOf, joinApprovals, type SetUpPlugin, setUpPlugins } from '../../plugins/plugin-set.ts'
import { withTextTools } from '../../plugins/text-tools/with-text-tools.ts'
import { marksOf } from '../../plugins/tool-marks.ts'
import { withRetry } from '../../providers/retry.ts'
import type { AgentDefinition, AgentInstance } from '../definitions/definition.ts'
import { instanceEntry } from '../instance-note.ts'
import { mayBeWoken } from '../schedules/agent-schedules.ts'
import { checkRules } from '../settings.ts'
import { configOf, resultDurationOf } from './config-of.ts'
import { engineReports } from './engine-reports.ts'
import { lacksTool } from './lacks-tool.ts'
import type { WorkflowDependencies } from './workflow-dependencies.ts'

/** The engine of one agent, and the authority that decides about its calls. */
export interface Engine {
  readonly agent: LiberoAgent
  readonly authority: Authority
  /** Takes over what the settings say now. */
  retune(): void
  /** Whether a tool is certainly not there: of the agent, or of its sub-agents of a definition. */
  lacks(toolName: string, ofSubAgent?: { readonly definitionId: string }): boolean
  /** Tokens that fit; what the definition says, else what the provider knows. */
  contextWindow(model: string): Promise<number | undefined>
}

/** An agent of the engine with all that a definition says. */
export async function makeEngine(
  makings: WorkflowDependencies,
  instance: AgentInstance,
  session: Session,
  views: LogViews,
): Promise<Engine> {
  const { clock, newId, execution, onError } = makings
  const definition = makings.definition(instance.definitionId)
  const { extension, tools, approvals } = pluginParts(makings, definition, instance, views)
  const { createAuthority } = await import('../../authority/authority.ts')
  const rules = (): Readonly<Record<string, ToolRule>> => rulesFor(approvals, definition, makings)
  // The default of workflows is the weakest layer, so that a mode in any other layer counts.
  const layers = { bundled: { mode: 'yolo' as const }, ...makings.authority.layers }
  const authority = createAuthority({ clock, newId, ...makings.authority, layers, tools: rules() })
  const { maxIterations = 0, contextWindowSize } = configOf(definition, instance)
  const provider = providerFor(makings, definition)
  const { skills, mcpConnector } = makings.options
  const agent = createAgent({
    provider,
    name: instance.name ?? definition.name ?? definition.id,
    tools: byName(tools),
    session,
    authority,
    extensions: [extension],
    behavior: { ...definition.behavior, ...(maxIterations > 0 && { maxTurns: maxIterations }) },
    clock,
    newId,
    hooks: engineReports(`agent ${instance.id}`, onError),
    ...(execution && { execution }),
    ...(skills && { skills }),
    ...(mcpConnector && { mcpConnector }),
    ...(definition.mcpServers && { mcpServers: definition.mcpServers }),
  })
  return {
    agent,
    authority,
    retune: () => authority.setToolRules(rules()),
    lacks(name, ofSubAgent) {
      if (!ofSubAgent) return lacksTool(makings, definition, tools, name)
      const other = makings.definition(ofSubAgent.definitionId)
      const { tools: offered } = pluginParts(makings, other, subAgentOf(other.id, instance.id))
      return lacksTool(makings, other, offered, name)
    },
    contextWindow: async (model) => contextWindowSize ?? provider.contextWindow?.(model),
  }
}

/** Throws on plugins that there are not, settings and rules that cannot be meant, and two tools of one name. */
export async function checkParts(makings: WorkflowDependencies, instance: AgentInstance): Promise<void> {
  const definition = makings.definition(instance.definitionId)
  const { tools, approvals } = pluginParts(makings, definition, instance)
  const named = byName(tools)
  const { approval = {}, mcpServers = [], id } = definition
  // A rule that protects nothing because of a slip would not be noticed. What servers offer is not known yet.
  const known = [...Object.keys(named), ...makings.plugins.keys()]
  const lost = Object.keys(approval).find((name) => !known.includes(name))
  if (lost !== undefined && mcpServers.length === 0)
    throw new TypeError(`definition "${id}".approval: it has no tool "${lost}"${didYouMean(lost, known)}`)
  await checkRules(rulesFor(approvals, definition, makings))
}

interface PluginParts {
  readonly extension: Extension
  readonly tools: readonly ToolDef[]
  readonly approvals: Readonly<Record<string, ToolRule>>
}

function pluginParts(
  makings: WorkflowDependencies,
  definition: AgentDefinition,
  instance: AgentInstance,
  views?: LogViews,
): PluginParts {
  const { onError, batchTimeoutMs } = makings
  const { prompts = [], contextWindowSize } = configOf(definition, instance)
  const plugins = pluginsOf(makings, definition, instance)
  const { id, definitionId, name } = instance
  const { extension, tools } = pluginExtension({
    plugins,
    prompts,
    agent: { id, definitionId, ...(name !== undefined && { name }) },
    agentDef: { ...definition },
    resultDuration: resultDurationOf(makings, instance),
    onError,
    ...(views && { views }),
    ...(contextWindowSize !== undefined && { contextWindowSize }),
    ...(batchTimeoutMs !== undefined && { batchTimeoutMs }),
  })
  const { withoutTools = [] } = makings.options
  const offered = tools.filter(({ spec }) => !withoutTools.includes(spec.name))
  return { extension, tools: offered, approvals: approvalsOf(plugins) }
}

/** The plugins of an agent, set up as its configuration says. */
export function pluginsOf(
  makings: WorkflowDependencies,
  definition: AgentDefinition,
  instance: AgentInstance,
): readonly SetUpPlugin[] {
  const { plugins: entries = [] } = configOf(definition, instance)
  const { schedules, ...common } = makings.services(instance.id)
  const services: PluginServices = {
    ...common,
    ...(schedules && mayBeWoken(instance) && { schedules }),
    definitionIds: makings.definitionIds(),
    childOf: (id = definition.id) => childPreset(makings, makings.definition(id), instance.id),
  }
  return setUpPlugins(entries, makings.plugins, services)
}

const subAgentOf = (definitionId: string, parentAgentId: string): AgentInstance => ({
  ...{ id: parentAgentId, definitionId, created: 0, modified: 0 },
  ...{ isSubAgent: true, closed: false },
})

/** A sub-agent: its definition's tools, prompts and rules, under the rules of its parent. */
function childPreset(
  makings: WorkflowDependencies,
  definition: AgentDefinition,
  parentAgentId: string,
): SubAgentPreset {
  const { id: definitionId, name, behavior, config: { maxIterations = 0 } = {} } = definition
  const { extension, tools, approvals } = pluginParts(makings, definition, subAgentOf(definitionId, parentAgentId))
  const marks: Extension = {
    name: 'sub-agent',
    async start(run, hooks) {
      const note = { definitionId, ...(name !== undefined && { name }), isSubAgent: true, parentAgentId }
      const isKnown = run.log.transcript.runs.length > 1
      if (!isKnown) await run.log.append(instanceEntry({ ...note, created: run.clock.now(), closed: false }))
      // What a run ends with is what its parent is told: an answer may be the result of a call.
      hooks.hook('tool:after', ({ result, details, isError }) => {
        if (!isError && marksOf(details).leavesTo === 'end')
          run.result.text = toolResultToText(result) || run.result.text
      })
    },
  }
  return {
    name: name ?? definitionId,
    system: '',
    tools: byName(tools),
    behavior: { ...behavior, ...(maxIterations > 0 && { maxTurns: maxIterations }) },
    extensions: [marks, extension],
    provider: providerFor(makings, definition),
    authority: { mode: 'yolo', tools: rulesFor(approvals, definition, makings) },
    hooks: engineReports(`a sub-agent "${definitionId}" of agent ${parentAgentId}`, makings.onError),
    ...(definition.mcpServers && { mcpServers: definition.mcpServers }),
  }
}

function rulesFor(
  approvals: Readonly<Record<string, ToolRule>>,
  { approval = {} }: AgentDefinition,
  { settings, authority }: WorkflowDependencies,
): Readonly<Record<string, ToolRule>> {
  const rules: Record<string, ToolRule> = { ...approvals }
  for (const layer of [authority.tools ?? {}, approval, settings().approval ?? {}])
    for (const [name, rule] of Object.entries(layer)) rules[name] = joinApprovals(rules[name], rule)
  return rules
}

/** Settings of retries are read with each request; where there are none, nothing is sent twice by us. */
function providerFor({ providerOf, settings, clock }: WorkflowDependencies, definition: AgentDefinition): Provider {
  const { model, textTools } = definition
  const given = providerOf(definition)
  const meta = { ...given.meta, ...(model !== undefined && { defaultModel: model }) }
  const provider = withRetry({ ...plainProvider(given), meta }, () => {
    const { retry } = settings()
    return retry && { clock, ...retry }
  })
  return textTools ? withTextTools(provider) : provider
}

function byName(tools: readonly ToolDef[]): Record<string, ToolDef> {
  const named = new Map<string, ToolDef>()
  for (const tool of tools) {
    const { name } = tool.spec
    if (named.has(name)) throw new TypeError(`two plugins of one agent offer a tool "${name}"; switch one of them off`)
    named.set(name, tool)
  }
  return Object.fromEntries(named)
}
