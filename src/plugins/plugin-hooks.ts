import { show } from '../core/behavior.ts'
import { isRecord } from '../core/is-record.ts'
import type { Log } from '../core/log.ts'
import type { Message } from '../core/turn.ts'
import type { AgentInstanceLatestStatus, AgentInstanceMessage, UserContent } from './message.ts'
import type { MessageProjection } from './message-projection.ts'
import type { PluginEntry } from './plugin.ts'
import type { PromptNode } from './prompts/prompt.ts'

/** The agent as plugins see it. All state is in here or in the log; a plugin has none of its own. */
export interface AgentFrameworkContext {
  readonly agent: {
    readonly id: string
    readonly definitionId: string
    readonly name?: string
    /** The conversation so far. */
    readonly messages: readonly AgentInstanceMessage[]
    readonly status: AgentInstanceLatestStatus
    /** The last `state` entry of each owner. */
    readonly states: ReadonlyMap<string, unknown>
  }
  readonly agentDef: { readonly id: string; readonly [field: string]: unknown }
  isCancelled(): boolean
}

/** What a plugin asks for; of several plugins the last one counts. */
export interface PluginActions {
  /** `self`: another round at once. `human`: wait for a person. `agent:<id>` is reserved. Default: done. */
  yieldNextRoundTo?: 'self' | 'human' | `agent:${string}`
  /** A message to the model for the next round. */
  newUserMessage?: string
  /** The calls that are about to run. */
  toolCalling?: readonly { readonly toolId: string; readonly parameters: Readonly<Record<string, unknown>> }[]
}

interface HookContext {
  readonly agentFrameworkContext: AgentFrameworkContext
  /** For this execution; plugins may exchange data here. */
  readonly metadata: Record<string, unknown>
  readonly actions: PluginActions
}

/** The configuration entry of the plugin whose handler is called; set for each handler. */
interface OfPlugin {
  readonly toolConfig: PluginEntry
  readonly pluginIndex: number
}

export interface PromptContext extends HookContext, OfPlugin {
  /** The messages of the conversation that would be sent. */
  readonly messages: readonly Message[]
  /** The tree. Change it in place, or return a context with another one. */
  prompts: PromptNode[]
}

export interface PostProcessContext extends PromptContext {
  readonly llmResponse: string
  /** The parts of the response to show. */
  responses: readonly { readonly id: string; readonly text: string; readonly [field: string]: unknown }[]
}

export interface AIResponse {
  readonly requestId: string
  readonly content: string
  readonly status: 'start' | 'update' | 'done' | 'error' | 'cancel'
  readonly errorDetail?: { readonly name: string; readonly message: string; readonly code?: string }
}

export interface ResponseContext extends HookContext, OfPlugin {
  readonly response: AIResponse
  readonly requestId: string
  readonly isFinal: boolean
  /** Its calls, native or in text. */
  readonly toolCalls: readonly {
    readonly callId: string
    readonly toolId: string
    readonly parameters: Readonly<Record<string, unknown>>
  }[]
  /** The model asked for them to run in parallel. */
  readonly isParallel: boolean
}

export interface PluginHookContexts {
  processPrompts: PromptContext
  finalizePrompts: PromptContext
  postProcess: PostProcessContext
  userMessageReceived: HookContext &
    OfPlugin & { readonly content: UserContent; readonly messageId: string; readonly timestamp: number }
  agentStatusChanged: HookContext & OfPlugin & { readonly status: AgentInstanceLatestStatus }
  responseUpdate: ResponseContext
  responseComplete: ResponseContext
  toolExecuted: HookContext &
    OfPlugin & {
      readonly toolResult: {
        readonly success: boolean
        readonly data?: unknown
        readonly error?: string
        readonly metadata?: unknown
      }
      readonly toolInfo: {
        readonly toolId: string
        readonly parameters: Readonly<Record<string, unknown>>
        readonly callId: string
      }
      readonly requestId: string
    }
}

export type PluginHookName = keyof PluginHookContexts
/** The hooks in which each handler gets the context that the one before it returned. */
export const waterfallNames = ['processPrompts', 'finalizePrompts', 'postProcess'] as const
export type WaterfallName = (typeof waterfallNames)[number]
export type SeriesName = Exclude<PluginHookName, WaterfallName>

/** The context of a hook without the fields about the plugin, which are set for each handler. */
export type Shared<Name extends PluginHookName> = Omit<PluginHookContexts[Name], keyof OfPlugin>

type PluginHandler<Name extends PluginHookName> = (
  ctx: PluginHookContexts[Name],
) => PluginHookContexts[Name] | void | Promise<PluginHookContexts[Name] | void>

interface Tap {
  readonly owner: OfPlugin
  // biome-ignore lint/suspicious/noExplicitAny: checked where it is tapped and where it is called
  readonly handler: (ctx: any) => any
}

/** With this a plugin registers its handlers. */
export interface PluginTaps {
  tap<Name extends PluginHookName>(name: Name, handler: PluginHandler<Name>): void
}

export const pluginHookNames: readonly PluginHookName[] = [
  'processPrompts',
  'finalizePrompts',
  'postProcess',
  'userMessageReceived',
  'agentStatusChanged',
  'responseUpdate',
  'responseComplete',
  'toolExecuted',
]

/** The hooks of one execution, created for it. */
export class PluginHooks {
  readonly #taps = new Map<PluginHookName, Tap[]>()
  readonly #onError: (error: unknown, details: { readonly hook: PluginHookName; readonly plugin: string }) => void

  constructor(onError: (error: unknown, details: { readonly hook: PluginHookName; readonly plugin: string }) => void) {
    this.#onError = onError
  }

  tapsOf(toolConfig: PluginEntry, pluginIndex: number): PluginTaps {
    const owner = { toolConfig, pluginIndex }
    return {
      tap: (name, handler) => {
        if (!pluginHookNames.includes(name))
          throw new TypeError(
            `plugin "${toolConfig.toolId}": there is no hook "${String(name)}"; there are ${pluginHookNames.join(', ')}`,
          )
        const taps = this.#taps.get(name) ?? []
        taps.push({ owner, handler })
        this.#taps.set(name, taps)
      },
    }
  }

  has(name: PluginHookName): boolean {
    return this.#taps.has(name)
  }

  /** Calls one handler after the other. A handler that fails is reported, and the rest continue. */
  async series<Name extends SeriesName>(name: Name, shared: Shared<Name>): Promise<void> {
    for (const { owner, handler } of this.#taps.get(name) ?? [])
      await this.#call(name, owner, shared.actions, async () => handler({ ...shared, ...owner }))
  }

  async #call(
    hook: PluginHookName,
    { toolConfig: { toolId: plugin } }: OfPlugin,
    actions: PluginActions,
    handle: () => Promise<unknown>,
  ): Promise<void> {
    const { yieldNextRoundTo: before } = actions
    try {
      await handle()
    } catch (error) {
      this.#onError(error, { hook, plugin })
    }
    const isOurs = actions.yieldNextRoundTo !== before
    const problem = isOurs ? resetInvalidYield(actions, before) : undefined
    if (problem) this.#onError(problem, { hook, plugin })
  }

  /** Passes the context from handler to handler, and yields after each. Changes of a failing handler are dropped. */
  async *waterfall<Name extends WaterfallName>(
    name: Name,
    shared: Shared<Name>,
  ): AsyncGenerator<{
    readonly value: Shared<Name>
    readonly plugin: string
    readonly done: number
    readonly of: number
  }> {
    const taps = this.#taps.get(name) ?? []
    let value = shared
    for (const [i, { owner, handler }] of taps.entries()) {
      // A copy of the tree, so that changes of a failing handler can be dropped.
      const own = { ...value, prompts: copyTree(value.prompts), ...owner }
      const { agentFrameworkContext, metadata, actions } = shared
      await this.#call(name, owner, actions, async () => {
        const { prompts, messages, ...rest } = { ...own, ...(await handler(own)) }
        if (!Array.isArray(messages)) throw new TypeError(`it left no list of messages, but ${show(messages)}`)
        value = {
          ...rest,
          agentFrameworkContext,
          metadata,
          actions,
          messages,
          prompts: copyTree(prompts),
        } as Shared<Name>
      })
      yield { value, plugin: owner.toolConfig.toolId, done: i + 1, of: taps.length }
    }
  }
}

/** Deeper trees are refused, as walking them could overflow the stack. */
export const maxPromptDepth = 100

/** Copies the nodes, but not the messages in them. Throws on a value that is no tree, as plugins may return anything. */
export function copyTree(nodes: readonly PromptNode[], depth = 1): PromptNode[] {
  if (!Array.isArray(nodes)) throw new TypeError(`prompts must be a list, got ${show(nodes)}`)
  if (depth > maxPromptDepth)
    throw new TypeError(`prompts are more than ${maxPromptDepth} levels deep; is a piece inside itself?`)
  return nodes.map((node) => {
    const isNode: boolean = isRecord(node)
    if (!isNode) throw new TypeError(`a prompt must be an object such as { id, text }, got ${show(node)}`)
    if (node.history !== undefined && !Array.isArray(node.history))
      throw new TypeError(`prompt ${show(node.id)}: history must be a list of messages, got ${show(node.history)}`)
    return { ...node, ...(node.children && { children: copyTree(node.children, depth + 1) }) }
  })
}

export type AgentName = Pick<AgentFrameworkContext['agent'], 'id' | 'definitionId' | 'name'>

/** An agent as plugins and handlers see it; its getters return the current state. */
export function agentView(
  { id, definitionId, name }: AgentName,
  projection: MessageProjection,
  log: Pick<Log, 'transcript'>,
): AgentFrameworkContext['agent'] {
  return {
    id,
    definitionId,
    ...(name !== undefined && { name }),
    get messages() {
      return projection.messages
    },
    get status() {
      return projection.status
    },
    get states() {
      return log.transcript.states
    },
  }
}

/** Resets an invalid `yieldNextRoundTo` to its value `before`, and returns an error about it. */
export function resetInvalidYield(
  actions: PluginActions,
  before?: PluginActions['yieldNextRoundTo'],
): TypeError | undefined {
  const { yieldNextRoundTo: to } = actions
  if (to === undefined || to === 'self' || to === 'human') return undefined
  // With Reflect, as a plugin may have frozen the actions: then there is only the error.
  if (before === undefined) Reflect.deleteProperty(actions, 'yieldNextRoundTo')
  else Reflect.set(actions, 'yieldNextRoundTo', before)
  const reserved = typeof to === 'string' && to.startsWith('agent:') ? '; agent:<id> is reserved for later' : ''
  return new TypeError(
    `actions.yieldNextRoundTo must be "self" or "human", got ${show(to)}, which does not count${reserved}`,
  )
}
