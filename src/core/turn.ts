import type { Meta } from './meta.ts'

/** The content of turns. A committed turn is deeply frozen, so its identity may serve as a cache key. */
export type SessionContentBlock =
  | TextBlock
  | ImageBlock
  | DocumentBlock
  | ThinkingBlock
  | ToolCallBlock
  | ToolResultBlock

/** Data that a provider must get back unchanged with its own blocks: signatures, ids, encrypted reasoning. */
export type ProviderData = Readonly<Record<string, unknown>>

export interface TextBlock {
  readonly type: 'text'
  readonly text: string
  readonly providerData?: ProviderData
}

/** `data` is base64. */
export interface ImageBlock {
  readonly type: 'image'
  readonly mediaType: string
  readonly data: string
}

/** `data` is base64. */
export interface DocumentBlock {
  readonly type: 'document'
  readonly mediaType: string
  readonly data: string
  readonly name?: string
}

export interface ThinkingBlock {
  readonly type: 'thinking'
  readonly text: string
  readonly signature?: string
  readonly providerData?: ProviderData
}

export interface ToolCallBlock {
  readonly type: 'tool_call'
  readonly id: string
  readonly name: string
  readonly input: Record<string, unknown>
  /** The argument text of the model, kept only if it is not a JSON object or cannot be restored from `input`. */
  readonly raw?: string
  /** Why `raw` could not be read; such a call is answered and never runs. */
  readonly unreadable?: string
  readonly providerData?: ProviderData
}

export interface ToolResultBlock {
  readonly type: 'tool_result'
  readonly callId: string
  readonly output: ToolOutput
  readonly isError?: boolean
}

export type ToolResultContent = TextBlock | ImageBlock | DocumentBlock
export type ToolOutput = string | readonly ToolResultContent[]
export type PromptPart = TextBlock | ImageBlock | DocumentBlock

export interface Message {
  readonly role: 'user' | 'assistant'
  readonly content: readonly SessionContentBlock[]
  /** For replies: the run was cancelled or the stream broke off. The content is the text until then. */
  readonly interrupted?: true
}

export interface SessionTurn extends Message {
  readonly id: string
  readonly runId: string
  readonly createdAt: number
  readonly usage?: TurnUsage
  /** The author of a reply: `providerData` is sent back to the same provider only. */
  readonly model?: string
  readonly provider?: string
  /** What the sender attached to the message. Stored with the turn, never shown to a model. */
  readonly meta?: Meta
}

/** Tokens of one model call. `cost` is in dollars, absent if unknown. */
export interface TurnUsage {
  /** Without the cached tokens, which `cacheRead` and `cacheCreation` count. */
  readonly input: number
  readonly output: number
  /** The part of `output` that the model spent on thinking, if the service tells it. */
  readonly reasoning?: number
  readonly cacheRead?: number
  readonly cacheCreation?: number
  readonly cost?: number
  readonly model?: string
  /** Estimated from the length of request and reply, because the service did not report it. */
  readonly estimated?: true
}

export function toolCallsOf(message: Message): ToolCallBlock[] {
  return message.content.filter((block) => block.type === 'tool_call')
}

export function textOf(message: Message): string {
  let text = ''
  for (const block of message.content) if (block.type === 'text') text += block.text
  return text
}

/** Freezes a value deeply. Values from outside were limited to `maxNesting` levels when they were read. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value) // before its properties: measured at half the cost of the other order
  if (Array.isArray(value)) for (const inner of value) deepFreeze(inner)
  else for (const key in value) deepFreeze(value[key])
  return value
}

/** A mutable copy of a JSON value. `__proto__` stays an ordinary key; undefined properties are left out. */
export function copyJson<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(copyJson) as T
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(value)) {
    const inner = (value as Record<string, unknown>)[key]
    if (inner !== undefined) setOwn(copy, key, copyJson(inner))
  }
  return copy as T
}

/** Assigns an own property, even if its name is `__proto__`. */
export function setOwn(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== '__proto__') target[key] = value
  else Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true })
}
