import type { Message } from '../core/turn.ts'
import { type Fields, RawJson, type Wire, type WireItem } from './wire.ts'

/**
 * Builds request bodies. Each message is written and encoded once and cached as bytes; a body is a few views on these
 * bytes. There is one builder for each wire, service and model, because the bytes of a message depend on them.
 */
export class BodyBuilder {
  readonly #wire: Wire
  readonly #breakpoint: Uint8Array
  readonly #buffer = new AppendBuffer()
  readonly #bytes = new WeakMap<Message, Uint8Array>()
  readonly #lists = new WeakMap<readonly Message[], Progress>()
  #lastHead: EncodedHead = { text: '', bytes: empty }

  constructor(wire: Wire) {
    this.#wire = wire
    const patch = wire.breakpointPatch
    this.#breakpoint = patch ? encode(patch.text + patch.end) : empty
  }

  /** The body in parts. The messages at the indexes `breakpoints` get a cache breakpoint. */
  build(
    fields: Fields,
    leadingItems: readonly object[],
    messages: readonly Message[],
    breakpoints: readonly number[],
  ): Uint8Array[] {
    const head = this.#headOf(fields, leadingItems)
    const parts = this.#conversation(messages, breakpoints)
    const first = parts.findIndex((part) => part.length > 0)
    // Every message is cached with a leading comma, which the first item of the list must not have.
    if (leadingItems.length === 0 && first >= 0) parts[first] = parts[first]!.subarray(1)
    return [head, ...parts, closing]
  }

  #conversation(messages: readonly Message[], breakpoints: readonly number[]): Uint8Array[] {
    if (breakpoints.length === 0 || !this.#wire.withCacheBreakpoint) return this.#views(messages, messages.length)
    const parts: Uint8Array[] = []
    let from = 0
    for (const at of breakpoints) {
      parts.push(...(from === 0 ? this.#views(messages, at) : this.#uncachedViews(messages, from, at)))
      parts.push(...this.#withBreakpoint(messages[at]!))
      from = at + 1
    }
    parts.push(...this.#uncachedViews(messages, from, messages.length))
    return parts
  }

  #withBreakpoint(message: Message): Uint8Array[] {
    const { breakpointPatch, withCacheBreakpoint, writeMessage } = this.#wire
    if (!breakpointPatch || message.content.at(-1)?.type === 'thinking')
      return [encode(writeItems(withCacheBreakpoint!(writeMessage(message))))]
    const bytes = this.#bytesOf(message)
    return [bytes.subarray(0, bytes.length - breakpointPatch.end.length), this.#breakpoint]
  }

  /** Views on the first `count` messages, as few as possible. For a list that has grown, only the new messages are added. */
  #views(messages: readonly Message[], count: number): Uint8Array[] {
    let progress = this.#lists.get(messages)
    if (!progress || progress.count > count) this.#lists.set(messages, (progress = { count: 0, views: [] }))
    for (; progress.count < count; progress.count++)
      appendView(progress.views, this.#bytesOf(messages[progress.count]!))
    return [...progress.views]
  }

  #uncachedViews(messages: readonly Message[], from: number, to: number): Uint8Array[] {
    const views: Uint8Array[] = []
    for (let i = from; i < to; i++) appendView(views, this.#bytesOf(messages[i]!))
    return views
  }

  #bytesOf(message: Message): Uint8Array {
    let bytes = this.#bytes.get(message)
    if (!bytes) this.#bytes.set(message, (bytes = this.#buffer.append(writeItems(this.#wire.writeMessage(message)))))
    return bytes
  }

  /** The body up to the conversation. It is encoded again only if its text has changed. */
  #headOf(fields: Fields, leadingItems: readonly object[]): Uint8Array {
    const last = this.#lastHead
    if (last.fields === fields && last.leadingItems === leadingItems) return last.bytes
    const text = `${writeFields(fields)}"${this.#wire.conversationField}":[${writeList(leadingItems)}`
    const bytes = last.text === text ? last.bytes : encode(text.replaceAll(badEscapes, replaced))
    this.#lastHead = { fields, leadingItems, text, bytes }
    return bytes
  }
}

interface EncodedHead {
  readonly fields?: Fields
  readonly leadingItems?: readonly object[]
  readonly text: string
  readonly bytes: Uint8Array
}

interface Progress {
  count: number
  readonly views: Uint8Array[]
}

/** An append-only buffer of big chunks, so that texts appended one after the other can be covered by one view. */
class AppendBuffer {
  #chunk: Uint8Array = empty
  #used = 0

  append(text: string): Uint8Array {
    // A view keeps its whole chunk alive: a big text gets a chunk of its own, which is freed with its message.
    if (text.length > largestChunk / 4) return encode(text)
    // A UTF-16 unit takes at most three bytes.
    const needed = text.length * 3
    if (this.#chunk.length - this.#used < needed) this.#addChunk(needed)
    const { written } = encoder.encodeInto(text, this.#chunk.subarray(this.#used))
    const bytes = this.#chunk.subarray(this.#used, this.#used + written)
    this.#used += written
    return bytes
  }

  /** Chunks grow with what is written, so that small conversations take little memory. */
  #addChunk(needed: number): void {
    const size = Math.min(Math.max(this.#chunk.length * 2, smallestChunk), largestChunk)
    this.#chunk = new Uint8Array(Math.max(needed, size))
    this.#used = 0
  }
}

const smallestChunk = 4 * 1024
const largestChunk = 64 * 1024

/** Adds a view, or extends the last one if the bytes follow it. */
function appendView(views: Uint8Array[], bytes: Uint8Array): void {
  if (bytes.length === 0) return
  const last = views.at(-1)
  const isNext = last && last.buffer === bytes.buffer && last.byteOffset + last.byteLength === bytes.byteOffset
  if (isNext) views[views.length - 1] = new Uint8Array(last.buffer, last.byteOffset, last.length + bytes.length)
  else views.push(bytes)
}

const writeItems = (items: readonly WireItem[]): string => items.map(({ json }) => `,${JSON.stringify(json)}`).join('')
const writeList = (items: readonly object[]): string => items.map((item) => JSON.stringify(item)).join(',')

function writeFields(fields: Fields): string {
  let text = '{'
  for (const [name, value] of Object.entries(fields)) {
    const json = value instanceof RawJson ? value.text : JSON.stringify(value)
    if (json !== undefined) text += `${JSON.stringify(name)}:${json},`
  }
  return text
}

const encoder = new TextEncoder()
const encode = (text: string): Uint8Array => encoder.encode(text)
const empty = new Uint8Array(0)
const closing = encode(']}')

/** `JSON.stringify` escapes only lone surrogates and control characters this way. Services refuse lone surrogates and NUL. */
const badEscapes = /\\(?:u(?:d[89a-f]..|0000)|.)/g
const replaced = (found: string): string => (found.length > 2 ? '\u{fffd}' : found)
