import type { Clock } from '../core/clock.ts'
import type { ChildPreset } from '../core/fork.ts'
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
  /** Time limit for its tools, where they have none of their own; 0 means none. */
  readonly timeoutMs?: number
  /** How many model calls a result is sent with; `null` means all. Default 1. */
  readonly toolResultDuration?: number | null
  readonly [param: string]: unknown
}

/** What an instance changes of an entry of its definition, by its `id`; or, with a `toolId`, an entry of its own. */
export type PluginChange = Partial<PluginEntry> & Pick<PluginEntry, 'id'>

/** What the authority calls a tool rule. */
export interface PluginApproval {
  readonly mode?: 'auto' | 'confirm'
  readonly allowPatterns?: readonly string[]
  readonly denyPatterns?: readonly string[]
  readonly timeoutMs?: number
}

/** What plugins may use of their host. A plugin whose service is not there says so to the model, by name. */
export interface PluginServices {
  /** In a sub-agent, that of the agent above it: plugins are set up before it is there. Contexts of hooks have its own. */
  readonly agentId: string
  readonly clock: Clock
  readonly knowledge?: KnowledgeStore
  /** What finds pages by their meaning; without it wikis are searched by filters alone. */
  readonly embed?: Embed
  /** Keeps the vectors of wikis from call to call. Without it they are read from their file each time. */
  readonly vectors?: VectorIndexes
  readonly schedules?: ScheduleBook
  /** What a sub-agent is made of; throws where there is no such definition. */
  readonly childOf?: (definitionId: string | undefined) => SubAgentPreset
  /** Definitions that may be named as sub-agents. */
  readonly definitionIds?: readonly string[]
}

/** A sub-agent's own parts. With a provider of its own it runs on that one's model. */
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

/** A plugin: what it adds to prompts, what it lets the model call, what it does with answers. It keeps no state. */
export interface PluginDefinition<Config = Record<string, unknown>> {
  readonly toolId: string
  readonly displayName: string
  readonly description: string
  /** Of `<toolId>Param`. Default: anything. */
  readonly configSchema?: JsonSchema | StandardSchema<Config>
  /** What holds for its tools, by name, where an entry says nothing about approval. Default: nothing. */
  readonly defaultApproval?: Readonly<Record<string, PluginApproval>>
  /** What the model may call. The engine runs it, after the authority has had its say. */
  readonly tools?: (setup: PluginSetup<Config>) => readonly ToolDef[]
  /** The older way: schemas by name here, and `executeToolCall` in `onResponseComplete`. */
  readonly llmToolSchemas?: Readonly<Record<string, Schema>>
  readonly onProcessPrompts?: (ctx: PromptContext & PromptHelpers & { readonly config: Config }) => unknown
  readonly onFinalizePrompts?: (ctx: PromptContext & PromptHelpers & { readonly config: Config }) => unknown
  /** Called once for each call of a tool in `llmToolSchemas`, when the engine runs it; and once for a response without any. */
  readonly onResponseComplete?: (ctx: ResponseContext & ResponseHelpers & { readonly config: Config }) => unknown
  readonly onPostProcess?: (ctx: PostProcessContext & PromptHelpers & { readonly config: Config }) => unknown
  /** Any other moment. Called for each execution anew. */
  readonly register?: (hooks: PluginTaps & TapableHooks, setup: PluginSetup<Config>) => void
}

/** For handlers that work on the tree. */
export interface PromptHelpers {
  findPrompt(id: string): PromptNode | undefined
  /** Puts a text before, after or into a piece. False where there is no such piece. */
  injectContent(options: InjectOptions): boolean
  /** The same with the list of this plugin's tools, as text. Only needed where no provider tells the model of tools. */
  injectToolList(options: Omit<InjectOptions, 'content'>): boolean
}

export interface InjectOptions {
  readonly targetId: string
  readonly position: 'before' | 'after' | 'child'
  readonly content: string
  readonly id?: string
  readonly caption?: string
}

/** For handlers that answer calls. */
export interface ResponseHelpers {
  /** The call that is to be answered now; absent where the response has none for this plugin. */
  readonly toolCall?: {
    readonly callId: string
    readonly toolId: string
    readonly parameters: Readonly<Record<string, unknown>>
  }
  readonly allToolCalls: ResponseContext['toolCalls']
  /** Runs `execute` if the call is for that tool. True if it was. A throw becomes an error that the model reads. */
  executeToolCall(toolId: string, execute: ToolExecutor): Promise<boolean>
  /** The same for any of several tools. */
  executeAllMatchingToolCalls(executors: Readonly<Record<string, ToolExecutor>>): Promise<number>
  /** The result of the call, in place of what an executor returns. */
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
  /** How many model calls it is sent with. */
  readonly duration?: number | null
}

/**
 * Says of an object that it is a plugin, checks it, and lets TypeScript infer its settings. What comes back goes into
 * lists of plugins, whose settings are only known by their schemas.
 */
export function definePlugin<Config = Record<string, unknown>>(plugin: PluginDefinition<Config>): PluginDefinition {
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
      throw new TypeError(
        `plugin "${toolId}" needs a ${name}, a text that tells people of it, got ${JSON.stringify(plugin[name])}`,
      )
  if (plugin.llmToolSchemas && !plugin.onResponseComplete)
    throw new TypeError(
      `plugin "${toolId}" has llmToolSchemas but no onResponseComplete that would run them; add one, or give tools`,
    )
  return plugin as unknown as PluginDefinition
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
