import type { Meta } from './meta.ts'

/** The transcript's one vocabulary. A committed turn is deeply frozen, so its identity may serve as a cache key. */
export type SessionContentBlock =
  | TextBlock
  | ImageBlock
  | DocumentBlock
  | ThinkingBlock
  | ToolCallBlock
  | ToolResultBlock

/** What a provider must get back byte for byte with a block of its own making: signatures, ids, encrypted reasoning. */
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
  /** The argument text as the model wrote it, kept only when it was not a JSON object, or one that says more than `input`. */
  readonly raw?: string
  /** Why `raw` could not be read; such a call is answered, never run. */
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
  /** Of the assistant: the run was stopped, or the stream broke off, while this was said. It is the text until then. */
  readonly interrupted?: true
}

export interface SessionTurn extends Message {
  readonly id: string
  readonly runId: string
  readonly createdAt: number
  readonly usage?: TurnUsage
  /** Who said it: what a provider marked as its own is sent back to no other. */
  readonly model?: string
  readonly provider?: string
  /** What came with the message, never sent to a model. */
  readonly meta?: Meta
}

/** Tokens of one model call. `input` excludes what was read from or written to the provider's cache. `cost` is in dollars, absent when unknown. */
export interface TurnUsage {
  readonly input: number
  readonly output: number
  readonly cacheRead?: number
  readonly cacheCreation?: number
  readonly cost?: number
  readonly model?: string
  /** By the length of what was sent and received: the service did not say. */
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

/** Seals a value for good. Depth is bounded by the readers of outside data, see `tool-input.ts` and `tool-output.ts`. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.freeze(value) // before looking inside: measured at half the price of the other order
  if (Array.isArray(value)) for (const inner of value) deepFreeze(inner)
  else for (const key in value) deepFreeze(value[key])
  return value
}

/** A mutable copy of a JSON value: `__proto__` stays an ordinary key, and what is undefined is not there. */
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

/** Assigns an own property, whatever its name. */
export function setOwn(target: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== '__proto__') target[key] = value
  else Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true })
}
