import type { ModelEvent, ModelReply, ModelRequest } from '../core/provider.ts'
import type { Message, TurnUsage } from '../core/turn.ts'

/**
 * The protocol of a family of APIs, without any I/O. A wire and a service (its address, credentials and quirks) make a
 * provider.
 */
export interface Wire {
  /** Also the key in `providerData` for data that this wire must send back. */
  readonly name: string
  readonly rules: WireRules
  /** The field of the body that holds the conversation. */
  readonly conversationField: 'messages' | 'input' | 'contents'
  /** The path that is added to the base URL of the service. */
  path(request: ModelRequest): string
  /** The body without the conversation. A big value that seldom changes is a `RawJson`. */
  fields(request: ModelRequest): Fields
  /** Items that come before the conversation in its list, such as a system prompt. */
  leadingItems?(request: ModelRequest): readonly object[]
  /** Writes one message. The result must depend on the message alone, because its bytes are cached as long as the message lives. */
  writeMessage(message: Message): readonly WireItem[]
  /** The same items with a cache breakpoint at their end: the service caches the request up to there. Absent if the API has no breakpoints. */
  withCacheBreakpoint?(items: readonly WireItem[]): readonly WireItem[]
  /**
   * A shortcut for adding a breakpoint to a message that is already serialized. Every serialized message ends with `end`;
   * inserting `text` just before `end` makes the breakpoint. Not used if the last block is thinking.
   */
  readonly breakpointPatch?: { readonly text: string; readonly end: string }
  decoder(request: ModelRequest): Decoder
  /** Reads the body of an error response, whatever its shape. */
  readError(body: unknown): WireError
}

/** One element of the conversation on the wire. A message may become several. */
export interface WireItem {
  readonly json: object
  /** For each part of `json`, the index of the block of the message from which it was made. A refusal names a part; this finds the block. */
  readonly blockIndexes: readonly number[]
}

export interface WireError {
  readonly code?: string
  readonly message?: string
  readonly retryAfterMs?: number
  /** The quota or credit is used up, so waiting does not help. */
  readonly isQuota?: boolean
}

/** Turns the payloads of one stream into events. */
export interface Decoder {
  /** Reads one payload and pushes its events; the last one is the reply. Throws a `StreamError` if it cannot be understood. */
  read(payload: unknown, out: ModelEvent[]): void
  /**
   * Called when no more payloads will come: the service announced the end (`isDone`) or the connection ended. Pushes the
   * reply if the stream was complete and the reply was not pushed before; throws if the stream was incomplete.
   */
  end(out: ModelEvent[], isDone: boolean): void
  /** The usage so far: a failed attempt is paid for too. */
  usage?(): TurnUsage | undefined
}

/** A reply with fields for `ModelStream`, which are removed before the reply is returned. */
export interface WireReply extends ModelReply {
  /** The service paused its reply and wants the same conversation again, with this reply at its end. */
  readonly isPaused?: boolean
  /** The part of `cacheCreation` that is kept for an hour, which costs more. */
  readonly cacheCreation1h?: number
}

/** The stream reports a failure, or cannot be understood. */
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

/** A value that is already written as JSON, so that a long list of tools is not written again in every turn. */
export class RawJson {
  readonly text: string
  constructor(value: unknown) {
    this.text = JSON.stringify(value)
  }
  toJSON(): unknown {
    return JSON.parse(this.text)
  }
}

/** What the services of a family accept; `TranscriptRules` repairs a conversation accordingly. */
export interface WireRules {
  readonly callId: NameRule
  readonly toolName: NameRule
  readonly imageTypes: readonly string[]
  readonly documentTypes: readonly string[]
  /** The longest image or document, in base64 characters. */
  readonly maxMediaLength: number
  /** The longest document, if documents may be longer than images. */
  readonly maxDocumentLength?: number
  /** In one request; the oldest images are left out first. */
  readonly maxImages: number
  /** The sum of all images and documents of a request, in base64 characters. */
  readonly maxTotalMediaLength: number
  /** Thinking is only sent back with the signature with which it came. */
  readonly signedThinkingOnly: boolean
  /** Assistant messages may hold images. */
  readonly assistantImages?: boolean
  /** `writeMessage` gets results with the `name` of the tool that was called. */
  readonly toolNameOnResults?: true
  readonly startsWithUser: boolean
  readonly endsWithUser: boolean
}

export interface NameRule {
  readonly pattern: RegExp
  readonly maxLength: number
}
