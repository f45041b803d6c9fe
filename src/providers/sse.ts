import { createParser, type ParseError } from 'eventsource-parser'
import type { ModelEvent } from '../core/provider.ts'
import type { HttpResponse } from '../platform/http.ts'
import { type Decoder, StreamError } from './wire.ts'

/**
 * Reads a reply out of the bytes of a stream. What comes out does not depend on how the bytes are cut into chunks: a
 * failure lies behind all that came before it, and what follows the reply is not looked at.
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

  /** Why no more events will come; those before it are still to be taken. */
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

  /** The connection has ended. Afterwards there is a reply, or a failure. */
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

  /** Since events were last taken, the service said that it is at work on something that is not shown. */
  get isAlive(): boolean {
    const isAlive = this.#isAlive
    this.#isAlive = false
    return isAlive
  }

  /** What came since the last time, the reply at its end. */
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
      if (events.length === before) this.#isAlive ||= isWork(payload)
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

/** Pieces of what is not shown. Whatever else a service may send to keep the line open is none: it would never end. */
function isWork(payload: unknown): boolean {
  const { type, delta } = (payload ?? {}) as { type?: unknown; delta?: unknown }
  if (type === 'content_block_delta') return isFilled(delta)
  return typeof type === 'string' && /^response\.(?!created|in_progress|queued)/.test(type)
}

/** A piece that has more than its type. */
function isFilled(delta: unknown): boolean {
  const { type: _, ...pieces } = (delta ?? {}) as { type?: unknown }
  return Object.values(pieces).some((piece) => piece !== '' && piece !== null)
}

/** Some services answer in one piece, above all when they fail. Of that, a little more than `mostBytes` is read at most. */
export function eventsOf({ headers, body }: HttpResponse, mostBytes = longestEvent): AsyncIterable<Uint8Array> {
  const isOne = /^application\/json\b/i.test(headers['content-type'] ?? '')
  return isOne ? asOneEvent(body, Math.min(mostBytes, longestEvent)) : body
}

async function* asOneEvent(body: AsyncIterable<Uint8Array>, mostBytes: number): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > mostBytes) break
  }
  // What begins like a stream is one, whatever it is called.
  const isOne = /^\s*[{[]/.test(text)
  yield new TextEncoder().encode(isOne ? `data: ${text.replaceAll(/\s*[\r\n]+\s*/g, ' ')}\n\ndata: [DONE]\n\n` : text)
}

/**
 * Reads server-sent events out of bytes, however they are cut into chunks. A parser takes text, so the decoder holds
 * back the bytes of a character until all of them are there.
 */
export class SseReader {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  readonly #parser: ReturnType<typeof createParser>
  #isFirst = true

  /** `onData` gets the payload of each event. */
  constructor(onData: (data: string) => void) {
    this.#parser = createParser({ onEvent: (event) => onData(event.data), onError, maxBufferSize: longestEvent })
    // Only in its very first piece would the parser look for a byte order mark that was encoded twice.
    this.#parser.feed('')
  }

  read(chunk: Uint8Array): void {
    if (chunk.length <= longestPiece) this.#feed(chunk)
    else for (let at = 0; at < chunk.length; at += longestPiece) this.#feed(chunk.subarray(at, at + longestPiece))
  }

  /** Some servers leave out the empty line after their last event. */
  end(): void {
    this.#parser.feed(`${this.#decoder.decode()}\n\n`)
  }

  #feed(bytes: Uint8Array): void {
    const text = this.#decoder.decode(bytes, { stream: true })
    this.#parser.feed(this.#isFirst ? this.#withoutMark(text) : text)
  }

  /** One byte order mark at the beginning is none of the text. Decoders of some runtimes take two where it is cut. */
  #withoutMark(text: string): string {
    this.#isFirst = text === ''
    return text.startsWith('\uFEFF') ? text.slice(1) : text
  }
}

/** With several kinds of line ends in a piece, the parser looks through the rest of it for each line. */
const longestPiece = 16 * 1024

/** In characters. The longest that anybody means to send is an image. */
const longestEvent = 64 * 1024 * 1024

/** Unknown fields and the like are passed over, as the standard has it. */
function onError({ type }: ParseError): void {
  if (type !== 'max-buffer-size-exceeded') return
  throw new StreamError(`the stream holds an event of more than ${longestEvent} characters`, { code: 'bad_stream' })
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch {
    // Nothing of it is quoted, nor its cause, which would: it may hold anything.
    throw new StreamError(`the stream holds ${data.length} characters that are not JSON`, { code: 'bad_json' })
  }
}

/** The beginning of a text, which never ends in half a character. */
export function cut(text: string, length: number): string {
  const end = /[\uD800-\uDBFF]/.test(text[length - 1] ?? '') ? length - 1 : length
  return text.slice(0, end)
}
