import type { ModelEvent, ModelReply, StopReason } from '../../core/provider.ts'
import { setOwn } from '../../core/turn.ts'
import { type Decoder, StreamError, type WireError, type WireReply } from '../wire.ts'
import { firstAmount, replyId, streamFailure, withProviderData } from './payload.ts'

export const wireName = 'gemini'

/** What a block of a reply must keep so that it can be sent back. */
export interface StoredData {
  /**
   * A part that has no equivalent in our format, or a blank text with a signature, as the service sent it. Empty if only the
   * signature of an image is kept.
   */
  readonly block?: object
  /** Sent back only to the model that made it. Has the part's signature, or `unsigned` if that model does not sign calls. */
  readonly bound?: { readonly thoughtSignature?: string; readonly unsigned?: true }
}

/** Marks call ids that the service itself gave: only these are sent back. */
export const serviceIdPrefix = 'gemini-'

/** Decodes Gemini's stream. Each payload is a response with the parts that are new. There is no last event: the connection ends. */
export class GeminiDecoder implements Decoder {
  readonly #signsCalls: boolean
  readonly #content: Content[] = []
  #openText: { readonly type: 'text' | 'thinking'; text: string } | undefined
  #call: StreamedCall | undefined
  #calls = 0
  #responseId: string | undefined
  #usage: Raw = {}
  #finish: string | undefined
  #isBlocked = false
  #isStarted = false

  constructor({ signsCalls }: { signsCalls: boolean }) {
    this.#signsCalls = signsCalls
  }

  read(payload: unknown, out: ModelEvent[]): void {
    try {
      this.#read(payload, out)
    } catch (cause) {
      if (cause instanceof StreamError) throw cause
      throw new StreamError('the stream holds a response that makes no sense', { code: 'bad_stream', cause })
    }
  }

  end(out: ModelEvent[]): void {
    if (this.#finish === undefined && !this.#isBlocked)
      throw new StreamError('the stream ended without a finishReason', { code: 'stream_cut' })
    out.push(this.#reply(out))
  }

  #read(payload: unknown, out: ModelEvent[]): void {
    const { candidates, usageMetadata, promptFeedback, responseId } = (payload ?? {}) as Response
    if (!candidates) failIfError(payload)
    // Some payloads have usage metadata without counts.
    const isCounted = usageMetadata?.promptTokenCount !== undefined
    if (isCounted) this.#usage = usageMetadata
    if (!this.#isStarted) out.push({ type: 'start', ...(isCounted && { usage: usageOf(usageMetadata) }) })
    this.#isStarted = true
    this.#responseId ??= responseId
    if (promptFeedback?.blockReason && !promptFeedback.blockReason.endsWith('UNSPECIFIED')) this.#isBlocked = true
    const candidate = candidates?.[0]
    if (!candidate) return
    const parts = candidate.content?.parts
    if (parts) for (const part of parts) this.#part(part, out)
    const { finishReason, finishMessage } = candidate
    if (finishReason === 'MALFORMED_FUNCTION_CALL')
      throw new StreamError(finishMessage ?? 'the model wrote a call that cannot be read', {
        code: 'malformed_function_call',
      })
    this.#finish = finishReason ?? this.#finish
  }

  #part(part: Part, out: ModelEvent[]): void {
    const { thoughtSignature } = part
    if (typeof part.text === 'string') this.#text(part.text, part, out)
    else if (part.functionCall) this.#functionCall(part.functionCall, thoughtSignature, out)
    else if (part.inlineData) this.#media(part)
    else {
      const { thoughtSignature: _, thought, ...block } = part
      // The service leaves out the field `text` if it is empty.
      if (Object.keys(block).length === 0) this.#text('', part, out)
      else this.#add({ type: 'text', text: '', ...stored({ block, ...bound(thoughtSignature) }) })
    }
  }

  #text(text: string, { thought, thoughtSignature }: Part, out: ModelEvent[]): void {
    const type = thought === true ? 'thinking' : 'text'
    if (text !== '') out.push({ type, delta: text })
    if (!thoughtSignature) {
      if (text === '') return
      if (this.#openText?.type !== type) {
        this.#close()
        this.#openText = { type, text: '' }
      }
      this.#openText.text += text
      return
    }
    // A signature belongs to the part it came with, even if that is empty.
    const isKeptWhole = type === 'text' && text.trim() === ''
    this.#add({ type, text, ...stored({ ...(isKeptWhole && { block: { text } }), ...bound(thoughtSignature) }) })
  }

  #media({ inlineData, thought, thoughtSignature }: Part): void {
    // Images made while thinking are not part of the reply.
    if (thought === true) return
    const { mimeType = '', data = '' } = inlineData!
    this.#add({ type: mimeType.startsWith('image/') ? 'image' : 'document', mediaType: mimeType, data })
    // An image block cannot hold the signature, so an empty text block after it does.
    if (thoughtSignature) this.#add({ type: 'text', text: '', ...stored({ block: {}, ...bound(thoughtSignature) }) })
  }

  /** Usually a complete call. If arguments are streamed, the name comes first, then pieces without a name. */
  #functionCall(call: FunctionCall, signature: string | undefined, out: ModelEvent[]): void {
    const { name, args, partialArgs, willContinue } = call
    if (name !== undefined || args !== undefined) {
      this.#finishCall(out)
      const id = call.id ? `${serviceIdPrefix}${call.id}` : `${this.#responseId ?? 'call'}-${++this.#calls}`
      this.#call = { id, name: name ?? '', args: args ?? {}, signature }
      out.push({ type: 'tool_start', id, name: this.#call.name })
    }
    if (!this.#call) return
    this.#call.signature ??= signature
    for (const piece of partialArgs ?? []) addArgumentPiece(this.#call.args as Args, piece)
    if (!willContinue && !partialArgs?.some((piece) => piece.willContinue)) this.#finishCall(out)
  }

  #finishCall(out: ModelEvent[]): void {
    if (!this.#call) return
    const { id, name, args, signature } = this.#call
    this.#call = undefined
    const delta = typeof args === 'string' ? args : JSON.stringify(args)
    if (delta !== '{}') out.push({ type: 'tool_args', id, delta })
    out.push({ type: 'tool_end', id })
    const isUnsigned = !signature && !this.#signsCalls
    const data = isUnsigned ? stored({ bound: { unsigned: true } }) : signature && stored(bound(signature))
    this.#add({ type: 'tool_call', id, name, input: args, ...data })
  }

  #add(block: Content): void {
    this.#close()
    this.#content.push(block)
  }

  #close(): void {
    if (this.#openText) this.#content.push(this.#openText)
    this.#openText = undefined
  }

  #reply(out: ModelEvent[]): WireReply {
    const stop = this.#isBlocked ? 'refusal' : (stopReasons.get(this.#finish) ?? 'other')
    if (this.#call && stop === 'length') this.#finishCall(out)
    if (this.#call && stop !== 'refusal')
      throw new StreamError(`the stream ended in the middle of a call of ${this.#call.name}`, { code: 'stream_cut' })
    this.#close()
    const isCalling = stop === 'end' && this.#content.some(({ type }) => type === 'tool_call')
    return {
      type: 'reply',
      content: this.#content,
      usage: usageOf(this.#usage),
      stop: isCalling ? 'tool_use' : stop,
      ...replyId(this.#responseId),
    }
  }
}

const stopReasons: ReadonlyMap<string | undefined, StopReason> = new Map([
  ['STOP', 'end'],
  ['MAX_TOKENS', 'length'],
  ['CONTINUATION', 'length'],
  ['SAFETY', 'refusal'],
  ['RECITATION', 'refusal'],
  ['BLOCKLIST', 'refusal'],
  ['PROHIBITED_CONTENT', 'refusal'],
  ['SPII', 'refusal'],
  ['IMAGE_SAFETY', 'refusal'],
  ['IMAGE_PROHIBITED_CONTENT', 'refusal'],
  ['IMAGE_RECITATION', 'refusal'],
])

const stored = (data: StoredData) => withProviderData(wireName, data)
const bound = (thoughtSignature: string | undefined): StoredData =>
  thoughtSignature ? { bound: { thoughtSignature } } : {}

function usageOf(counts: Raw): ModelReply['usage'] {
  const number = (name: string): number => firstAmount(counts[name]) ?? 0
  const cacheRead = firstAmount(counts.cachedContentTokenCount)
  const reasoning = firstAmount(counts.thoughtsTokenCount)
  return {
    input: Math.max(0, number('promptTokenCount') + number('toolUsePromptTokenCount') - (cacheRead ?? 0)),
    output: number('candidatesTokenCount') + (reasoning ?? 0),
    ...(reasoning !== undefined && { reasoning }),
    ...(cacheRead !== undefined && { cacheRead }),
  }
}

/** Overload and outages may happen after the reply has begun. */
function failIfError(payload: unknown): void {
  const { error } = errorIn(payload)
  if (!error) return
  const { code = 'error', message = code, isQuota } = readError(payload)
  const status = typeof error.code === 'number' ? error.code : undefined
  throw streamFailure({ message, code, status, ...(isQuota && { retryable: false }) })
}

/** Reads an error from a body, from a list of one, or from a payload of a stream. */
export function readError(body: unknown): WireError {
  const { error, details } = errorIn(body)
  if (!error) return {}
  const delay = Number.parseFloat(String(details.find(({ retryDelay }) => retryDelay !== undefined)?.retryDelay))
  const isBadKey = details.some(({ reason }) => reason === 'API_KEY_INVALID')
  const code = isBadKey ? 'API_KEY_INVALID' : error.status
  const violations = details.flatMap((detail) => (Array.isArray(detail.violations) ? detail.violations : []))
  return {
    ...(typeof code === 'string' && { code }),
    ...(typeof error.message === 'string' && { message: error.message }),
    ...(delay >= 0 && { retryAfterMs: Math.ceil(delay * 1000) }),
    // A used-up daily quota does not come back in a minute, whatever `retryDelay` says.
    ...(violations.some((violation) => /PerDay/.test(String(violation?.quotaId))) && { isQuota: true }),
  }
}

function errorIn(body: unknown): { error?: Raw; details: readonly Raw[] } {
  const { error } = ((Array.isArray(body) ? body[0] : body) ?? {}) as { error?: Raw | null }
  if (typeof error !== 'object' || error === null) return { details: [] }
  const details = Array.isArray(error.details) ? error.details.filter((detail) => detail instanceof Object) : []
  return { error, details }
}

type Content = ModelReply['content'][number]
type Raw = Readonly<Record<string, unknown>>

interface StreamedCall {
  readonly id: string
  readonly name: string
  readonly args: Args | string
  signature: string | undefined
}

interface Response {
  readonly candidates?: readonly {
    readonly content?: { readonly parts?: readonly Part[] }
    readonly finishReason?: string
    readonly finishMessage?: string
  }[]
  readonly usageMetadata?: Raw
  readonly promptFeedback?: { readonly blockReason?: string }
  readonly responseId?: string
}

interface Part {
  readonly text?: unknown
  readonly thought?: boolean
  readonly thoughtSignature?: string
  readonly functionCall?: FunctionCall
  readonly inlineData?: { readonly mimeType?: string; readonly data?: string }
}

interface FunctionCall {
  readonly id?: string
  readonly name?: string
  readonly args?: Args | string
  readonly partialArgs?: readonly ArgumentPiece[]
  readonly willContinue?: boolean
}

type Args = Record<string | number, unknown>

/** A streamed piece of the arguments; `jsonPath` says where it belongs. */
interface ArgumentPiece {
  readonly jsonPath?: string
  readonly stringValue?: string
  readonly numberValue?: number
  readonly boolValue?: boolean
  readonly nullValue?: unknown
  readonly willContinue?: boolean
}

/** Adds a piece to the arguments. Texts are appended; a piece without a value creates an empty object or list, or ends one. */
function addArgumentPiece(args: Args, piece: ArgumentPiece): void {
  const { jsonPath = '', stringValue, numberValue, boolValue, willContinue } = piece
  const steps = [...jsonPath.matchAll(step)].map(([, name, index, quoted]) =>
    index === undefined ? (name ?? unquoted(quoted!)) : Number(index),
  )
  const last = steps.pop()
  if (last === undefined) return
  let target: unknown = args
  for (const [i, key] of steps.entries()) target = inside(target, key, typeof (steps[i + 1] ?? last) === 'number')
  const old = at(target, last)
  const value = stringValue ?? numberValue ?? boolValue ?? ('nullValue' in piece ? null : undefined)
  if (typeof value === 'string') put(target, last, typeof old === 'string' ? old + value : value)
  else if (value !== undefined) put(target, last, value)
  else if (old === undefined && !willContinue) put(target, last, jsonPath.endsWith('[]') ? [] : {})
}

/** `.name`, `[0]`, `['name']`. A path to an empty list ends with `[]`, which is not a step. */
const step = /\.([^.[\]]+)|\[(\d+)\]|\[('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\]/g
const unquoted = (text: string): string => text.slice(1, -1).replaceAll(/\\(.)/g, '$1')

function inside(target: unknown, key: string | number, isList: boolean): unknown {
  if (at(target, key) === undefined) put(target, key, isList ? [] : {})
  return at(target, key)
}

function at(target: unknown, key: string | number): unknown {
  return typeof target === 'object' && target !== null && Object.hasOwn(target, key) ? (target as Args)[key] : undefined
}

/** Lists grow by one element: a large index must not create a list of a billion holes. */
function put(target: unknown, key: string | number, value: unknown): void {
  if (typeof target !== 'object' || target === null) return
  if (Array.isArray(target) && !(Number(key) <= target.length)) return
  setOwn(target as Args, String(key), value)
}
