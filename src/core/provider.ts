import type { ThinkingLevel } from './thinking.ts'
import type { JsonSchema, ToolSpec } from './tool.ts'
import type { Message, ProviderData, SessionContentBlock, ToolCallBlock, TurnUsage } from './turn.ts'

/** A model behind an API. */
export interface Provider {
  readonly meta: ProviderMeta
  /** Must end with a `reply` event, or throw. Stops when `signal` is aborted. */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>
  /** Says what a failure of `stream` means; `null` when it cannot tell. */
  classifyError?(error: unknown): ClassifiedError | null
  /** What this model can be shown of a conversation; asked before anybody else sees the messages of a request. */
  view?(messages: readonly Message[]): readonly Message[]
  /** The name a model knows a tool by; hooks show it beside the canonical one. */
  displayName?(toolName: string): string
  /** Dollars for so many tokens; `undefined` when nobody knows. A promise only until its price list is loaded. */
  costOf?(model: string, usage: TurnUsage): number | undefined | Promise<number | undefined>
  /** Tokens that fit into a model's context; `undefined` when nobody knows. */
  contextWindow?(model: string): number | undefined | Promise<number | undefined>
}

export interface ProviderMeta {
  readonly name: string
  readonly defaultModel: string
  readonly capabilities?: ProviderCapabilities
}

/** Absent means yes for `vision`, no for the others. */
export interface ProviderCapabilities {
  readonly vision?: boolean
  readonly imageInToolResult?: boolean
  /** Understands `thinking: 'adaptive'`; without it such a request runs without reasoning. */
  readonly adaptiveThinking?: boolean
  /** Calls tools in the text of its answers; see `withTextTools`. */
  readonly textTools?: boolean
  /** Answers in the shape of `outputSchema` by itself; without it an answer's shape is had by forcing a tool. */
  readonly structuredOutput?: boolean | ((model: string) => boolean)
}

/** `rate_limited`, `auth_failed` and `quota_exceeded` are provider errors on which a caller can act. */
export interface ClassifiedError {
  readonly kind: 'context_exceeded' | 'provider_error' | 'rate_limited' | 'auth_failed' | 'quota_exceeded' | 'aborted'
  readonly providerCode?: string
  readonly message?: string
  readonly retryable?: boolean
  /** How long the service asks to wait. */
  readonly retryAfterMs?: number
  /** The service takes offence at the conversation itself: sending it again unchanged is of no use. */
  readonly refused?: Refusal
}

/** What a service will not read; without `message` it did not say what. Indexes are those of the request. */
export interface Refusal {
  readonly message?: number
  readonly block?: number
}

/**
 * Values, never edited in place: equal identity means equal content, so a wire may keep what it made of a message,
 * a tool list or a prompt. `messages` may be the session's own list, which only ever grows: copy it to keep it.
 */
export interface ModelRequest {
  readonly model: string
  readonly system: string
  readonly messages: readonly Message[]
  readonly tools: readonly ToolSpec[]
  /** For the whole output. A wire whose service counts thinking into it makes room for `thinkingBudget`. */
  readonly maxTokens: number
  readonly thinking: ThinkingLevel
  readonly thinkingBudget?: number
  /** The tool that must be called, or that none may be. */
  readonly toolChoice?: { readonly name: string } | 'none'
  /** The shape of the wanted answer, for providers that can enforce one themselves. */
  readonly outputSchema?: JsonSchema
  /** Whether prompt-cache breakpoints are wanted. */
  readonly cache: boolean
  readonly sessionId?: string
  /** Whoever sent it sends it again where it fails: nobody further in does, too. */
  readonly isRetried?: true
}

/** `other` stands for whatever a service says that we do not know. The content decides what happens next, not this. */
export type StopReason = 'end' | 'tool_use' | 'length' | 'refusal' | 'other'

export type ModelEvent =
  /** The service accepted the request. `usage` is what it has counted by then, mostly the prompt. */
  | { readonly type: 'start'; readonly usage?: TurnUsage }
  /** What was streamed so far is void; attempt number `attempt` begins. */
  | { readonly type: 'retry'; readonly attempt: number; readonly reason: string; readonly delayMs?: number }
  | { readonly type: 'oauth_refresh'; readonly expires?: number }
  /** Something of the conversation could not be sent as it is; the log keeps it, the request has it mended. */
  | ({ readonly type: 'repair' } & Repair)
  /** The service is at work on something that is not shown. */
  | { readonly type: 'alive' }
  | { readonly type: 'text'; readonly delta: string }
  | { readonly type: 'thinking'; readonly delta: string }
  | { readonly type: 'tool_start'; readonly id: string; readonly name: string }
  | { readonly type: 'tool_args'; readonly id: string; readonly delta: string }
  | { readonly type: 'tool_end'; readonly id: string }
  | ModelReply

/** An iterator that can hand out what is there already without a promise; services send many events at once. */
export interface EventIterator extends AsyncIterator<ModelEvent> {
  /** The next event, if nobody has to wait for it. */
  take?(): ModelEvent | undefined
}

/** What was changed in a request, and by which rule. `message` and `block` are indexes in the request. */
export interface Repair {
  readonly rule: string
  readonly message: number
  readonly block?: number
  /** The id of the turn that was mended, where it is one of a session. */
  readonly repairedTurnId?: string
  readonly detail?: string
}

/** The whole answer. It counts, not the deltas. */
export interface ModelReply {
  readonly type: 'reply'
  readonly content: readonly (Exclude<SessionContentBlock, ToolCallBlock> | ReplyToolCall)[]
  readonly usage: TurnUsage
  readonly stop: StopReason
}

/** A call as a wire hands it over: `input` is the argument text as received, or an object when the service parsed it. */
export interface ReplyToolCall {
  readonly type: 'tool_call'
  readonly id: string
  readonly name: string
  readonly input: string | Readonly<Record<string, unknown>>
  readonly providerData?: ProviderData
}

/** The same provider as a plain object, for decorators to spread: an instance of a class would lose its methods. */
export function plainProvider(provider: Provider): Provider {
  return {
    meta: provider.meta,
    stream: (request, signal) => provider.stream(request, signal),
    ...(provider.classifyError && { classifyError: (error) => provider.classifyError!(error) }),
    ...(provider.view && { view: (messages) => provider.view!(messages) }),
    ...(provider.displayName && { displayName: (name) => provider.displayName!(name) }),
    ...(provider.costOf && { costOf: (model, usage) => provider.costOf!(model, usage) }),
    ...(provider.contextWindow && { contextWindow: (model) => provider.contextWindow!(model) }),
  }
}

/** The name a model knows a tool by, whatever the provider makes of the question. */
export function shownName(provider: Provider, name: string): string {
  if (!provider.displayName) return name
  try {
    return String(provider.displayName(name))
  } catch {
    return name
  }
}
