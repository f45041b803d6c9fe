import type { ModelEvent, ModelRequest, StopReason } from '../../core/provider.ts'
import { type Decoder, StreamError } from '../wire.ts'
import { replyId, streamFailure } from './payload.ts'
import {
  clientCalls,
  contentOf,
  type Item,
  isCall,
  type Part,
  type PartKind,
  paragraph,
  type RawItem,
  type RawUsage,
  usageOf,
} from './responses-reply.ts'

/**
 * Decodes the events of the Responses API. Texts come from deltas, arguments from the finished item. Unknown events are
 * ignored; items of unknown kinds are kept whole.
 */
export class ResponsesDecoder implements Decoder {
  readonly #request: Pick<ModelRequest, 'tools'>
  readonly #items: Item[] = []
  /** By index, because some services give an item a new id in every event. */
  readonly #byIndex = new Map<number, Item>()
  #isStarted = false
  #isDone = false

  constructor(request: Pick<ModelRequest, 'tools'>) {
    this.#request = request
  }

  read(payload: unknown, out: ModelEvent[]): void {
    if (this.#isDone) return
    const event = payload as StreamEvent
    switch (event?.type) {
      case 'response.output_text.delta':
        this.#addText(this.#item(event), 'output_text', event.content_index, event.delta, out)
        return
      case 'response.refusal.delta':
        this.#addText(this.#item(event), 'refusal', event.content_index, event.delta, out)
        return
      case 'response.reasoning_summary_text.delta':
        this.#addText(this.#item(event), 'summary_text', event.summary_index, event.delta, out)
        return
      case 'response.reasoning_text.delta':
        this.#addText(this.#item(event), 'reasoning_text', event.content_index, event.delta, out)
        return
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        this.#addArguments(this.#item(event), event.delta, out)
        return
      case 'response.output_item.added':
        this.#open(event, out)
        return
      case 'response.output_item.done':
        this.#finishItem(this.#byIndex.get(event.output_index) ?? this.#open(event, out), event.item, out)
        return
      case 'response.created':
      case 'response.queued':
      case 'response.in_progress':
        this.#start(out)
        return
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
      case 'response.done':
        this.#finishReply(event.type, event.response ?? {}, out)
        return
      case 'error':
        throw errorOf(event.error ?? event, event.status)
      case undefined:
        // An error of a proxy has no type.
        if (event?.error) throw errorOf(event.error)
    }
  }

  end(): void {
    if (!this.#isDone) throw new StreamError('the stream ended without response.completed', { code: 'stream_cut' })
  }

  #start(out: ModelEvent[]): void {
    if (!this.#isStarted) out.push({ type: 'start' })
    this.#isStarted = true
  }

  #item({ output_index }: { readonly output_index: number }): Item {
    const item = this.#byIndex.get(output_index)
    if (item) return item
    throw new StreamError(`the stream refers to item ${String(output_index)}, which was never started`, {
      code: 'bad_stream',
    })
  }

  #open({ output_index, item: raw }: ItemEvent, out: ModelEvent[]): Item {
    if (typeof raw?.type !== 'string')
      throw new StreamError('the stream starts an item without a type', { code: 'bad_stream' })
    this.#start(out)
    const item: Item = { kind: this.#kindOf(raw), raw, callId: String(raw.call_id ?? raw.id ?? ''), parts: [] }
    this.#items.push(item)
    this.#byIndex.set(output_index, item)
    if (isCall(item)) out.push({ type: 'tool_start', id: item.callId, name: String(raw.name ?? '') })
    return item
  }

  /** Services also run custom tools of their own, which look the same: ours are those in the request. */
  #kindOf({ type, name }: RawItem): Item['kind'] {
    if (type === 'message' || type === 'reasoning' || type === 'function_call') return type
    const isOurs = type === 'custom_tool_call' && this.#request.tools.some((tool) => tool.name === name)
    return isOurs ? 'custom_call' : 'other'
  }

  #addText(item: Item, kind: PartKind, index: number | undefined, delta: unknown, out: ModelEvent[]): void {
    if (typeof delta !== 'string' || delta === '') return
    const part = partOf(item, kind, index ?? 0)
    if (kind === 'output_text' || kind === 'refusal') out.push({ type: 'text', delta })
    else if (kind === 'arguments') out.push({ type: 'tool_args', id: item.callId, delta })
    else {
      const isNext = part.text === '' && item.parts.some(({ text }) => text !== '')
      out.push({ type: 'thinking', delta: isNext ? paragraph + delta : delta })
    }
    part.text += delta
  }

  /** The input of a custom tool is plain text, which becomes the field `input`, piece by piece. */
  #addArguments(item: Item, delta: unknown, out: ModelEvent[]): void {
    if (item.kind === 'function_call') this.#addText(item, 'arguments', 0, delta, out)
    if (item.kind !== 'custom_call' || typeof delta !== 'string' || delta === '') return
    this.#addText(item, 'arguments', 0, (item.parts.length === 0 ? customStart : '') + escaped(delta), out)
  }

  /** Takes the complete text of a part: it is added if no delta of it came. */
  #completeText(item: Item, kind: PartKind, index: number, text: unknown, out: ModelEvent[]): void {
    if (typeof text !== 'string' || text === '') return
    const part = partOf(item, kind, index)
    if (part.text === '') this.#addText(item, kind, index, text, out)
    // Text was shown already and stays as it is, but arguments are going to be run, so the final version counts.
    if (kind !== 'arguments') return
    if (text.startsWith(part.text)) this.#addText(item, kind, index, text.slice(part.text.length), out)
    else part.text = text
  }

  #finishItem(item: Item, raw: RawItem, out: ModelEvent[]): void {
    if (item.isDone || typeof raw !== 'object' || raw === null) return
    item.raw = raw
    item.isDone = true
    for (const [i, { text }] of listOf(raw.summary).entries()) this.#completeText(item, 'summary_text', i, text, out)
    for (const [i, { type, text, refusal, annotations }] of listOf(raw.content).entries()) {
      const kind = contentKinds.get(type)
      if (!kind) continue
      this.#completeText(item, kind, i, refusal ?? text, out)
      if (listOf(annotations).length > 0) partOf(item, kind, i).annotations = listOf(annotations)
    }
    if (item.kind === 'function_call') this.#completeText(item, 'arguments', 0, raw.arguments, out)
    if (item.kind === 'custom_call')
      this.#completeText(item, 'arguments', 0, `${customStart}${escaped(String(raw.input ?? ''))}"}`, out)
    if (isCall(item)) out.push({ type: 'tool_end', id: item.callId })
  }

  #finishReply(type: string, response: RawResponse, out: ModelEvent[]): void {
    const { status, error } = response
    if (type === 'response.failed' || status === 'failed' || status === 'cancelled')
      throw errorOf(error ?? { code: String(status ?? 'failed') })
    this.#start(out)
    this.#completeItems(listOf(response.output) as readonly RawItem[], out)
    this.#announceClientCalls(out)
    const reason = response.incomplete_details?.reason ?? (type === 'response.incomplete' ? 'unknown' : undefined)
    const items = this.#items.filter((item, i) => {
      // Incomplete calls are dropped, except for the last one, if the output limit cut it off. It does not run either: with that stop reason
      // its arguments count as unreadable, and the model is told.
      const isCut = isCall(item) && reason !== undefined && (!item.isDone || item.raw.status === 'incomplete')
      return !isCut || (reason === 'max_output_tokens' && i === this.#items.length - 1)
    })
    const usage = usageOf(response.usage)
    out.push({
      type: 'reply',
      content: contentOf(items),
      usage,
      stop: stopOf(items, reason),
      ...replyId(response.id),
    })
    this.#isDone = true
  }

  /** The last event repeats all items. Some services send items only here. */
  #completeItems(output: readonly RawItem[], out: ModelEvent[]): void {
    const isFirst = this.#items.length === 0
    for (const [i, raw] of output.entries()) {
      const item = isFirst ? this.#open({ output_index: i, item: raw }, out) : this.#items[i]
      if (!item || item.raw.type !== raw?.type) continue
      this.#finishItem(item, raw, out)
      // The id is taken over too: it is part of the encrypted content.
      if (typeof item.raw.encrypted_content !== 'string' && typeof raw.encrypted_content === 'string')
        item.raw = { ...item.raw, id: raw.id, encrypted_content: raw.encrypted_content }
    }
    for (const item of this.#items) if (isCall(item) && !item.isDone) out.push({ type: 'tool_end', id: item.callId })
  }

  /** Only at the end is it known which calls the service has run itself. */
  #announceClientCalls(out: ModelEvent[]): void {
    const done = this.#items.filter(({ kind, isDone }) => kind === 'other' && isDone)
    const calls = clientCalls(done.map(({ raw }) => raw))
    for (const item of done) {
      const call = calls.get(item.raw)
      if (!call) continue
      item.call = call
      const { callId: id } = item
      out.push({ type: 'tool_start', id, name: call.name })
      this.#addText(item, 'arguments', 0, JSON.stringify(call.input), out)
      out.push({ type: 'tool_end', id })
    }
  }
}

function stopOf(items: readonly Item[], reason: string | undefined): StopReason {
  if (reason === 'max_output_tokens') return 'length'
  if (reason === 'content_filter') return 'refusal'
  if (items.some(isCall)) return 'tool_use'
  if (reason !== undefined) return 'other'
  return items.some(({ parts }) => parts.some(({ kind }) => kind === 'refusal')) ? 'refusal' : 'end'
}

const customStart = '{"input":"'
const escaped = (text: string): string => JSON.stringify(text).slice(1, -1)

const contentKinds: ReadonlyMap<unknown, PartKind> = new Map([
  ['output_text', 'output_text'],
  ['refusal', 'refusal'],
  ['reasoning_text', 'reasoning_text'],
])

function partOf(item: Item, kind: PartKind, index: number): Part {
  for (const part of item.parts) if (part.kind === kind && part.index === index) return part
  const part: Part = { kind, index, text: '' }
  item.parts.push(part)
  return part
}

const listOf = (value: unknown): readonly Record<string, unknown>[] =>
  Array.isArray(value) ? value.map((one: Record<string, unknown> | null) => one ?? {}) : []

function errorOf(error: RawError | string, outer?: unknown): StreamError {
  const { code, type, message, status = outer } = typeof error === 'string' ? { message: error } : error
  const name = [code, type].find((value) => typeof value === 'string' && value !== 'error') ?? 'error'
  const httpStatus = statusOf(String(name)) ?? [status, code].map(Number).find((value) => value >= 400 && value < 600)
  const text = typeof message === 'string' && message !== '' ? message : String(name)
  return streamFailure({ message: text, code: String(name), status: httpStatus })
}

const statusOf = (code: string): number | undefined => statuses.find(([pattern]) => pattern.test(code))?.[1]

/** The first match counts. An unknown code has no status, and is retryable. */
const statuses: readonly (readonly [RegExp, number])[] = [
  [/insufficient_quota|usage_limit_reached|billing/, 402],
  [/rate_limit/, 429],
  [/overloaded|slow_down|unavailable/, 503],
  [/timeout/, 504],
  [/server_error|api_error/, 500],
  [/api_key|authentication/, 401],
  [/permission|usage_not_included/, 403],
  [/not_found/, 404],
  [/context_length|invalid|policy|image|unsupported|mismatch|bad_request/, 400],
]

interface RawResponse {
  readonly id?: unknown
  readonly status?: string
  readonly output?: unknown
  readonly error?: RawError | null
  readonly usage?: RawUsage | null
  readonly incomplete_details?: { readonly reason?: string } | null
}

interface RawError {
  readonly type?: unknown
  readonly code?: unknown
  readonly message?: unknown
  readonly status?: unknown
}

interface ItemEvent {
  readonly output_index: number
  readonly item: RawItem
}

/** The fields of all events that are used. */
interface StreamEvent extends ItemEvent, RawError {
  readonly content_index?: number
  readonly summary_index?: number
  readonly delta?: unknown
  readonly response?: RawResponse
  readonly error?: RawError | string
}
