import type { Message } from '../core/turn.ts'
import { type Fields, RawJson, type Wire, type WireItem } from './wire.ts'

/**
 * Builds request bodies by appending: each message is written and encoded once in its life and kept as bytes; a request
 * is a handful of views on them. One per conversation partner (wire, service and model), because what a message becomes
 * depends on these.
 */
export class BodyBook {
  readonly #wire: Wire
  readonly #mark: Uint8Array
  readonly #ledger = new Ledger()
  readonly #bytes = new WeakMap<Message, Uint8Array>()
  readonly #lists = new WeakMap<readonly Message[], Progress>()
  #head: Head = { text: '', bytes: empty }

  constructor(wire: Wire) {
    this.#wire = wire
    this.#mark = wire.mark ? encode(wire.mark.text + wire.mark.end) : empty
  }

  /** The body in parts. With `marks` the messages at these indexes carry a cache breakpoint. */
  build(fields: Fields, lead: readonly object[], messages: readonly Message[], marks: readonly number[]): Uint8Array[] {
    const head = this.#headOf(fields, lead)
    const parts = this.#conversation(messages, marks)
    const first = parts.findIndex((part) => part.length > 0)
    // Every message is kept with a comma in front, which the very first item of the list must not have.
    if (lead.length === 0 && first >= 0) parts[first] = parts[first]!.subarray(1)
    return [head, ...parts, closing]
  }

  #conversation(messages: readonly Message[], marks: readonly number[]): Uint8Array[] {
    if (marks.length === 0 || !this.#wire.marked) return this.#views(messages, messages.length)
    const parts: Uint8Array[] = []
    let from = 0
    for (const mark of marks) {
      parts.push(...(from === 0 ? this.#views(messages, mark) : this.#loose(messages, from, mark)))
      parts.push(...this.#marked(messages[mark]!))
      from = mark + 1
    }
    parts.push(...this.#loose(messages, from, messages.length))
    return parts
  }

  #marked(message: Message): Uint8Array[] {
    const { mark, marked, items } = this.#wire
    if (!mark || message.content.at(-1)?.type === 'thinking') return [encode(writeItems(marked!(items(message))))]
    const bytes = this.#of(message)
    return [bytes.subarray(0, bytes.length - mark.end.length), this.#mark]
  }

  /** Views on the first `count` messages, as few as possible. A list that only grew costs what was added. */
  #views(messages: readonly Message[], count: number): Uint8Array[] {
    let progress = this.#lists.get(messages)
    if (!progress || progress.count > count) this.#lists.set(messages, (progress = { count: 0, views: [] }))
    for (; progress.count < count; progress.count++) join(progress.views, this.#of(messages[progress.count]!))
    return [...progress.views]
  }

  #loose(messages: readonly Message[], from: number, to: number): Uint8Array[] {
    const views: Uint8Array[] = []
    for (let i = from; i < to; i++) join(views, this.#of(messages[i]!))
    return views
  }

  #of(message: Message): Uint8Array {
    let bytes = this.#bytes.get(message)
    if (!bytes) this.#bytes.set(message, (bytes = this.#ledger.append(writeItems(this.#wire.items(message)))))
    return bytes
  }

  /** Written anew only when something in it has changed. */
  #headOf(fields: Fields, lead: readonly object[]): Uint8Array {
    const last = this.#head
    if (last.fields === fields && last.lead === lead) return last.bytes
    const text = `${writeFields(fields)}"${this.#wire.list}":[${writeList(lead)}`
    const bytes = last.text === text ? last.bytes : encode(text.replaceAll(badEscapes, replaced))
    this.#head = { fields, lead, text, bytes }
    return bytes
  }
}

interface Head {
  readonly fields?: Fields
  readonly lead?: readonly object[]
  readonly text: string
  readonly bytes: Uint8Array
}

interface Progress {
  count: number
  readonly views: Uint8Array[]
}

/** Bytes that are only ever added to. They lie in big chunks, so that what was added one after the other is one view. */
class Ledger {
  #chunk: Uint8Array = empty
  #used = 0

  append(text: string): Uint8Array {
    // A view keeps its whole chunk alive: what is big stands alone, so that it goes when its message does.
    if (text.length > largestChunk / 4) return encode(text)
    // A UTF-16 unit takes at most three bytes.
    const needed = text.length * 3
    if (this.#chunk.length - this.#used < needed) this.#open(needed)
    const { written } = encoder.encodeInto(text, this.#chunk.subarray(this.#used))
    const bytes = this.#chunk.subarray(this.#used, this.#used + written)
    this.#used += written
    return bytes
  }

  /** Chunks grow with what is written, so that many small conversations stay small. */
  #open(needed: number): void {
    const size = Math.min(Math.max(this.#chunk.length * 2, smallestChunk), largestChunk)
    this.#chunk = new Uint8Array(Math.max(needed, size))
    this.#used = 0
  }
}

const smallestChunk = 4 * 1024
const largestChunk = 64 * 1024

/** Adds a view, or lengthens the last one when the bytes follow it. */
function join(views: Uint8Array[], bytes: Uint8Array): void {
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

/** JSON writes whole characters as they are: what it escapes from there is half of one. Services refuse it, and NUL. */
const badEscapes = /\\(?:u(?:d[89a-f]..|0000)|.)/g
const replaced = (found: string): string => (found.length > 2 ? '\u{fffd}' : found)
