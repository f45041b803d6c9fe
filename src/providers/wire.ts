import type { ModelEvent, ModelReply, ModelRequest } from '../core/provider.ts'
import type { Message, TurnUsage } from '../core/turn.ts'

/**
 * How a family of APIs talks: pure, without any I/O. A wire times a service (where, with which credentials, with which
 * quirks) makes a provider.
 */
export interface Wire {
  /** Also the key under which what belongs to this wire is kept in `providerData`. */
  readonly name: string
  readonly rules: WireRules
  /** The field of the body that holds the conversation. */
  readonly list: 'messages' | 'input' | 'contents'
  /** Added to the service's base URL. */
  path(request: ModelRequest): string
  /** Everything of the body but the conversation. What is big and seldom changes comes as `RawJson`. */
  fields(request: ModelRequest): Fields
  /** What stands before the conversation inside its list, a system prompt for instance. */
  lead?(request: ModelRequest): readonly object[]
  /** What one message becomes. Must depend on the message alone: its bytes are kept for as long as the message lives. */
  items(message: Message): readonly WireItem[]
  /** The same items with a cache breakpoint at their end; wires without breakpoints have none. */
  marked?(items: readonly WireItem[]): readonly WireItem[]
  /** Where a breakpoint is always the same text before the same end, it is put between bytes that are kept. */
  readonly mark?: { readonly text: string; readonly end: string }
  decoder(request: ModelRequest): Decoder
  /** What an error body says, whatever its shape. */
  readError(body: unknown): WireError
}

/** One element of the conversation on the wire; `blocks[i]` is the block that its i-th part was made of. */
export interface WireItem {
  readonly json: object
  readonly blocks: readonly number[]
}

export interface WireError {
  readonly code?: string
  readonly message?: string
  readonly retryAfterMs?: number
  /** Waiting does not help: there is nothing left to spend. */
  readonly isQuota?: boolean
}

/** Turns the payloads of a stream into events. One per attempt. */
export interface Decoder {
  /** Reads one payload, pushing what it amounts to, in the end the reply. Throws `StreamError` where it makes no sense. */
  read(payload: unknown, out: ModelEvent[]): void
  /**
   * No more will come, because the service said so (`isDone`) or because the connection ended. Pushes the reply if the
   * stream was complete and it has not been pushed yet, else throws.
   */
  end(out: ModelEvent[], isDone: boolean): void
  /** What the service has counted so far: an attempt that fails is paid for all the same. */
  usage?(): TurnUsage | undefined
}

/** A reply with what only the layer around the wire wants to know. */
export interface WireReply extends ModelReply {
  /** The service paused in mid-answer and wants the same conversation again, with this reply at its end. */
  readonly isPaused?: boolean
  /** Of `cacheCreation`, what is kept for an hour and costs more. */
  readonly cacheCreation1h?: number
}

/** The stream says that the attempt failed, or says nothing that could be understood. */
export class StreamError extends Error {
  readonly code: string | undefined
  readonly retryable: boolean
  readonly status: number | undefined
  constructor(message: string, options: ErrorOptions & { code?: string; retryable?: boolean; status?: number } = {}) {
    super(message, options)
    this.name = 'StreamError'
    this.code = options.code
    this.status = options.status
    this.retryable = options.retryable ?? true
  }
}

export type Fields = Record<string, unknown>

/** A value that is JSON text already, so that a long list of tools is written once and not in every turn. */
export class RawJson {
  readonly text: string
  constructor(value: unknown) {
    this.text = JSON.stringify(value)
  }
  toJSON(): unknown {
    return JSON.parse(this.text)
  }
}

/** What services of a family refuse; `transcript-rules.ts` makes a conversation fit. */
export interface WireRules {
  readonly callId: NameRule
  readonly toolName: NameRule
  readonly imageTypes: readonly string[]
  readonly documentTypes: readonly string[]
  /** Of one image or document, in base64 characters. */
  readonly maxMediaLength: number
  /** Where documents may be longer. */
  readonly maxDocumentLength?: number
  /** In one request; the oldest go first. */
  readonly maxImages: number
  /** Of all images and documents of a request together. */
  readonly maxTotalMediaLength: number
  /** Thinking is sent back only with the signature it came with. */
  readonly signedThinkingOnly: boolean
  /** Images may stand in what the assistant said. */
  readonly assistantImages?: boolean
  /** Results are handed to `items` with the `name` of the tool that was called. */
  readonly callNames?: true
  readonly startsWithUser: boolean
  readonly endsWithUser: boolean
}

export interface NameRule {
  readonly pattern: RegExp
  readonly maxLength: number
}
