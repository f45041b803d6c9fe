import type { ChildPreset } from '../core/children.ts'
import type { Clock } from '../core/clock.ts'
import { didYouMean } from '../core/nearest.ts'
import type { Provider } from '../core/provider.ts'
import type { Schema, StandardSchema } from '../core/schema.ts'
import type { JsonSchema, ToolContext, ToolDef } from '../core/tool.ts'
import type { PluginTaps, PostProcessContext, PromptContext, ResponseContext } from './plugin-hooks.ts'
import type { PromptNode } from './prompts/prompt.ts'
import type { ScheduleBook } from './schedule.ts'
import type { TapableHooks } from './tapable-hook.ts'
import type { KnowledgeStore } from './wiki/knowledge-store.ts'
import type { Embed, VectorIndexes } from './wiki/vector-search.ts'

/** A plugin in a definition: which one, and how it is set up. `<toolId>Param` holds its own settings. */
export interface PluginEntry {
  readonly id: string
  readonly toolId: string
  readonly caption?: string
  readonly content?: string
  /** Default true. */
  readonly enabled?: boolean
  /** Settings of an instance do not change this entry. */
  readonly forbidOverrides?: boolean
  /** Rules of the authority for the tools of this plugin. */
  readonly approval?: PluginApproval
  /** The time limit of its tools, for those that have none of their own; 0 means none. */
  readonly timeoutMs?: number
  /** With how many model calls a result is sent; `null` means all. Default 1. */
  readonly toolResultDuration?: number | null
  readonly [param: string]: unknown
}

/** A change of an instance to an entry of its definition, by its `id`; or, with a `toolId`, an entry of its own. */
export type PluginChange = Partial<PluginEntry> & Pick<PluginEntry, 'id'>

/** The same as a tool rule of the authority. */
export interface PluginApproval {
  readonly mode?: 'auto' | 'confirm'
  readonly allowPatterns?: readonly string[]
  readonly denyPatterns?: readonly string[]
  readonly timeoutMs?: number
}

/** What the host offers to plugins. A plugin whose service is missing names it in an error to the model. */
export interface PluginServices {
  /** In a sub-agent, the id of its parent: plugins are set up before it exists. Contexts of hooks have its own id. */
  readonly agentId: string
  readonly clock: Clock
  readonly knowledge?: KnowledgeStore
  /** For the search of pages by meaning; without it wikis are searched by filters only. */
  readonly embed?: Embed
  /** Keeps the vectors of wikis between calls. Without it they are read from their file each time. */
  readonly vectors?: VectorIndexes
  readonly schedules?: ScheduleBook
  /** The preset of a sub-agent; throws on an unknown definition. */
  readonly childOf?: (definitionId: string | undefined) => SubAgentPreset
  /** The definitions that a model may choose for sub-agents. */
  readonly definitionIds?: readonly string[]
}

/** The preset of a sub-agent. With a provider of its own it runs on the model of that provider. */
export interface SubAgentPreset extends ChildPreset {
  readonly provider?: Provider
}

/** How a plugin is set up for one agent. */
export interface PluginSetup<Config = Record<string, unknown>> {
  /** `<toolId>Param`, checked by `configSchema`, defaults filled in where a schema has them. */
  readonly config: Config
  readonly entry: PluginEntry
  readonly services: PluginServices
}

/** A plugin: it adds to prompts, offers tools to the model, and handles answers. It has no state. */
export interface PluginDefinition<Config = Record<string, unknown>> {
  readonly toolId: string
  readonly displayName: string
  readonly description: string
  /** Of `<toolId>Param`. Default: anything. */
  readonly configSchema?: JsonSchema | StandardSchema<Config>
  /** Approval rules for its tools, by name, if an entry has none. Default: none. */
  readonly defaultApproval?: Readonly<Record<string, PluginApproval>>
  /** Tools for the model. The engine runs them after the authority has decided. */
  readonly tools?: (setup: PluginSetup<Config>) => readonly ToolDef[]
  /** Tools in TidGi's form: schemas by name here, and `executeToolCall` in `onResponseComplete`. */
  readonly llmToolSchemas?: Readonly<Record<string, Schema>>
  readonly onProcessPrompts?: (ctx: PromptContext & PromptHelpers & { readonly config: Config }) => unknown
  readonly onFinalizePrompts?: (ctx: PromptContext & PromptHelpers & { readonly config: Config }) => unknown
  /** Called for each call of a tool in `llmToolSchemas` when the engine runs it, and once for a response without any. */
  readonly onResponseComplete?: (ctx: ResponseContext & ResponseHelpers & { readonly config: Config }) => unknown
  readonly onPostProcess?: (ctx: PostProcessContext & PromptHelpers & { readonly config: Config }) => unknown
  /** Registers handlers for any other hook. Called for each execution. */
  readonly register?: (hooks: PluginTaps & TapableHooks, setup: PluginSetup<Config>) => void
}

/** Helpers for handlers that change the prompt tree. */
export interface PromptHelpers {
  findPrompt(id: string): PromptNode | undefined
  /** Inserts a text before, after or into a prompt. False if there is no such prompt. */
  injectContent(options: InjectOptions): boolean
  /** Inserts the list of this plugin's tools, as text. Only needed if the provider does not send tools to the model. */
  injectToolList(options: Omit<InjectOptions, 'content'>): boolean
}

export interface InjectOptions {
  readonly targetId: string
  readonly position: 'before' | 'after' | 'child'
  readonly content: string
  readonly id?: string
  readonly caption?: string
}

/** Helpers for handlers that answer calls. */
export interface ResponseHelpers {
  /** The call to answer; absent if the response has none for this plugin. */
  readonly toolCall?: {
    readonly callId: string
    readonly toolId: string
    readonly parameters: Readonly<Record<string, unknown>>
  }
  readonly allToolCalls: ResponseContext['toolCalls']
  /** Runs `execute` if the call is for that tool, and returns whether it was. A throw becomes an error for the model. */
  executeToolCall(toolId: string, execute: ToolExecutor): Promise<boolean>
  /** The same for any of several tools. */
  executeAllMatchingToolCalls(executors: Readonly<Record<string, ToolExecutor>>): Promise<number>
  /** Sets the result of the call, in place of the return value of an executor. */
  addToolResult(result: ExecutorResult): void
  yieldToSelf(): void
  yieldToHuman(): void
}

export type ToolExecutor = (
  // biome-ignore lint/suspicious/noExplicitAny: the tool's schema says what comes in
  parameters: any,
  ctx: ToolContext,
) => ExecutorResult | string | Promise<ExecutorResult | string>

export interface ExecutorResult {
  readonly success: boolean
  readonly data?: unknown
  readonly error?: string
  readonly metadata?: unknown
  /** With how many model calls it is sent. */
  readonly duration?: number | null
}

/**
 * Checks a plugin, and lets TypeScript infer its settings. The result has no type of settings, so that it fits into lists
 * of plugins.
 */
export function definePlugin<Config = Record<string, unknown>>(plugin: PluginDefinition<Config>): PluginDefinition
export function definePlugin(plugin: PluginDefinition): PluginDefinition {
  const { toolId } = plugin
  if (typeof toolId !== 'string' || !/^[A-Za-z][\w-]{0,63}$/.test(toolId))
    throw new TypeError(
      `a plugin needs a toolId of letters, digits, "-" and "_" that begins with a letter, got ${JSON.stringify(toolId)}`,
    )
  const unknown = Object.keys(plugin).find((name) => !Object.hasOwn(pluginFields, name))
  if (unknown !== undefined)
    throw new TypeError(`plugin "${toolId}" has no field "${unknown}"${didYouMean(unknown, Object.keys(pluginFields))}`)
  for (const name of ['displayName', 'description'] as const)
    if (typeof plugin[name] !== 'string')
      throw new TypeError(`plugin "${toolId}" needs a ${name}, a text for people, got ${JSON.stringify(plugin[name])}`)
  if (plugin.llmToolSchemas && !plugin.onResponseComplete)
    throw new TypeError(
      `plugin "${toolId}" has llmToolSchemas but no onResponseComplete that would run them; add one, or give tools`,
    )
  return plugin
}

const pluginFields: Record<keyof PluginDefinition, true> = {
  toolId: true,
  displayName: true,
  description: true,
  configSchema: true,
  tools: true,
  defaultApproval: true,
  llmToolSchemas: true,
  onProcessPrompts: true,
  onFinalizePrompts: true,
  onResponseComplete: true,
  onPostProcess: true,
  register: true,
}
