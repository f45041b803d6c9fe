import type { ModelEvent, ModelReply, ReplyToolCall, StopReason } from '../../core/provider.ts'
import { type Decoder, StreamError } from '../wire.ts'
import { addDetail, type Detail, detailText, type RawUsage, readFailure, usageOf } from './chat-payload.ts'
import { isNonEmptyText, replyId, withProviderData } from './payload.ts'

export const wireName = 'openai-chat'

/** Decodes the chunks of a chat completion, of OpenAI and compatible services. */
export class ChatDecoder implements Decoder {
  readonly #calls: Call[] = []
  /** The calls whose `tool_start` was pushed, in that order. Calls without an id are identified by this order. */
  readonly #announced: Call[] = []
  readonly #details: Detail[] = []
  #thinking = ''
  #thinkingField: string | undefined
  #text = ''
  #usage: RawUsage | undefined
  #finishReason: string | undefined
  #isRefused = false
  #isStarted = false
  #isOver = false
  #replyId: unknown
  readonly #usageOptions: UsageOptions

  constructor(usageOptions: UsageOptions = {}) {
    this.#usageOptions = usageOptions
  }

  read(payload: unknown, out: ModelEvent[]): void {
    const chunk = (Array.isArray(payload) ? payload[0] : payload) as Chunk | null | undefined
    if (typeof chunk !== 'object' || chunk === null) return
    const choice = chunk.choices?.[0]
    if (chunk.error || choice?.error || chunk.x_groq?.error || chunk.object === 'error')
      throw readFailure(choice?.error ? choice : chunk)
    if (!this.#isStarted) out.push({ type: 'start' })
    this.#isStarted = true
    this.#replyId ||= chunk.id
    // Some services send the whole message at once; some repeat it at the end, which is ignored.
    const delta = choice?.delta ?? (this.#isEmpty() ? choice?.message : undefined)
    if (delta) this.#readDelta(delta, out)
    if (choice?.finish_reason) this.#setFinishReason(String(choice.finish_reason).toLowerCase())
    const usage = chunk.usage ?? choice?.usage ?? chunk.x_groq?.usage
    // Some services send counts of zero at the end: they do not replace earlier counts.
    if (usage && (!this.#usage || usage.prompt_tokens || usage.completion_tokens)) this.#usage = usage
  }

  end(out: ModelEvent[], isDone: boolean): void {
    if (this.#isOver) return
    if (this.#finishReason === undefined && !isDone)
      throw new StreamError('the stream ended without a finish_reason', { code: 'stream_cut' })
    this.#isOver = true
    for (const call of this.#calls) if (call.announcedId === undefined) this.#announce(call, out)
    for (const call of this.#announced) out.push({ type: 'tool_end', id: call.announcedId! })
    out.push({
      type: 'reply',
      content: this.#content(),
      usage: usageOf(this.#usage ?? {}, this.#usageOptions),
      stop: this.#stopReason(),
      ...replyId(this.#replyId),
    })
  }

  #isEmpty(): boolean {
    return this.#text === '' && this.#thinking === '' && this.#calls.length === 0
  }

  #readDelta(delta: Delta, out: ModelEvent[]): void {
    const { content, refusal } = delta
    this.#readThinking(delta, out)
    if (typeof content === 'string') this.#addText(content, out)
    else if (Array.isArray(content)) for (const part of content) this.#readPart(part, out)
    if (isNonEmptyText(refusal)) {
      this.#isRefused = true
      this.#addText(refusal, out)
    }
    if (Array.isArray(delta.tool_calls)) for (const fragment of delta.tool_calls) this.#readCall(fragment, out)
    if (delta.function_call) this.#readCall({ index: -1, function: delta.function_call }, out)
  }

  #addText(text: string, out: ModelEvent[]): void {
    if (text === '') return
    this.#text += text
    out.push({ type: 'text', delta: text })
  }

  #addThinking(text: string, out: ModelEvent[]): void {
    if (text === '') return
    this.#thinking += text
    out.push({ type: 'thinking', delta: text })
  }

  #readThinking(delta: Delta, out: ModelEvent[]): void {
    const field = thinkingField(delta)
    if (field) {
      this.#thinkingField ??= field
      this.#addThinking(delta[field] as string, out)
    }
    if (!Array.isArray(delta.reasoning_details)) return
    for (const detail of delta.reasoning_details as readonly (Detail | null)[]) {
      if (typeof detail !== 'object' || detail === null) continue
      addDetail(this.#details, detail)
      if (!field) this.#addThinking(detailText(detail), out)
    }
  }

  #readPart(part: ContentPart | null, out: ModelEvent[]): void {
    if (part?.type === 'text' && isNonEmptyText(part.text)) this.#addText(part.text, out)
    if (part?.type !== 'thinking') return
    const thoughts = Array.isArray(part.thinking) ? part.thinking : [{ text: part.thinking }]
    for (const thought of thoughts) if (isNonEmptyText(thought?.text)) this.#addThinking(thought.text, out)
  }

  #readCall(fragment: Fragment | null, out: ModelEvent[]): void {
    const id = isNonEmptyText(fragment?.id) ? fragment.id : ''
    const name = isNonEmptyText(fragment?.function?.name) ? fragment.function.name : ''
    const args = argumentText(fragment?.function?.arguments)
    const index = typeof fragment?.index === 'number' ? fragment.index : undefined
    let call = this.#callContinuedBy({ index, id, name, args })
    if (!call) this.#calls.push((call = { index, id: '', name: '', args: '' }))
    call.id ||= id
    call.name ||= name
    call.args += args
    if (fragment?.extra_content) call.extra = fragment.extra_content
    if (call.announcedId === undefined) {
      if (call.name !== '') this.#announce(call, out)
    } else if (args !== '') out.push({ type: 'tool_args', id: call.announcedId, delta: args })
  }

  /** `undefined` if the fragment begins a new call. */
  #callContinuedBy(fragment: ReadFragment): Call | undefined {
    const call = this.#callReferredTo(fragment)
    return call && !beginsNewCall(call, fragment) ? call : undefined
  }

  /**
   * Services refer to the call of a fragment by its id, by its index, by both, or not at all, which means the last call. The id
   * comes first, because some services give every call the index 0.
   */
  #callReferredTo({ index, id, name }: ReadFragment): Call | undefined {
    if (id === '' && index === undefined) return this.#calls.at(-1)
    const mayBe = (call: Call): boolean => call.index === undefined || index === undefined || call.index === index
    const withId = id === '' ? undefined : this.#calls.findLast((call) => call.id === id && mayBe(call))
    if (withId || index === undefined) return withId
    const withIndex = this.#calls.findLast((call) => call.index === index)
    // Another id together with a name: a new call of a service that gives every call the index 0.
    const isNewCall = withIndex !== undefined && withIndex.id !== '' && id !== '' && name !== ''
    return isNewCall ? undefined : withIndex
  }

  #announce(call: Call, out: ModelEvent[]): void {
    this.#announced.push(call)
    call.announcedId = call.id
    out.push({ type: 'tool_start', id: call.id, name: call.name })
    if (call.args !== '') out.push({ type: 'tool_args', id: call.id, delta: call.args })
  }

  /** Throws if the reason means a failure. */
  #setFinishReason(reason: string): void {
    if (failures.has(reason))
      throw new StreamError(`the service stopped in the middle of its answer, with finish_reason "${reason}"`, {
        code: reason,
      })
    this.#finishReason = reason
  }

  #content(): ModelReply['content'] {
    const field = this.#thinkingField
    const data = {
      ...(field !== undefined && field !== 'reasoning_content' && { field }),
      ...(this.#details.length > 0 && { bound: { details: this.#details } }),
    }
    const stored = Object.keys(data).length > 0 && withProviderData(wireName, data)
    return [
      ...(this.#thinking !== '' || stored ? [{ type: 'thinking', text: this.#thinking, ...stored } as const] : []),
      ...(this.#text !== '' ? [{ type: 'text', text: this.#text } as const] : []),
      ...this.#callsInOrder().map(callOf),
    ]
  }

  /** In the order of the service's indexes. If an id or index is missing, or an id repeated: in the order of the `tool_start` events. */
  #callsInOrder(): readonly Call[] {
    const ids = new Set(this.#announced.map(({ announcedId }) => announcedId).filter((id) => id !== ''))
    const haveOwnIds = ids.size === this.#announced.length
    return haveOwnIds && this.#announced.every(({ index }) => index !== undefined)
      ? this.#announced.toSorted((a, b) => a.index! - b.index!)
      : this.#announced
  }

  /** A reply with calls stops for tool use, whatever its finish_reason, unless it was cut off or refused. */
  #stopReason(): StopReason {
    const stop = this.#finishReason === undefined ? 'end' : (stopReasons.get(this.#finishReason) ?? 'other')
    if (stop === 'length' || stop === 'refusal') return stop
    if (this.#calls.length > 0) return 'tool_use'
    if (this.#isRefused) return 'refusal'
    return stop === 'tool_use' ? 'end' : stop
  }
}

const stopReasons: ReadonlyMap<string, StopReason> = new Map(
  Object.entries({
    stop: 'end',
    end: 'end',
    eos: 'end',
    end_turn: 'end',
    stop_sequence: 'end',
    tool_calls: 'tool_use',
    function_call: 'tool_use',
    tool_use: 'tool_use',
    length: 'length',
    max_tokens: 'length',
    model_length: 'length',
    model_context_window_exceeded: 'length',
    content_filter: 'refusal',
    refusal: 'refusal',
    sensitive: 'refusal',
  } as const),
)

const failures: ReadonlySet<string> = new Set(['error', 'network_error', 'insufficient_system_resource'])

/** Some services send the same thinking under two names: the first one counts. */
function thinkingField(delta: Delta): (typeof thinkingFields)[number] | undefined {
  for (const name of thinkingFields) if (isNonEmptyText(delta[name])) return name
  return undefined
}

const thinkingFields = ['reasoning_content', 'reasoning', 'reasoning_text'] as const

function argumentText(value: unknown): string {
  if (typeof value === 'string') return value
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : ''
}

/**
 * Whether a fragment that refers to a call begins a new one nevertheless: it has another name; or the same name again and the
 * beginning of an object, while the object of the call is complete. A fragment without a name never begins a call.
 */
function beginsNewCall(call: Call, { name, args }: ReadFragment): boolean {
  if (name === '' || call.name === '') return false
  return name !== call.name || (args.trimStart().startsWith('{') && isCompleteJson(call.args))
}

function isCompleteJson(text: string): boolean {
  if (!text.trimEnd().endsWith('}')) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const callOf = ({ id, name, args, extra }: Call): ReplyToolCall => ({
  type: 'tool_call',
  id,
  name,
  input: args.trim() === '' ? '{}' : args,
  ...(extra !== undefined && withProviderData(wireName, { bound: { extra_content: extra } })),
})

interface UsageOptions {
  readonly reasoningOutsideOutput?: boolean
}

/** A part of a call as a chunk has it; the texts are empty where it has none. */
interface ReadFragment {
  readonly index: number | undefined
  readonly id: string
  readonly name: string
  readonly args: string
}

interface Call {
  readonly index: number | undefined
  id: string
  name: string
  args: string
  /** The id of its `tool_start` event. */
  announcedId?: string
  /** For instance Gemini's signatures. */
  extra?: unknown
}

interface Chunk {
  readonly id?: unknown
  readonly choices?: readonly Choice[]
  readonly usage?: RawUsage | null
  readonly x_groq?: { readonly usage?: RawUsage; readonly error?: unknown }
  readonly error?: unknown
  readonly object?: unknown
}

interface Choice {
  readonly delta?: Delta | null
  readonly message?: Delta | null
  readonly finish_reason?: unknown
  readonly usage?: RawUsage
  readonly error?: unknown
}

type Delta = { readonly [Field in (typeof thinkingFields)[number]]?: unknown } & {
  readonly content?: unknown
  readonly refusal?: unknown
  readonly reasoning_details?: unknown
  readonly tool_calls?: unknown
  readonly function_call?: Fragment['function']
}

interface ContentPart {
  readonly type?: unknown
  readonly text?: unknown
  readonly thinking?: unknown
}

interface Fragment {
  readonly index?: unknown
  readonly id?: unknown
  readonly function?: { readonly name?: unknown; readonly arguments?: unknown } | null
  readonly extra_content?: unknown
}
