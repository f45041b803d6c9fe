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
}

export interface ClassifiedError {
  readonly kind: 'context_exceeded' | 'provider_error' | 'aborted'
  readonly providerCode?: string
  readonly message?: string
  readonly retryable?: boolean
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
  /** The tool that must be called. */
  readonly toolChoice?: { readonly name: string }
  /** The shape of the wanted answer, for providers that can enforce one themselves. */
  readonly outputSchema?: JsonSchema
  /** Whether prompt-cache breakpoints are wanted. */
  readonly cache: boolean
  readonly sessionId?: string
}

/** `other` stands for whatever a service says that we do not know. The content decides what happens next, not this. */
export type StopReason = 'end' | 'tool_use' | 'length' | 'refusal' | 'other'

export type ModelEvent =
  /** The service accepted the request. */
  | { readonly type: 'start' }
  /** What was streamed so far is void; attempt number `attempt` begins. */
  | { readonly type: 'retry'; readonly attempt: number; readonly reason: string; readonly delayMs?: number }
  | { readonly type: 'oauth_refresh'; readonly expires?: number }
  | { readonly type: 'text'; readonly delta: string }
  | { readonly type: 'thinking'; readonly delta: string }
  | { readonly type: 'tool_start'; readonly id: string; readonly name: string }
  | { readonly type: 'tool_args'; readonly id: string; readonly delta: string }
  | { readonly type: 'tool_end'; readonly id: string }
  | ModelReply

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
