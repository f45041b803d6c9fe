import { createParser, type ParseError } from 'eventsource-parser'
import type { ModelEvent } from '../core/provider.ts'
import type { HttpResponse } from '../platform/http.ts'
import { type Decoder, StreamError } from './wire.ts'

/**
 * Reads a reply from the bytes of a stream. The outcome does not depend on how the bytes are split into chunks: events
 * before a failure are still returned, and what follows the reply is ignored.
 */
export class ReplyReader {
  readonly #decoder: Decoder
  readonly #sse: SseReader
  #events: ModelEvent[] = []
  #isOver = false
  #isAlive = false
  #failure: StreamError | undefined

  constructor(decoder: Decoder) {
    this.#decoder = decoder
    this.#sse = new SseReader((data) => this.#take(data))
  }

  /** Why no more events will come. Events from before the failure can still be taken. */
  get failure(): StreamError | undefined {
    return this.#failure
  }

  read(chunk: Uint8Array): void {
    if (this.#isOver) return
    try {
      this.#sse.read(chunk)
    } catch (error) {
      this.#fail(error)
    }
  }

  /** Called when the connection has ended. Afterwards there is a reply or a failure. */
  end(): void {
    try {
      this.#sse.end()
      if (this.#isOver) return
      this.#decoder.end(this.#events, false)
      this.#isOver = true
      if (this.#events.at(-1)?.type !== 'reply')
        throw new StreamError('the stream ended before the reply was complete', { code: 'stream_cut' })
    } catch (error) {
      this.#fail(error)
    }
  }

  /** Whether, since the last call, the service sent content that becomes no event. */
  get isAlive(): boolean {
    const isAlive = this.#isAlive
    this.#isAlive = false
    return isAlive
  }

  /** The events since the last call. The reply is the last one. */
  takeEvents(): ModelEvent[] {
    const events = this.#events
    if (events.length > 0) this.#events = []
    return events
  }

  #take(data: string): void {
    if (this.#isOver) return
    const events = this.#events
    const before = events.length
    if (data === '[DONE]') this.#decoder.end(events, true)
    else {
      const payload = parse(data)
      this.#decoder.read(payload, events)
      if (events.length === before) this.#isAlive ||= isHiddenContent(payload)
    }
    if (events[events.length - 1]?.type === 'reply') this.#isOver = true
  }

  #fail(error: unknown): void {
    this.#isOver = true
    this.#failure ??=
      error instanceof StreamError
        ? error
        : new StreamError('the stream holds something that makes no sense', { code: 'bad_stream', cause: error })
  }
}

/** Whether a payload holds content that is not shown. Pings do not count: a service could send them without end. */
function isHiddenContent(payload: unknown): boolean {
  const { type, delta } = (payload ?? {}) as { type?: unknown; delta?: unknown }
  if (type === 'content_block_delta') return hasContent(delta)
  return typeof type === 'string' && /^response\.(?!created|in_progress|queued)/.test(type)
}

/** Whether a delta has a field besides its type that is not empty. */
function hasContent(delta: unknown): boolean {
  const { type: _, ...pieces } = (delta ?? {}) as { type?: unknown }
  return Object.values(pieces).some((piece) => piece !== '' && piece !== null)
}

/** The body as a stream of events. Some services answer with one JSON document; at most about `maxBytes` of it are read. */
export function bodyChunks({ headers, body }: HttpResponse, maxBytes = maxEventLength): AsyncIterable<Uint8Array> {
  const isJson = /^application\/json\b/i.test(headers['content-type'] ?? '')
  return isJson ? asOneEvent(body, Math.min(maxBytes, maxEventLength)) : body
}

async function* asOneEvent(body: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > maxBytes) break
  }
  // Some streams have the content type of JSON.
  const isJson = /^\s*[{[]/.test(text)
  yield new TextEncoder().encode(isJson ? `data: ${text.replaceAll(/\s*[\r\n]+\s*/g, ' ')}\n\ndata: [DONE]\n\n` : text)
}

/**
 * Reads server-sent events from bytes, however they are split into chunks. The parser takes text, so the decoder holds
 * back the bytes of an incomplete character.
 */
export class SseReader {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  readonly #parser: ReturnType<typeof createParser>
  #isFirst = true

  /** `onData` gets the payload of each event. */
  constructor(onData: (data: string) => void) {
    this.#parser = createParser({ onEvent: (event) => onData(event.data), onError, maxBufferSize: maxEventLength })
    // The parser would look for a byte order mark that was encoded twice, but only in the first piece.
    this.#parser.feed('')
  }

  read(chunk: Uint8Array): void {
    if (chunk.length <= maxPieceLength) this.#feed(chunk)
    else for (let at = 0; at < chunk.length; at += maxPieceLength) this.#feed(chunk.subarray(at, at + maxPieceLength))
  }

  /** Adds the empty line after the last event, which some servers leave out. */
  end(): void {
    this.#parser.feed(`${this.#decoder.decode()}\n\n`)
  }

  #feed(bytes: Uint8Array): void {
    const text = this.#decoder.decode(bytes, { stream: true })
    this.#parser.feed(this.#isFirst ? this.#withoutByteOrderMark(text) : text)
  }

  /** Removes a byte order mark at the start. The decoders of some runtimes would remove two if it is split. */
  #withoutByteOrderMark(text: string): string {
    this.#isFirst = text === ''
    return text.startsWith('\uFEFF') ? text.slice(1) : text
  }
}

/** If a piece has mixed line endings, the parser searches the rest of it for each line, so pieces are kept short. */
const maxPieceLength = 16 * 1024

/** In characters. The longest legitimate event holds an image. */
const maxEventLength = 64 * 1024 * 1024

/** Unknown fields and the like are ignored, as the standard says. */
function onError({ type }: ParseError): void {
  if (type !== 'max-buffer-size-exceeded') return
  throw new StreamError(`the stream holds an event of more than ${maxEventLength} characters`, { code: 'bad_stream' })
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    // Neither the text nor the parser's error, which quotes it, is shown: it may hold anything.
    throw new StreamError(`the stream holds ${data.length} characters that are not JSON`, { code: 'bad_json' })
  }
}
