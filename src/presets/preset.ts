import type { Authority, AuthorityOptions } from '../authority/authority.ts'
import type { Behavior } from '../core/behavior.ts'
import type { Clock } from '../core/clock.ts'
import type { SchemaTool } from '../core/define-tool.ts'
import type { ExecutionContext } from '../core/execution.ts'
import type { Provider } from '../core/provider.ts'
import type { AgentHookMap, Extension } from '../core/run.ts'
import type { Schema } from '../core/schema.ts'
import type { Session } from '../core/store.ts'
import type { ToolDef } from '../core/tool.ts'
import type { McpServerConfig } from '../mcp/config.ts'
import type { McpConnector } from '../mcp/connections.ts'
import type { SkillsConfig } from '../skills/skill.ts'

/** Options of `createAgent`. Only `provider` is required. */
export interface AgentOptions<OutputSchema extends Schema = Schema> {
  readonly provider: Provider
  /** The name of the agent in traces and logs. */
  readonly name?: string
  readonly system?: string
  /** A tool has the name in its `spec.name`; the keys do not matter. */
  readonly tools?: Readonly<Record<string, ToolDef | SchemaTool>>
  /** Canonical name → name for the model. */
  readonly toolAliases?: Readonly<Record<string, string>>
  readonly session?: Session
  readonly behavior?: Behavior<OutputSchema>
  /** Decides about tool calls. Without it, all calls run. In a child's preset it can only be stricter. */
  readonly authority?: Authority | AuthorityOptions
  /** Where tools run. Default: this process and its working directory. */
  readonly execution?: ExecutionContext
  readonly mcpServers?: readonly McpServerConfig[]
  readonly mcpConnector?: McpConnector
  /** Warm up at once, in the background. */
  readonly eager?: boolean
  /** Handlers for all runs of the agent. */
  readonly hooks?: AgentHookMap
  /** Instructions for certain kinds of work, in folders with a SKILL.md. `{}`: in the usual folders. */
  readonly skills?: SkillsConfig
  /** Features of the embedder. The standard extensions come after them. */
  readonly extensions?: readonly Extension[]
  readonly clock?: Clock
  readonly newId?: () => string
}

/** Reusable options: all except those that belong to a single agent. */
export type Preset = Partial<
  Omit<AgentOptions, 'provider' | 'execution' | 'session' | 'mcpConnector' | 'clock' | 'newId'>
>

/** Declares a preset, so that TypeScript checks it. */
export function definePreset<const P extends Preset>(preset: P): P {
  return preset
}

/** Combines presets. Unlike spreading, it keeps the handlers of all of them, in order. */
export function composePresets(...presets: readonly Preset[]): Preset {
  const composed: { -readonly [Field in keyof Preset]: Preset[Field] } = {}
  for (const preset of presets) {
    const { tools, toolAliases, behavior, mcpServers, hooks, extensions, ...others } = preset
    for (const [field, value] of Object.entries(others))
      if (value !== undefined) Object.assign(composed, { [field]: value })
    if (tools) composed.tools = { ...composed.tools, ...tools }
    if (toolAliases) composed.toolAliases = { ...composed.toolAliases, ...toolAliases }
    if (behavior) composed.behavior = { ...composed.behavior, ...behavior }
    if (extensions) composed.extensions = [...(composed.extensions ?? []), ...extensions]
    if (mcpServers) composed.mcpServers = mergeServers(composed.mcpServers ?? [], mcpServers)
    if (hooks) composed.hooks = mergeHooks(composed.hooks ?? {}, hooks)
  }
  return composed
}

function mergeServers(earlier: readonly McpServerConfig[], later: readonly McpServerConfig[]): McpServerConfig[] {
  return [...earlier.filter(({ name }) => !later.some((server) => server.name === name)), ...later]
}

function mergeHooks(earlier: AgentHookMap, later: AgentHookMap): AgentHookMap {
  const merged: Record<string, unknown[]> = {}
  for (const handlers of [earlier, later])
    for (const [name, handler] of Object.entries(handlers))
      if (handler !== undefined) merged[name] = [...(merged[name] ?? []), ...[handler].flat()]
  return merged as AgentHookMap
}
