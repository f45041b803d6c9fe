import type { Authority } from '../../authority/authority.ts'
import type { ToolRule } from '../../authority/rules/settings.ts'
import { messageOf } from '../../core/errors.ts'
import { didYouMean } from '../../core/nearest.ts'
import { type Provider, plainProvider } from '../../core/provider.ts'
import type { AgentHookMap, Extension } from '../../core/run.ts'
import type { Session } from '../../core/store.ts'
import type { ToolDef } from '../../core/tool.ts'
import { toolResultToText } from '../../core/tool-output.ts'
import { createAgent, type LiberoAgent } from '../../create-agent.ts'
import { toolSearchName } from '../../extensions/disclosure/lazy-tool.ts'
import { AgentClosedError } from '../../mcp/agent-closed-error.ts'
import { pluginExtension } from '../../plugins/extension.ts'
import type { LogViews } from '../../plugins/log-views.ts'
import type { PluginServices, SubAgentPreset } from '../../plugins/plugin.ts'
import { approvalsOf, joinApprovals, type SetUpPlugin, setUpPlugins, toolNamesOf } from '../../plugins/plugin-set.ts'
import { withTextTools } from '../../plugins/text-tools/with-text-tools.ts'
import { marksOf } from '../../plugins/tool-marks.ts'
import { withRetry } from '../../providers/retry.ts'
import { instanceEntry } from '../agent-instance.ts'
import { type AgentSettings, settingsOf } from '../agent-settings.ts'
import { checkRules } from '../check-options.ts'
import { type AgentDefinition, type AgentInstance, configOf, resultDurationOf } from '../definitions/definition.ts'
import { mayBeWoken } from '../schedules/agent-schedules.ts'
import type { WorkflowDependencies } from '../workflow-contract.ts'

/** The engine of one agent, and the authority that decides about its calls. */
export interface Engine {
  readonly agent: LiberoAgent
  readonly authority: Authority
  /** Applies the current settings, and the rules that the agent has now. A tool that it no longer has keeps its rule. */
  updateRules(instance: AgentInstance): void
  /** Whether the agent, or a sub-agent of a definition, certainly has no such tool. */
  lacksTool(toolName: string, subAgent?: { readonly definitionId: string }): boolean
  /** In tokens: by the definition, else by the provider. */
  contextWindow(model: string): Promise<number | undefined>
}

/** Creates the engine of an agent from its definition. */
export async function makeEngine(
  dependencies: WorkflowDependencies,
  instance: AgentInstance,
  session: Session,
  views: LogViews,
): Promise<Engine> {
  const { clock, newId, execution, onError } = dependencies
  const definition = dependencies.definition(instance.definitionId)
  const { extension, tools, approvals } = pluginParts(dependencies, definition, instance, views)
  const { createAuthority } = await import('../../authority/authority.ts')
  // The default of workflows is the weakest layer, so that a mode in any other layer counts.
  const layers = { bundled: { mode: 'yolo' as const }, ...dependencies.authority.layers }
  const authority = createAuthority({
    clock,
    newId,
    ...dependencies.authority,
    layers,
    tools: rulesFor(approvals, definition, dependencies),
  })
  const { maxIterations = 0, contextWindowSize } = configOf(definition, instance)
  const provider = providerFor(dependencies, definition)
  const { skills, mcpConnector, extensions = [] } = dependencies.options
  const agent = createAgent({
    provider,
    name: instance.name ?? definition.name ?? definition.id,
    tools: byName(tools),
    session,
    authority,
    extensions: [...extensions, extension],
    behavior: { ...definition.behavior, ...(maxIterations > 0 && { maxTurns: maxIterations }) },
    clock,
    newId,
    hooks: errorHooks(`agent ${instance.id}`, onError),
    ...(execution && { execution }),
    ...(skills && { skills }),
    ...(mcpConnector && { mcpConnector }),
    ...(definition.mcpServers && { mcpServers: definition.mcpServers }),
  })
  return {
    agent,
    authority,
    updateRules(current) {
      const now = approvalsOf(pluginsOf(dependencies, definition, current))
      authority.setToolRules(rulesFor({ ...approvals, ...now }, definition, dependencies))
    },
    lacksTool(name, subAgent) {
      if (!subAgent) return lacksTool(dependencies, definition, tools, name)
      const other = dependencies.definition(subAgent.definitionId)
      const { tools: offered } = pluginParts(dependencies, other, subAgentOf(other.id, instance.id))
      return lacksTool(dependencies, other, offered, name)
    },
    contextWindow: async (model) => contextWindowSize ?? provider.contextWindow?.(model),
  }
}

/** Throws on unknown plugins, on invalid settings and rules, and on two tools of one name. */
export async function checkAgent(dependencies: WorkflowDependencies, instance: AgentInstance): Promise<void> {
  const definition = dependencies.definition(instance.definitionId)
  const { tools, approvals } = pluginParts(dependencies, definition, instance)
  const named = byName(tools)
  const { approval = {}, mcpServers = [], id } = definition
  // A rule with a misspelt name would protect nothing, unnoticed. The tools of servers are not known yet.
  const known = [...Object.keys(named), ...dependencies.plugins.keys()]
  const lost = Object.keys(approval).find((name) => !known.includes(name))
  if (lost !== undefined && mcpServers.length === 0)
    throw new TypeError(`definition "${id}".approval: it has no tool "${lost}"${didYouMean(lost, known)}`)
  await checkRules(rulesFor(approvals, definition, dependencies))
}

/** The settings of an agent, with the rules that count for its tools. */
export function agentSettings(dependencies: WorkflowDependencies, instance: AgentInstance): AgentSettings {
  const definition = dependencies.definition(instance.definitionId)
  const plugins = pluginsOf(dependencies, definition, instance)
  const rules = rulesFor(approvalsOf(plugins), definition, dependencies)
  return settingsOf(definition, instance, (entryId) => {
    const found = plugins.find(({ setup }) => setup.entry.id === entryId)
    const names = found ? toolNamesOf(found) : []
    return names.map((name) => ({ name, ...(rules[name] && { rule: rules[name] }) }))
  })
}

interface PluginParts {
  readonly extension: Extension
  readonly tools: readonly ToolDef[]
  readonly approvals: Readonly<Record<string, ToolRule>>
}

function pluginParts(
  dependencies: WorkflowDependencies,
  definition: AgentDefinition,
  instance: AgentInstance,
  views?: LogViews,
): PluginParts {
  const { onError, batchTimeoutMs } = dependencies
  const { prompts = [], contextWindowSize } = configOf(definition, instance)
  const plugins = pluginsOf(dependencies, definition, instance)
  const { id, definitionId, name } = instance
  const { extension, tools } = pluginExtension({
    plugins,
    prompts,
    agent: { id, definitionId, ...(name !== undefined && { name }) },
    agentDef: { ...definition },
    resultDuration: resultDurationOf(dependencies, instance),
    onError,
    ...(views && { views }),
    ...(contextWindowSize !== undefined && { contextWindowSize }),
    ...(batchTimeoutMs !== undefined && { batchTimeoutMs }),
  })
  const { withoutTools = [] } = dependencies.options
  const offered = tools.filter(({ spec }) => !withoutTools.includes(spec.name))
  return { extension, tools: offered, approvals: approvalsOf(plugins) }
}

/** The plugins of an agent, set up by its configuration. */
export function pluginsOf(
  dependencies: WorkflowDependencies,
  definition: AgentDefinition,
  instance: AgentInstance,
): readonly SetUpPlugin[] {
  const { plugins: entries = [] } = configOf(definition, instance)
  const { schedules, ...common } = dependencies.services(instance.id)
  const services: PluginServices = {
    ...common,
    ...(schedules && mayBeWoken(instance) && { schedules }),
    definitionIds: dependencies.definitionIds(),
    childOf: (id = definition.id) => childPreset(dependencies, dependencies.definition(id), instance.id),
  }
  return setUpPlugins(entries, dependencies.plugins, services)
}

const subAgentOf = (definitionId: string, parentAgentId: string): AgentInstance => ({
  ...{ id: parentAgentId, definitionId, created: 0, modified: 0 },
  ...{ isSubAgent: true, closed: false },
})

/** A sub-agent: the tools, prompts and rules of its definition, under the rules of its parent. */
function childPreset(
  dependencies: WorkflowDependencies,
  definition: AgentDefinition,
  parentAgentId: string,
): SubAgentPreset {
  const { id: definitionId, name, behavior, config: { maxIterations = 0 } = {} } = definition
  const { extension, tools, approvals } = pluginParts(dependencies, definition, subAgentOf(definitionId, parentAgentId))
  const marks: Extension = {
    name: 'sub-agent',
    async start(run, hooks) {
      const note = { definitionId, ...(name !== undefined && { name }), isSubAgent: true, parentAgentId }
      const isKnown = run.log.transcript.runs.length > 1
      if (!isKnown) await run.log.append(instanceEntry({ ...note, created: run.clock.now(), closed: false }))
      // The parent receives the final text of the run, which may be the result of a call.
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
    extensions: [...sharedExtensions(dependencies), marks, extension],
    provider: providerFor(dependencies, definition),
    authority: { mode: 'yolo', tools: rulesFor(approvals, definition, dependencies) },
    hooks: errorHooks(`a sub-agent "${definitionId}" of agent ${parentAgentId}`, dependencies.onError),
    ...(definition.mcpServers && { mcpServers: definition.mcpServers }),
  }
}

/** The extensions that a sub-agent shares with its parent, which warms them up and disposes of them. */
const sharedExtensions = ({ options: { extensions = [] } }: WorkflowDependencies): Extension[] =>
  extensions.map((one) => ({ name: one.name, start: (run, hooks) => one.start?.(run, hooks) }))

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

/** Reads the retry settings with each request; without them a request is sent once. */
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

/**
 * Whether an agent certainly has no tool of that name, given those of its plugins. False if unknown: the tools of servers,
 * of the stages of an authority and of the engine itself are only known in a run.
 */
export function lacksTool(
  { authority }: Pick<WorkflowDependencies, 'authority'>,
  { mcpServers = [] }: Pick<AgentDefinition, 'mcpServers'>,
  tools: readonly Pick<ToolDef, 'spec'>[],
  name: string,
): boolean {
  if (tools.some(({ spec }) => spec.name === name)) return false
  const isOfServer = mcpServers.length > 0 && name.startsWith('mcp_')
  return !isOfServer && authority.stateMachine === undefined && name !== toolSearchName
}

/** Reports errors that do not end a run. */
function errorHooks(agent: string, onError: (error: Error) => void): AgentHookMap {
  return {
    'hook:error': ({ hook, error }) => onError(new Error(`a handler of "${hook}" failed`, { cause: error })),
    'mcp:error': ({ name, error }) => {
      if (error instanceof AgentClosedError) return
      onError(new Error(`${agent}: its MCP server "${name}" failed: ${messageOf(error)}`, { cause: error }))
    },
  }
}

/** The engine of an agent, created on first use, and again after it was released. */
export class LazyEngine {
  readonly #make: () => Promise<Engine>
  #engine: Promise<Engine> | undefined

  constructor(make: () => Promise<Engine>) {
    this.#make = make
  }

  load(): Promise<Engine> {
    if (this.#engine) return this.#engine
    const loading = this.#make().catch((error) => {
      if (this.#engine === loading) this.#engine = undefined // the next call tries again
      throw error
    })
    this.#engine = loading
    return loading
  }

  /** Applies the current settings to an engine that is loaded. */
  async updateRules(instance: AgentInstance): Promise<void> {
    const engine = await this.#engine?.catch(() => undefined)
    engine?.updateRules(instance)
  }

  /** Closes the engine with its servers and threads. */
  async release(): Promise<void> {
    const loading = this.#engine
    this.#engine = undefined
    const engine = await loading?.catch(() => undefined)
    await engine?.agent.destroy()
    await engine?.authority.close()
  }
}
