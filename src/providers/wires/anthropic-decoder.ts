import { estimateTokens } from '../../core/estimate-tokens.ts'
import type { ModelEvent, ModelReply, StopReason } from '../../core/provider.ts'
import type { TurnUsage } from '../../core/turn.ts'
import { type Decoder, StreamError, type WireReply } from '../wire.ts'
import { firstAmount, replyId, streamFailure, withProviderData } from './payload.ts'

/** Decodes the events of the Messages API. Unknown events are ignored; blocks of unknown kinds are kept whole. */
export class AnthropicDecoder implements Decoder {
  readonly #blocks = new Map<number, Block>()
  #usage: RawUsage = {}
  #stopReason: string | undefined
  #messageId: unknown
  #isStarted = false
  #isDone = false
  #isOutputCounted = false

  read(payload: unknown, out: ModelEvent[]): void {
    if (this.#isDone) return
    const event = payload as StreamEvent
    switch (event?.type) {
      case 'content_block_delta':
        this.#delta(this.#block(event.index), event.delta, out)
        return
      case 'content_block_start':
        this.#open(event.index, event.content_block, out)
        return
      case 'content_block_stop':
        this.#close(this.#block(event.index), out)
        return
      case 'message_start':
        this.#start(event.message ?? {}, out)
        return
      case 'message_delta':
        this.#stopReason = event.delta?.stop_reason ?? this.#stopReason
        this.#updateCounts(event.usage)
        this.#isOutputCounted ||= event.usage?.output_tokens !== undefined
        return
      case 'message_stop':
        out.push(this.#reply())
        this.#isDone = true
        return
      case 'error':
        throw errorOf(event.error)
    }
  }

  /** The service counts the output in `message_delta`, near the end. Until then the output is estimated from the received text. */
  usage(): TurnUsage | undefined {
    if (Object.keys(this.#usage).length === 0) return undefined
    const counted = usageOf(this.#usage)
    if (this.#isOutputCounted) return counted
    let received = ''
    for (const { text } of this.#blocks.values()) received += text
    return { ...counted, output: Math.max(counted.output, estimateTokens(received)) }
  }

  end(): void {
    if (!this.#isDone) throw new StreamError('the stream ended without message_stop', { code: 'stream_cut' })
  }

  /** Some proxies send the same `message_start` twice: the second is ignored. The start of another message is an error. */
  #start({ id, usage, stop_reason, content }: RawMessage, out: ModelEvent[]): void {
    if (this.#isStarted) {
      if (typeof id !== 'string' || typeof this.#messageId !== 'string' || id === this.#messageId) return
      throw new StreamError(`the stream starts message ${id} inside another one`, { code: 'bad_stream' })
    }
    this.#isStarted = true
    this.#messageId = id
    this.#stopReason = stop_reason ?? undefined
    this.#updateCounts(usage)
    out.push({ type: 'start', ...(usage && { usage: usageOf(this.#usage) }) })
    // Tool calls made by code that runs on the server arrive in this event, already complete. They get negative indexes, so that they
    // come before all other blocks.
    const complete = Array.isArray(content) ? (content as readonly RawBlock[]) : []
    for (const [i, block] of complete.entries()) this.#close(this.#open(i - complete.length, block, out), out)
  }

  #block(index: number): Block {
    const block = this.#blocks.get(index)
    if (!block)
      throw new StreamError(`the stream refers to block ${String(index)}, which was never started`, {
        code: 'bad_stream',
      })
    return block
  }

  #open(index: number, raw: RawBlock, out: ModelEvent[]): Block {
    if (typeof raw?.type !== 'string')
      throw new StreamError('the stream starts a block without a type', { code: 'bad_stream' })
    const block: Block = { kind: raw.type, text: '', id: String(raw.id ?? ''), raw }
    this.#blocks.set(index, block)
    if (block.kind === 'text') {
      this.#addText('text', block, raw.text, out)
      if (Array.isArray(raw.citations) && raw.citations.length > 0) block.citations = raw.citations
    } else if (block.kind === 'thinking') {
      this.#addText('thinking', block, raw.thinking, out)
      block.signature = raw.signature || undefined
    } else if (block.kind === 'tool_use') {
      out.push({ type: 'tool_start', id: block.id, name: String(raw.name ?? '') })
      // Some compatible services send the whole input at once.
      if (Object.keys(raw.input ?? {}).length > 0) this.#addArguments(block, JSON.stringify(raw.input), out)
    }
    return block
  }

  #close(block: Block, out: ModelEvent[]): void {
    if (block.kind === 'tool_use') out.push({ type: 'tool_end', id: block.id })
  }

  #delta(block: Block, delta: Delta, out: ModelEvent[]): void {
    switch (delta?.type) {
      case 'text_delta':
        if (block.kind === 'text') this.#addText('text', block, delta.text, out)
        return
      case 'thinking_delta':
        if (block.kind === 'thinking') this.#addText('thinking', block, delta.thinking, out)
        return
      case 'input_json_delta':
        this.#addArguments(block, delta.partial_json, out)
        return
      case 'signature_delta':
        block.signature = delta.signature
        return
      case 'citations_delta':
        block.citations = [...(block.citations ?? []), delta.citation]
        return
      case 'compaction_delta':
        // This delta holds the whole content.
        block.raw = { ...block.raw, ...delta, type: block.kind }
    }
  }

  #addText(type: 'text' | 'thinking', block: Block, text: unknown, out: ModelEvent[]): void {
    if (typeof text !== 'string' || text === '') return
    block.text += text
    out.push({ type, delta: text })
  }

  #addArguments(block: Block, fragment: unknown, out: ModelEvent[]): void {
    if (typeof fragment !== 'string' || fragment === '') return
    block.text += fragment
    if (block.kind === 'tool_use') out.push({ type: 'tool_args', id: block.id, delta: fragment })
  }

  /** Counts are totals so far: a later count replaces the earlier one. */
  #updateCounts(usage: RawUsage | null | undefined): void {
    for (const [name, value] of Object.entries(usage ?? {}))
      if (value !== null) this.#usage[name as keyof RawUsage] = value
  }

  #reply(): WireReply {
    const content = [...this.#blocks].sort(([a], [b]) => a - b).map(([, block]) => contentOf(block))
    const oneHourCacheTokens = firstAmount(this.#usage.cache_creation?.ephemeral_1h_input_tokens)
    return {
      type: 'reply',
      content,
      usage: usageOf(this.#usage),
      stop: stopReasons.get(this.#stopReason) ?? 'other',
      ...replyId(this.#messageId),
      ...(this.#stopReason === 'pause_turn' && { isPaused: true }),
      ...(oneHourCacheTokens && { cacheCreation1h: oneHourCacheTokens }),
    }
  }
}

const stopReasons: ReadonlyMap<string | undefined, StopReason> = new Map([
  ['end_turn', 'end'],
  ['stop_sequence', 'end'],
  ['tool_use', 'tool_use'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'refusal'],
])

/** Converts an `error` event of the stream. The event has no HTTP status, so a status is derived from the type of the error. */
function errorOf(error: { type?: unknown; message?: unknown } | undefined): StreamError {
  const code = typeof error?.type === 'string' ? error.type : 'error'
  const message = typeof error?.message === 'string' ? error.message : code
  return streamFailure({ message, code, status: statuses.get(code) })
}

const statuses: ReadonlyMap<string, number> = new Map([
  ['invalid_request_error', 400],
  ['authentication_error', 401],
  ['billing_error', 402],
  ['permission_error', 403],
  ['not_found_error', 404],
  ['request_too_large', 413],
  ['rate_limit_error', 429],
  ['api_error', 500],
  ['timeout_error', 504],
  ['overloaded_error', 529],
])

interface RawMessage {
  readonly id?: unknown
  readonly usage?: RawUsage | null
  readonly stop_reason?: string | null
  readonly content?: unknown
}

type Delta =
  | { readonly type: 'text_delta'; readonly text: string }
  | { readonly type: 'thinking_delta'; readonly thinking: string }
  | { readonly type: 'input_json_delta'; readonly partial_json: string }
  | { readonly type: 'signature_delta'; readonly signature: string }
  | { readonly type: 'citations_delta'; readonly citation: unknown }
  | { readonly type: 'compaction_delta' }

type StreamEvent =
  | { readonly type: 'message_start'; readonly message?: RawMessage }
  | { readonly type: 'content_block_start'; readonly index: number; readonly content_block: RawBlock }
  | { readonly type: 'content_block_delta'; readonly index: number; readonly delta: Delta }
  | { readonly type: 'content_block_stop'; readonly index: number }
  | { readonly type: 'message_delta'; readonly delta?: { readonly stop_reason?: string }; readonly usage?: RawUsage }
  | { readonly type: 'message_stop' }
  | { readonly type: 'error'; readonly error?: { readonly type?: unknown; readonly message?: unknown } }

export const wireName = 'anthropic-messages'

/** The log has no block type for redacted thinking: it is stored as a thinking block whose signature has this prefix. */
export const redactedPrefix = 'redacted_thinking:'

/** A block as received so far. */
interface Block {
  readonly kind: string
  readonly id: string
  /** The text of the block, or the JSON of its input. */
  text: string
  raw: RawBlock
  signature?: string | undefined
  citations?: readonly unknown[]
}

interface RawBlock {
  readonly type: string
  readonly id?: unknown
  readonly name?: unknown
  readonly text?: unknown
  readonly thinking?: unknown
  readonly signature?: string
  readonly input?: object
  readonly data?: unknown
  readonly citations?: unknown
  readonly caller?: unknown
  readonly toolset_name?: unknown
}

/** Converts a finished block. */
function contentOf(block: Block): ModelReply['content'][number] {
  const { kind, text, raw, signature, citations } = block
  switch (kind) {
    case 'text':
      return { type: 'text', text, ...(citations && withProviderData(wireName, { citations })) }
    case 'thinking':
      return { type: 'thinking', text, ...(signature !== undefined && { signature }) }
    case 'redacted_thinking':
      return { type: 'thinking', text: '', signature: `${redactedPrefix}${String(raw.data)}` }
    case 'tool_use': {
      const { caller, toolset_name } = raw
      const callData = { ...(caller !== undefined && { caller }), ...(toolset_name !== undefined && { toolset_name }) }
      const extra = Object.keys(callData).length > 0 && withProviderData(wireName, callData)
      return {
        type: 'tool_call',
        id: block.id,
        name: String(raw.name ?? ''),
        input: text === '' ? '{}' : text,
        ...extra,
      }
    }
    default: {
      // For instance a block of a tool that runs on the server. The block is kept whole and sent back unchanged.
      const whole = text === '' ? raw : { ...raw, input: parseOrEmpty(text) }
      return { type: 'text', text: '', ...withProviderData(wireName, { block: whole }) }
    }
  }
}

function parseOrEmpty(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

/** `TurnUsage.input` excludes cached tokens, and so does `input_tokens` of this service. */
function usageOf(usage: RawUsage): TurnUsage {
  const cacheRead = firstAmount(usage.cache_read_input_tokens)
  const cacheCreation = firstAmount(usage.cache_creation_input_tokens)
  const reasoning = firstAmount(usage.output_tokens_details?.thinking_tokens)
  return {
    input: tokensOfAnsweringModel(usage, 'input_tokens'),
    output: tokensOfAnsweringModel(usage, 'output_tokens'),
    ...(reasoning !== undefined && { reasoning }),
    ...(cacheRead !== undefined && { cacheRead }),
    ...(cacheCreation !== undefined && { cacheCreation }),
  }
}

/**
 * The tokens of the model that answered. The top-level counts leave out compaction, so the steps in `iterations` are summed instead.
 * Steps of the types `message` and `compaction` are of the requested model; other types, such as `advisor_message`, are of other
 * models. If a fallback model answered, the top-level counts are its counts and are used as they are.
 */
function tokensOfAnsweringModel(usage: RawUsage, name: 'input_tokens' | 'output_tokens'): number {
  const steps = Array.isArray(usage.iterations) ? (usage.iterations as readonly (Iteration | null)[]) : []
  const stepsOfRequestedModel = steps.filter((step) => step?.type === 'message' || step?.type === 'compaction')
  const hasFallback = steps.some((step) => step?.type === 'fallback_message')
  if (stepsOfRequestedModel.length === 0 || hasFallback) return firstAmount(usage[name]) ?? 0
  return stepsOfRequestedModel.reduce((sum, step) => sum + (firstAmount(step![name]) ?? 0), 0)
}

interface RawUsage {
  input_tokens?: unknown
  output_tokens?: unknown
  output_tokens_details?: { readonly thinking_tokens?: unknown }
  cache_read_input_tokens?: unknown
  cache_creation_input_tokens?: unknown
  cache_creation?: { readonly ephemeral_1h_input_tokens?: unknown }
  iterations?: unknown
}

interface Iteration {
  readonly type?: unknown
  readonly input_tokens?: unknown
  readonly output_tokens?: unknown
}
