import { isPlainJson } from '../../core/plain-json.ts'
import type { ModelEvent, ModelReply, StopReason } from '../../core/provider.ts'
import type { ProviderData, TurnUsage } from '../../core/turn.ts'
import { StreamError } from '../wire.ts'
import type { StoredPart } from './ai-sdk-prompt.ts'

/** The fields of a stream part that are used. Versions differ in which they set. */
export interface StreamPart extends FinishPart {
  readonly type: string
  readonly id?: string
  readonly delta?: string
  readonly toolCallId?: string
  readonly toolName?: string
  /** JSON text. */
  readonly input?: unknown
  readonly inputEncoding?: string
  readonly providerExecuted?: boolean
  /** A preliminary result, which a later one replaces. */
  readonly preliminary?: boolean
  readonly mediaType?: string
  readonly data?: unknown
  readonly error?: unknown
}

type Content = ModelReply['content'][number]

/** Turns the parts of one stream into events. `from` is stored with data that only the same model may get back. */
export class PartReader {
  readonly #from: string
  readonly #content: (TextPart | Call | Content)[] = []
  /** Open texts by their ids, and texts in order until they are emitted. */
  readonly #open = { text: new Map<string, TextPart>(), thinking: new Map<string, TextPart>() }
  readonly #pending: Record<TextPart['kind'], TextPart[]> = { text: [], thinking: [] }
  readonly #calls = new Map<string, Call>()
  #hasOwnParts = false
  #finish: StreamPart | undefined
  #id: string | undefined

  constructor(from: string) {
    this.#from = from
  }

  /** The events of one part. Unknown parts are ignored. */
  read(part: StreamPart): readonly ModelEvent[] {
    switch (part.type) {
      case 'text-start':
      case 'text-delta':
      case 'text-end':
        return this.#addText('text', part)
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        return this.#addText('thinking', part)
      case 'tool-input-start':
        return part.providerExecuted ? none : this.#startCall(part, part.id)
      case 'tool-input-delta':
      case 'tool-input-end':
        return this.#addArguments(part)
      case 'tool-call':
        return part.providerExecuted ? this.#storePart(part) : this.#endCall(part)
      case 'tool-result':
        return part.preliminary ? none : this.#storePart(part)
      case 'custom':
        return this.#storePart(part)
      case 'file':
        return this.#addFile(part)
      case 'response-metadata':
        this.#id = part.id ?? this.#id // a later one may have only a time or a model
        return none
      case 'finish':
        this.#finish = part
        return none
      default:
        return none
    }
  }

  /** The last events, with the reply. Throws if the stream was cut off. */
  end(): readonly ModelEvent[] {
    const finish = this.#finish
    if (!finish || reasonOf(finish) === 'interrupted')
      throw new StreamError('the stream ended before the answer was complete', { code: 'interrupted' })
    const stop = stopOf(finish)
    const [unfinished] = this.#calls.values()
    // The loop does not run a call that the output limit cut off; a call that was cut off otherwise must not reach it.
    if (unfinished && stop !== 'length')
      throw new StreamError(`the call of ${unfinished.name} was never completed`, { code: 'interrupted' })
    const events: ModelEvent[] = []
    for (const kind of ['text', 'thinking'] as const) {
      for (const textPart of this.#pending[kind]) textPart.isOver = true
      events.push(...this.#takePending(kind))
    }
    for (const { id } of this.#calls.values()) events.push({ type: 'tool_end', id })
    const id = this.#id
    events.push({
      type: 'reply',
      content: this.#blocks(),
      usage: usageOf(finish),
      stop,
      ...(id !== undefined && { responseId: id }),
    })
    return events
  }

  #addText(kind: TextPart['kind'], { type, id = '', delta, providerMetadata }: StreamPart): readonly ModelEvent[] {
    const open = this.#open[kind]
    let textPart = open.get(id)
    if (!textPart || type.endsWith('-start')) {
      if (textPart) textPart.isOver = true
      textPart = { kind, text: '', unshown: '', isOver: false, metadata: undefined }
      open.set(id, textPart)
      this.#content.push(textPart)
      this.#pending[kind].push(textPart)
    }
    // Later metadata is more complete: a signature comes at the end of the text.
    textPart.metadata = providerMetadata ?? textPart.metadata
    if (typeof delta === 'string') {
      textPart.text += delta
      textPart.unshown += delta
    }
    if (type.endsWith('-end')) {
      textPart.isOver = true
      open.delete(id)
    }
    return this.#takePending(kind)
  }

  /** Hands out one text after the other, even if they are streamed at once, so that the joined deltas equal the reply. */
  #takePending(kind: TextPart['kind']): readonly ModelEvent[] {
    const unshown = this.#pending[kind]
    const events: ModelEvent[] = []
    for (let textPart = unshown[0]; textPart; textPart = unshown[0]) {
      if (textPart.unshown !== '') events.push({ type: kind, delta: textPart.unshown })
      textPart.unshown = ''
      if (!textPart.isOver) break
      unshown.shift()
    }
    return events
  }

  #startCall({ toolName: name = '', inputEncoding, providerMetadata: metadata }: StreamPart, id = ''): ModelEvent[] {
    const call: Call = {
      kind: 'call',
      id,
      name,
      args: '',
      isText: inputEncoding === 'text',
      input: undefined,
      metadata,
    }
    this.#calls.set(id, call)
    this.#content.push(call)
    return [{ type: 'tool_start', id, name }]
  }

  #addArguments({ id = '', delta, providerMetadata }: StreamPart): readonly ModelEvent[] {
    const call = this.#calls.get(id)
    if (!call) return none
    call.metadata = providerMetadata ?? call.metadata
    // Input that is plain text is emitted once its JSON has arrived.
    if (typeof delta !== 'string' || delta === '' || call.isText) return none
    call.args += delta
    return [{ type: 'tool_args', id, delta }]
  }

  #endCall(part: StreamPart): readonly ModelEvent[] {
    const { toolCallId: id = '', toolName, input, providerMetadata } = part
    const events: ModelEvent[] = this.#calls.has(id) ? [] : this.#startCall(part, id)
    const call = this.#calls.get(id)!
    this.#calls.delete(id)
    call.name = toolName ?? call.name
    call.metadata = providerMetadata ?? call.metadata
    call.input = typeof input === 'string' ? input : (JSON.stringify(input) ?? '')
    // A call without arguments comes without deltas, yet its input is `{}`.
    const rest = call.input.startsWith(call.args) ? call.input.slice(call.args.length) : ''
    if (rest !== '') events.push({ type: 'tool_args', id, delta: rest })
    events.push({ type: 'tool_end', id })
    return events
  }

  #addFile({ mediaType = 'application/octet-stream', data }: StreamPart): readonly ModelEvent[] {
    const base64 = base64Of(data)
    if (base64 === undefined) return none
    this.#content.push({ type: mediaType.startsWith('image/') ? 'image' : 'document', mediaType, data: base64 })
    return none
  }

  /** A part that is not shown but must be sent back is stored with an empty text. */
  #storePart(part: StreamPart): readonly ModelEvent[] {
    const copy = plainCopy(part)
    if (part.type !== 'custom') this.#hasOwnParts = true
    if (copy) this.#content.push({ type: 'text', text: '', ...this.#kept({ part: copy }) })
    return this.#removeCall(part)
  }

  /** Some packages say only at the end of a call that the provider runs it itself. */
  #removeCall({ type, toolCallId = '' }: StreamPart): readonly ModelEvent[] {
    const call = type === 'tool-call' ? this.#calls.get(toolCallId) : undefined
    if (!call) return none
    this.#calls.delete(toolCallId)
    this.#content.splice(this.#content.indexOf(call), 1)
    return [{ type: 'tool_end', id: call.id }]
  }

  /** A reply without content stays empty, whatever metadata came with it. */
  #blocks(): Content[] {
    const hasContent = (item: TextPart | Call | Content): boolean =>
      'kind' in item ? item.kind === 'call' || item.text !== '' : item.type !== 'text'
    if (!this.#hasOwnParts && !this.#content.some(hasContent)) return []
    return this.#content.flatMap((item) => {
      if (!('kind' in item)) return [item]
      const metadata = plainCopy(item.metadata)
      const stored = metadata && this.#kept({ providerMetadata: metadata })
      if (item.kind === 'call')
        return [{ type: 'tool_call', id: item.id, name: item.name, input: item.input ?? item.args, ...stored }]
      if (item.text === '' && !stored) return []
      if (item.kind === 'text') return [{ type: 'text', text: item.text, ...stored }]
      return [{ type: 'thinking', text: item.text, ...signatureIn(metadata), ...stored }]
    })
  }

  #kept(stored: StoredPart): { providerData: ProviderData } {
    return { providerData: { 'ai-sdk': { from: this.#from, ...stored } } }
  }
}

interface TextPart {
  readonly kind: 'text' | 'thinking'
  text: string
  /** The part that was not emitted yet. */
  unshown: string
  isOver: boolean
  metadata: ProviderData | undefined
}

interface Call {
  readonly kind: 'call'
  readonly id: string
  name: string
  /** As streamed; `input` is the final value. */
  args: string
  readonly isText: boolean
  input: string | undefined
  metadata: ProviderData | undefined
}

const none: readonly ModelEvent[] = []

/** A copy that can be stored and frozen; `undefined` if the value is not plain data. */
function plainCopy(value: unknown): Record<string, unknown> | undefined {
  if (value === undefined) return undefined
  try {
    const copy: unknown = JSON.parse(JSON.stringify(value))
    return isPlainJson(copy) ? copy : undefined
  } catch {
    return undefined
  }
}

function signatureIn(metadata: ProviderData | undefined): { signature: string } | undefined {
  const { signature } = (metadata?.anthropic ?? {}) as { signature?: unknown }
  return typeof signature === 'string' ? { signature } : undefined
}

/** V4 wraps the data in an object. A file that is only given as a URL is not fetched. */
function base64Of(data: unknown): string | undefined {
  if (typeof data === 'string') return data
  if (data instanceof Uint8Array) {
    let binary = ''
    for (let i = 0; i < data.length; i += 0x8000) binary += String.fromCharCode(...data.subarray(i, i + 0x8000))
    return btoa(binary)
  }
  if (typeof data !== 'object' || data === null || !('data' in data) || 'url' in data) return undefined
  return base64Of(data.data)
}

/** The part that holds the finish reason and the usage. */
interface FinishPart {
  readonly usage?: unknown
  readonly finishReason?: unknown
  readonly providerMetadata?: ProviderData
}

/** The AI SDK's finish reason. V2 has a string, the others an object. */
function reasonOf({ finishReason }: FinishPart): string {
  const isObject = typeof finishReason === 'object' && finishReason !== null
  return String(isObject && 'unified' in finishReason ? finishReason.unified : finishReason)
}

const stopOf = (finish: FinishPart): StopReason => stops.get(reasonOf(finish)) ?? 'other'

const stops: ReadonlyMap<string, StopReason> = new Map([
  ['stop', 'end'],
  ['tool-calls', 'tool_use'],
  ['length', 'length'],
  ['content-filter', 'refusal'],
])

/** The usage as any version reports it. Unknown input and output count as 0; unknown cache counts are left out. */
function usageOf({ usage, providerMetadata }: FinishPart): TurnUsage {
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = (usage ?? {}) as ReportedUsage
  if (typeof inputTokens !== 'object' || inputTokens === null) {
    // Version 2 has no field for cache writes, and Anthropic's package counts input without the cache.
    const anthropic = providerMetadata?.anthropic as { cacheCreationInputTokens?: unknown } | undefined
    const total = count(inputTokens) ?? 0
    const cacheRead = count(cachedInputTokens)
    const isExclusive = anthropic !== undefined || (cacheRead ?? 0) > total
    const input = isExclusive ? total : total - (cacheRead ?? 0)
    const output = outputOf(outputTokens, reasoningTokens)
    return { input, ...output, ...cacheOf(cacheRead, anthropic?.cacheCreationInputTokens) }
  }
  const { total, noCache, cacheRead, cacheWrite } = inputTokens as Record<string, unknown>
  const rest = (count(total) ?? 0) - (count(cacheRead) ?? 0) - (count(cacheWrite) ?? 0)
  const written = (outputTokens ?? {}) as Record<string, unknown>
  const output = outputOf(written.total, written.reasoning)
  return { input: count(noCache) ?? Math.max(rest, 0), ...output, ...cacheOf(cacheRead, cacheWrite) }
}

function outputOf(total: unknown, thought: unknown): Pick<TurnUsage, 'output' | 'reasoning'> {
  const output = count(total) ?? 0
  const reasoning = count(thought)
  return { output, ...(reasoning !== undefined && { reasoning: Math.min(reasoning, output) }) }
}

function cacheOf(read: unknown, written: unknown): Pick<TurnUsage, 'cacheRead' | 'cacheCreation'> {
  const cacheRead = count(read)
  const cacheCreation = count(written)
  return { ...(cacheRead !== undefined && { cacheRead }), ...(cacheCreation !== undefined && { cacheCreation }) }
}

const count = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined

interface ReportedUsage {
  readonly inputTokens?: unknown
  readonly outputTokens?: unknown
  readonly cachedInputTokens?: unknown
  readonly reasoningTokens?: unknown
}
