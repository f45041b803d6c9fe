import type { ThinkingLevel } from './thinking.ts'
import type { JsonSchema, ToolSpec } from './tool.ts'
import type { Message, ProviderData, SessionContentBlock, ToolCallBlock, TurnUsage } from './turn.ts'

/** A model behind an API. */
export interface Provider {
  readonly meta: ProviderMeta
  /** Must end with a `reply` event or throw. Must end when `signal` aborts. */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>
  /** Classifies an error of `stream`; `null` for unknown errors. */
  classifyError?(error: unknown): ClassifiedError | null
  /** Adapts a conversation to what the model can read. Called before any hook sees the messages of a request. */
  view?(messages: readonly Message[]): readonly Message[]
  /** The name by which the model knows a tool. */
  displayName?(toolName: string): string
  /** The price in dollars; `undefined` if unknown. Returns a promise only until its price list is loaded. */
  costOf?(model: string, usage: TurnUsage): number | undefined | Promise<number | undefined>
  /** The size of the model's context in tokens; `undefined` if unknown. */
  contextWindow?(model: string): number | undefined | Promise<number | undefined>
}

export interface ProviderMeta {
  readonly name: string
  readonly defaultModel: string
  readonly capabilities?: ProviderCapabilities
}

/** The default is true for `vision` and false for the others. */
export interface ProviderCapabilities {
  readonly vision?: boolean
  readonly imageInToolResult?: boolean
  /** Understands `thinking: 'adaptive'`; without it such a request runs without reasoning. */
  readonly adaptiveThinking?: boolean
  /** Calls tools in the text of its answers; see `withTextTools`. */
  readonly textTools?: boolean
  /** Enforces `outputSchema` itself. Without it, a structured answer is requested through a forced tool call. */
  readonly structuredOutput?: boolean | ((model: string) => boolean)
}

/** `rate_limited`, `auth_failed` and `quota_exceeded` are provider errors that a caller can act on. */
export interface ClassifiedError {
  readonly kind: 'context_exceeded' | 'provider_error' | 'rate_limited' | 'auth_failed' | 'quota_exceeded' | 'aborted'
  readonly providerCode?: string
  readonly message?: string
  readonly retryable?: boolean
  /** How long the service asks to wait. */
  readonly retryAfterMs?: number
  /** The service refuses the conversation itself: sending it again unchanged is useless. */
  readonly refused?: Refusal
}

/** What a service refuses, as indexes in the request; without `message` the service did not name it. */
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
  /** For the whole output. If a service counts thinking into it, the wire adds `thinkingBudget`. */
  readonly maxTokens: number
  readonly thinking: ThinkingLevel
  readonly thinkingBudget?: number
  /** A tool that must be called, or `none` if no tool may be. */
  readonly toolChoice?: { readonly name: string } | 'none'
  /** The schema of the answer, for providers that can enforce one. */
  readonly outputSchema?: JsonSchema
  /** Whether to set breakpoints for the prompt cache. */
  readonly cache: boolean
  readonly sessionId?: string
  /** The caller retries failures of this request: inner providers must not. */
  readonly callerRetries?: true
}

/** `other` stands for unknown reasons. What happens next depends on the content, not on this. */
export type StopReason = 'end' | 'tool_use' | 'length' | 'refusal' | 'other'

export type ModelEvent =
  /** The service accepted the request. `usage` is what it has counted so far, usually the prompt. */
  | { readonly type: 'start'; readonly usage?: TurnUsage }
  /** Everything streamed so far is void; attempt number `attempt` begins. `code` is the service's own for what failed. */
  | {
      readonly type: 'retry'
      readonly attempt: number
      readonly reason: string
      readonly code?: string
      readonly delayMs?: number
    }
  | { readonly type: 'oauth_refresh'; readonly expires?: number }
  /** A part of the conversation could not be sent as it is; the request has a repaired copy. */
  | ({ readonly type: 'repair' } & Repair)
  /** The service is working on something that it does not stream. */
  | { readonly type: 'alive' }
  | { readonly type: 'text'; readonly delta: string }
  | { readonly type: 'thinking'; readonly delta: string }
  | { readonly type: 'tool_start'; readonly id: string; readonly name: string }
  | { readonly type: 'tool_args'; readonly id: string; readonly delta: string }
  | { readonly type: 'tool_end'; readonly id: string }
  | ModelReply

/** An iterator that can return available events without a promise: services send many events at once. */
export interface EventIterator extends AsyncIterator<ModelEvent> {
  /** The next event, if it is available. */
  take?(): ModelEvent | undefined
}

/** A change to a request, and the rule that made it. `message` and `block` are indexes in the request. */
export interface Repair {
  readonly rule: string
  readonly message: number
  readonly block?: number
  /** The id of the repaired turn, if the message is a turn of a session. */
  readonly repairedTurnId?: string
  readonly detail?: string
}

/** The complete reply. It counts, not the deltas. */
export interface ModelReply {
  readonly type: 'reply'
  readonly content: readonly (Exclude<SessionContentBlock, ToolCallBlock> | ReplyToolCall)[]
  readonly usage: TurnUsage
  readonly stop: StopReason
  /** The service's own id of the reply, for traces and for the support of the service. It is not logged. */
  readonly responseId?: string
}

/** A call in a reply. `input` is the argument text as received, or an object if the service parsed it. */
export interface ReplyToolCall {
  readonly type: 'tool_call'
  readonly id: string
  readonly name: string
  readonly input: string | Readonly<Record<string, unknown>>
  readonly providerData?: ProviderData
}

/** The provider as a plain object that decorators can spread: spreading an instance of a class loses its methods. */
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

/** The name by which the model knows a tool; the canonical name if `displayName` throws. */
export function nameForModel(provider: Provider, name: string): string {
  if (!provider.displayName) return name
  try {
    return String(provider.displayName(name))
  } catch {
    return name
  }
}
