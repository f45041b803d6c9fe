import { Buffer } from 'node:buffer'

const nothing = Buffer.alloc(0)

/** The end of a text that comes in pieces, of at most `maxBytes`; it never begins inside a character. */
export class Tail {
  readonly #max: number
  #bytes = nothing
  #end = 0
  #seen = 0

  constructor(maxBytes: number) {
    this.#max = maxBytes
  }

  /** The total number of bytes. */
  get seen(): number {
    return this.#seen
  }

  push(text: string): void {
    this.#seen += Buffer.byteLength(text)
    // Each UTF-16 unit takes at least one byte, so the last `#max` units contain the last `#max` bytes.
    const piece = text.length > this.#max ? text.slice(-this.#max) : text
    const size = Buffer.byteLength(piece)
    if (this.#end + size > this.#bytes.length) this.#makeRoom(size)
    this.#end += this.#bytes.write(piece, this.#end)
  }

  /** The kept text, and the number of dropped bytes before it. */
  read(): { readonly text: string; readonly dropped: number } {
    let start = Math.max(0, this.#end - this.#max)
    while (start < this.#end && isInsideCharacter(this.#bytes[start]!)) start++
    const text = this.#bytes.toString('utf8', start, this.#end)
    return { text, dropped: this.#seen - (this.#end - start) }
  }

  /** Like `read`, and resets. */
  take(): { readonly text: string; readonly dropped: number } {
    const taken = this.read()
    this.#bytes = nothing
    this.#end = 0
    this.#seen = 0
    return taken
  }

  /** Moves the needed bytes to the front, and grows the buffer only if that is not enough. */
  #makeRoom(size: number): void {
    const wanted = Math.min(this.#end, Math.max(0, this.#max - size))
    const from = this.#end - wanted
    const least = wanted + size
    if (least * 2 > this.#bytes.length) {
      const bigger = Buffer.alloc(Math.max(least * 2, smallest))
      this.#bytes.copy(bigger, 0, from, this.#end)
      this.#bytes = bigger
    } else this.#bytes.copyWithin(0, from, this.#end)
    this.#end = wanted
  }
}

const smallest = 1024

const isInsideCharacter = (byte: number): boolean => (byte & 0xc0) === 0x80
