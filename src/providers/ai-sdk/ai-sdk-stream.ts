import { isPlainJson } from '../../core/plain-json.ts'
import type { ModelEvent, ModelReply, StopReason } from '../../core/provider.ts'
import type { ProviderData, TurnUsage } from '../../core/turn.ts'
import { StreamError } from '../wire.ts'
import type { Kept } from './ai-sdk-prompt.ts'

/** A part of a stream as far as it matters here; versions differ in what they fill in. */
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
  /** A result that another one will replace. */
  readonly preliminary?: boolean
  readonly mediaType?: string
  readonly data?: unknown
  readonly error?: unknown
}

type Content = ModelReply['content'][number]

/** What the parts of one stream amount to. `from` is noted with all that only the same model may get back. */
export class PartReader {
  readonly #from: string
  readonly #content: (Said | Call | Content)[] = []
  /** Texts by their ids while they are open, and in their order until they have been shown. */
  readonly #open = { text: new Map<string, Said>(), thinking: new Map<string, Said>() }
  readonly #unshown: Record<Said['kind'], Said[]> = { text: [], thinking: [] }
  readonly #calls = new Map<string, Call>()
  #hasOwnParts = false
  #finish: StreamPart | undefined

  constructor(from: string) {
    this.#from = from
  }

  /** The events of one part. What is not known is passed over. */
  read(part: StreamPart): readonly ModelEvent[] {
    switch (part.type) {
      case 'text-start':
      case 'text-delta':
      case 'text-end':
        return this.#say('text', part)
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        return this.#say('thinking', part)
      case 'tool-input-start':
        return part.providerExecuted ? none : this.#startCall(part, part.id)
      case 'tool-input-delta':
      case 'tool-input-end':
        return this.#argue(part)
      case 'tool-call':
        return part.providerExecuted ? this.#keepPart(part) : this.#endCall(part)
      case 'tool-result':
        return part.preliminary ? none : this.#keepPart(part)
      case 'custom':
        return this.#keepPart(part)
      case 'file':
        return this.#addFile(part)
      case 'finish':
        this.#finish = part
        return none
      default:
        return none
    }
  }

  /** The last events, with the reply. Throws when the stream broke off. */
  end(): readonly ModelEvent[] {
    const finish = this.#finish
    if (!finish || reasonOf(finish) === 'interrupted')
      throw new StreamError('the stream ended before the answer was complete', { code: 'interrupted' })
    const stop = stopOf(finish)
    const [unfinished] = this.#calls.values()
    // The engine runs no call that the output limit cut off; one that was cut off by anything else must not reach it.
    if (unfinished && stop !== 'length')
      throw new StreamError(`the call of ${unfinished.name} was never completed`, { code: 'interrupted' })
    const events: ModelEvent[] = []
    for (const kind of ['text', 'thinking'] as const) {
      for (const said of this.#unshown[kind]) said.isOver = true
      events.push(...this.#show(kind))
    }
    for (const { id } of this.#calls.values()) events.push({ type: 'tool_end', id })
    events.push({ type: 'reply', content: this.#blocks(), usage: usageOf(finish), stop })
    return events
  }

  #say(kind: Said['kind'], { type, id = '', delta, providerMetadata }: StreamPart): readonly ModelEvent[] {
    const open = this.#open[kind]
    let said = open.get(id)
    if (!said || type.endsWith('-start')) {
      if (said) said.isOver = true
      said = { kind, text: '', unshown: '', isOver: false, metadata: undefined }
      open.set(id, said)
      this.#content.push(said)
      this.#unshown[kind].push(said)
    }
    // What comes later knows more: a signature is there when the text is complete.
    said.metadata = providerMetadata ?? said.metadata
    if (typeof delta === 'string') {
      said.text += delta
      said.unshown += delta
    }
    if (type.endsWith('-end')) {
      said.isOver = true
      open.delete(id)
    }
    return this.#show(kind)
  }

  /** One text after the other, even if they are written at once: joined, the deltas are what the reply holds. */
  #show(kind: Said['kind']): readonly ModelEvent[] {
    const unshown = this.#unshown[kind]
    const events: ModelEvent[] = []
    for (let said = unshown[0]; said; said = unshown[0]) {
      if (said.unshown !== '') events.push({ type: kind, delta: said.unshown })
      said.unshown = ''
      if (!said.isOver) break
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

  #argue({ id = '', delta, providerMetadata }: StreamPart): readonly ModelEvent[] {
    const call = this.#calls.get(id)
    if (!call) return none
    call.metadata = providerMetadata ?? call.metadata
    // Text that is no JSON yet is shown once its JSON is there.
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

  /** Nothing to show, but the provider wants it back: it travels with an empty text. */
  #keepPart(part: StreamPart): readonly ModelEvent[] {
    const copy = plain(part)
    if (part.type !== 'custom') this.#hasOwnParts = true
    if (copy) this.#content.push({ type: 'text', text: '', ...this.#kept({ part: copy }) })
    return this.#withdraw(part)
  }

  /** Some packages say only at the end of a call that the provider runs it. */
  #withdraw({ type, toolCallId = '' }: StreamPart): readonly ModelEvent[] {
    const call = type === 'tool-call' ? this.#calls.get(toolCallId) : undefined
    if (!call) return none
    this.#calls.delete(toolCallId)
    this.#content.splice(this.#content.indexOf(call), 1)
    return [{ type: 'tool_end', id: call.id }]
  }

  /** A reply without a word stays an empty one, whatever the provider noted beside it. */
  #blocks(): Content[] {
    const isSomething = (item: Said | Call | Content): boolean =>
      'kind' in item ? item.kind === 'call' || item.text !== '' : item.type !== 'text'
    if (!this.#hasOwnParts && !this.#content.some(isSomething)) return []
    return this.#content.flatMap((item) => {
      if (!('kind' in item)) return [item]
      const metadata = plain(item.metadata)
      const kept = metadata && this.#kept({ providerMetadata: metadata })
      if (item.kind === 'call')
        return [{ type: 'tool_call', id: item.id, name: item.name, input: item.input ?? item.args, ...kept }]
      if (item.text === '' && !kept) return []
      if (item.kind === 'text') return [{ type: 'text', text: item.text, ...kept }]
      return [{ type: 'thinking', text: item.text, ...signatureIn(metadata), ...kept }]
    })
  }

  #kept(kept: Kept): { providerData: ProviderData } {
    return { providerData: { 'ai-sdk': { from: this.#from, ...kept } } }
  }
}

interface Said {
  readonly kind: 'text' | 'thinking'
  text: string
  /** What of it was not yet yielded. */
  unshown: string
  isOver: boolean
  metadata: ProviderData | undefined
}

interface Call {
  readonly kind: 'call'
  readonly id: string
  name: string
  /** As streamed; `input` is what counts. */
  args: string
  readonly isText: boolean
  input: string | undefined
  metadata: ProviderData | undefined
}

const none: readonly ModelEvent[] = []

/** A copy that may be stored and frozen; nothing where it is no data. */
function plain(value: unknown): Record<string, unknown> | undefined {
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

/** V4 wraps what older versions hand over bare. A file that lies elsewhere is not fetched. */
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

/** The part that says how an answer ended and what it cost. */
export interface FinishPart {
  readonly usage?: unknown
  readonly finishReason?: unknown
  readonly providerMetadata?: ProviderData
}

/** Why the model stopped, in the words of the AI SDK. V2 gives a word, the others an object. */
export function reasonOf({ finishReason }: FinishPart): string {
  const isObject = typeof finishReason === 'object' && finishReason !== null
  return String(isObject && 'unified' in finishReason ? finishReason.unified : finishReason)
}

export const stopOf = (finish: FinishPart): StopReason => stops.get(reasonOf(finish)) ?? 'other'

const stops: ReadonlyMap<string, StopReason> = new Map([
  ['stop', 'end'],
  ['tool-calls', 'tool_use'],
  ['length', 'length'],
  ['content-filter', 'refusal'],
])

/** Tokens, as any version counts them. What is unknown counts as none, or is left out where that can be said. */
export function usageOf({ usage, providerMetadata }: FinishPart): TurnUsage {
  const { inputTokens, outputTokens, cachedInputTokens } = (usage ?? {}) as ReportedUsage
  if (typeof inputTokens !== 'object' || inputTokens === null) {
    // Version 2 has no word for what was written to the cache, and Anthropic's package counts input without the cache.
    const anthropic = providerMetadata?.anthropic as { cacheCreationInputTokens?: unknown } | undefined
    const total = count(inputTokens) ?? 0
    const cacheRead = count(cachedInputTokens)
    const isExclusive = anthropic !== undefined || (cacheRead ?? 0) > total
    const input = isExclusive ? total : total - (cacheRead ?? 0)
    return { input, output: count(outputTokens) ?? 0, ...cacheOf(cacheRead, anthropic?.cacheCreationInputTokens) }
  }
  const { total, noCache, cacheRead, cacheWrite } = inputTokens as Record<string, unknown>
  const rest = (count(total) ?? 0) - (count(cacheRead) ?? 0) - (count(cacheWrite) ?? 0)
  const output = count((outputTokens as Record<string, unknown> | undefined)?.total) ?? 0
  return { input: count(noCache) ?? Math.max(rest, 0), output, ...cacheOf(cacheRead, cacheWrite) }
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
}
