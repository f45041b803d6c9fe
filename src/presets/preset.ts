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

/** What `createAgent` takes. Only `provider` is required. */
export interface AgentOptions<OutputSchema extends Schema = Schema> {
  readonly provider: Provider
  /** For traces and logs. */
  readonly name?: string
  readonly system?: string
  /** A tool is known by its `spec.name`; the keys do not matter. */
  readonly tools?: Readonly<Record<string, ToolDef | SchemaTool>>
  /** Canonical name → the name the model sees. */
  readonly toolAliases?: Readonly<Record<string, string>>
  readonly session?: Session
  readonly behavior?: Behavior<OutputSchema>
  /** Who may do what. Without it, tools run as the model asks for them. In a child's preset it can only tighten. */
  readonly authority?: Authority | AuthorityOptions
  /** Where tools run. Default: this process and its working directory. */
  readonly execution?: ExecutionContext
  readonly mcpServers?: readonly McpServerConfig[]
  readonly mcpConnector?: McpConnector
  /** Warm up in the background, at once. */
  readonly eager?: boolean
  /** For the life of the agent. */
  readonly hooks?: AgentHookMap
  /** Instructions for certain kinds of work, in folders with a SKILL.md. `{}`: look in the usual places. */
  readonly skills?: SkillsConfig
  /** Features of your own. The built-in ones come after them and have the last word. */
  readonly extensions?: readonly Extension[]
  readonly clock?: Clock
  readonly newId?: () => string
}

/** A reusable slice of options: everything but what a single agent is tied to. */
export type Preset = Partial<
  Omit<AgentOptions, 'provider' | 'execution' | 'session' | 'mcpConnector' | 'clock' | 'newId'>
>

/** Says of an object that it is a preset, and lets TypeScript check it. */
export function definePreset<const P extends Preset>(preset: P): P {
  return preset
}

/** One preset out of several. Spreading would lose hooks; this keeps every handler, in the presets' order. */
export function composePresets(...presets: readonly Preset[]): Preset {
  const composed: { -readonly [Field in keyof Preset]: Preset[Field] } = {}
  for (const preset of presets) {
    const { tools, toolAliases, behavior, mcpServers, hooks, extensions, ...lastWins } = preset
    for (const [field, value] of Object.entries(lastWins))
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
