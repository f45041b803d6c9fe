import type { ModelEvent, ModelReply, StopReason } from '../../core/provider.ts'
import { setOwn } from '../../core/turn.ts'
import { type Decoder, StreamError, type WireError, type WireReply } from '../wire.ts'
import { countOf, failureOf, withOwn } from './payload.ts'

export const wireName = 'gemini'

/**
 * What the service must get back with a block of its own: a `block` it made and nobody else understands, and `bound` to
 * the model, the signature that came with it. `unsigned` says that this model signs no calls.
 */
export interface Own {
  readonly block?: object
  readonly bound?: { readonly thoughtSignature?: string; readonly unsigned?: true }
}

/** What stands before the ids that the service itself gave, so that nobody else's are sent to it. */
export const ownId = 'gemini-'

/** Every payload is a whole response, its texts are what was added. There is no last event: the connection just ends. */
export class GeminiDecoder implements Decoder {
  readonly #signsCalls: boolean
  readonly #content: Content[] = []
  #said: { readonly type: 'text' | 'thinking'; text: string } | undefined
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
    // Some frames carry remarks without any count.
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
      // A text that is empty may be left out.
      if (Object.keys(block).length === 0) this.#text('', part, out)
      else this.#add({ type: 'text', text: '', ...own({ block, ...bound(thoughtSignature) }) })
    }
  }

  #text(text: string, { thought, thoughtSignature }: Part, out: ModelEvent[]): void {
    const type = thought === true ? 'thinking' : 'text'
    if (text !== '') out.push({ type, delta: text })
    if (!thoughtSignature) {
      if (text === '') return
      if (this.#said?.type !== type) {
        this.#close()
        this.#said = { type, text: '' }
      }
      this.#said.text += text
      return
    }
    // A signature belongs to the very part it came with, also where that is empty.
    const isKeptWhole = type === 'text' && text.trim() === ''
    this.#add({ type, text, ...own({ ...(isKeptWhole && { block: { text } }), ...bound(thoughtSignature) }) })
  }

  #media({ inlineData, thought, thoughtSignature }: Part): void {
    // Sketches made while thinking are no part of the answer.
    if (thought === true) return
    const { mimeType = '', data = '' } = inlineData!
    this.#add({ type: mimeType.startsWith('image/') ? 'image' : 'document', mediaType: mimeType, data })
    // Images have no room for it, so an empty block behind one does.
    if (thoughtSignature) this.#add({ type: 'text', text: '', ...own({ block: {}, ...bound(thoughtSignature) }) })
  }

  /** Usually whole; a service that streams arguments sends a name, then pieces without one, then nothing at all. */
  #functionCall(given: FunctionCall, signature: string | undefined, out: ModelEvent[]): void {
    const { name, args, partialArgs, willContinue } = given
    if (name !== undefined || args !== undefined) {
      this.#finishCall(out)
      const id = given.id ? `${ownId}${given.id}` : `${this.#responseId ?? 'call'}-${++this.#calls}`
      this.#call = { id, name: name ?? '', args: args ?? {}, signature }
      out.push({ type: 'tool_start', id, name: this.#call.name })
    }
    if (!this.#call) return
    this.#call.signature ??= signature
    for (const piece of partialArgs ?? []) addPiece(this.#call.args as Args, piece)
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
    const data = isUnsigned ? own({ bound: { unsigned: true } }) : signature && own(bound(signature))
    this.#add({ type: 'tool_call', id, name, input: args, ...data })
  }

  #add(block: Content): void {
    this.#close()
    this.#content.push(block)
  }

  #close(): void {
    if (this.#said) this.#content.push(this.#said)
    this.#said = undefined
  }

  #reply(out: ModelEvent[]): WireReply {
    const stop = this.#isBlocked ? 'refusal' : (stops.get(this.#finish) ?? 'other')
    if (this.#call && stop === 'length') this.#finishCall(out)
    if (this.#call && stop !== 'refusal')
      throw new StreamError(`the stream ended in the middle of a call of ${this.#call.name}`, { code: 'stream_cut' })
    this.#close()
    const isCalling = stop === 'end' && this.#content.some(({ type }) => type === 'tool_call')
    return { type: 'reply', content: this.#content, usage: usageOf(this.#usage), stop: isCalling ? 'tool_use' : stop }
  }
}

const stops: ReadonlyMap<string | undefined, StopReason> = new Map([
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

const own = (data: Own) => withOwn(wireName, data)
const bound = (thoughtSignature: string | undefined): Own => (thoughtSignature ? { bound: { thoughtSignature } } : {})

function usageOf(counts: Raw): ModelReply['usage'] {
  const number = (name: string): number => countOf(counts[name]) ?? 0
  const cacheRead = countOf(counts.cachedContentTokenCount)
  return {
    input: Math.max(0, number('promptTokenCount') + number('toolUsePromptTokenCount') - (cacheRead ?? 0)),
    output: number('candidatesTokenCount') + number('thoughtsTokenCount'),
    ...(cacheRead !== undefined && { cacheRead }),
  }
}

/** Overload and outages may strike after the answer has begun. */
function failIfError(payload: unknown): void {
  const { error } = errorIn(payload)
  if (!error) return
  const { code = 'error', message = code, isQuota } = readError(payload)
  const status = typeof error.code === 'number' ? error.code : undefined
  throw failureOf({ message, code, status, ...(isQuota && { retryable: false }) })
}

/** What an error says, in a body of its own, in a list of one, or in the middle of a stream. */
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
    // What is used up for the day does not come back in a minute, whatever else is said about waiting.
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
/** Read with care: nothing is known about what is in it. */
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
  readonly partialArgs?: readonly Piece[]
  readonly willContinue?: boolean
}

export type Args = Record<string | number, unknown>

/** What arrived of one argument; `jsonPath` says where it belongs. */
export interface Piece {
  readonly jsonPath?: string
  readonly stringValue?: string
  readonly numberValue?: number
  readonly boolValue?: boolean
  readonly nullValue?: unknown
  readonly willContinue?: boolean
}

/** Puts a piece of an argument in its place. A text grows; what has no value is empty, or ended before. */
export function addPiece(args: Args, piece: Piece): void {
  const { jsonPath = '', stringValue, numberValue, boolValue, willContinue } = piece
  const steps = [...jsonPath.matchAll(step)].map(([, name, index, quoted]) =>
    index === undefined ? (name ?? unquoted(quoted!)) : Number(index),
  )
  const last = steps.pop()
  if (last === undefined) return
  let place: unknown = args
  for (const [i, key] of steps.entries()) place = inside(place, key, typeof (steps[i + 1] ?? last) === 'number')
  const old = at(place, last)
  const value = stringValue ?? numberValue ?? boolValue ?? ('nullValue' in piece ? null : undefined)
  if (typeof value === 'string') put(place, last, typeof old === 'string' ? old + value : value)
  else if (value !== undefined) put(place, last, value)
  else if (old === undefined && !willContinue) put(place, last, jsonPath.endsWith('[]') ? [] : {})
}

/** `.name`, `[0]`, `['name']`; an array ends with `[]`, which leads nowhere. */
const step = /\.([^.[\]]+)|\[(\d+)\]|\[('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\]/g
const unquoted = (text: string): string => text.slice(1, -1).replaceAll(/\\(.)/g, '$1')

function inside(place: unknown, key: string | number, isList: boolean): unknown {
  if (at(place, key) === undefined) put(place, key, isList ? [] : {})
  return at(place, key)
}

function at(place: unknown, key: string | number): unknown {
  return typeof place === 'object' && place !== null && Object.hasOwn(place, key) ? (place as Args)[key] : undefined
}

/** Lists grow one by one: a number out of thin air must not make one of a billion holes. */
function put(place: unknown, key: string | number, value: unknown): void {
  if (typeof place !== 'object' || place === null) return
  if (Array.isArray(place) && !(Number(key) <= place.length)) return
  setOwn(place as Args, String(key), value)
}
