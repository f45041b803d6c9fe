/** The parts of a filter: how many texts each holds, and its bits in base64. */
export type FilterState = readonly (readonly [count: number, bits: string])[]

const firstCapacity = 256
const bytesPerText = 1.5
const hashes = 5

/**
 * Remembers texts in about 12 bits each. It may take a new text for a known one, in about one of a hundred cases, but
 * never a known one for a new one.
 */
export class TextFilter {
  /** Each part holds twice as many texts as the one before. */
  readonly #parts: { count: number; readonly bits: Uint8Array }[]

  /** Throws if the state is not one that `state` gave. */
  constructor(state: FilterState = []) {
    this.#parts = state.map(([count, bits], i) => ({ count, bits: bytesIn(bits, capacityOf(i) * bytesPerText) }))
  }

  mayHave(text: string): boolean {
    if (this.#parts.length === 0) return false
    const hash = hashOf(text)
    return this.#parts.some(({ bits }) => places(hash, bits).every((place) => bits[place >> 3]! & (1 << (place & 7))))
  }

  add(text: string): void {
    if (this.mayHave(text)) return
    let part = this.#parts.at(-1)
    if (!part || part.count === capacityOf(this.#parts.length - 1)) {
      part = { count: 0, bits: new Uint8Array(capacityOf(this.#parts.length) * bytesPerText) }
      this.#parts.push(part)
    }
    const { bits } = part
    for (const place of places(hashOf(text), bits)) bits[place >> 3]! |= 1 << (place & 7)
    part.count++
  }

  get state(): FilterState {
    return this.#parts.map(({ count, bits }) => [
      count,
      btoa(Array.from(bits, (byte) => String.fromCharCode(byte)).join('')),
    ])
  }
}

const capacityOf = (part: number): number => firstCapacity * 2 ** part

function bytesIn(text: string, length: number): Uint8Array {
  const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
  if (bytes.length !== length) throw new Error(`A part of a text filter has ${bytes.length} bytes, not ${length}`)
  return bytes
}

type Hash = readonly [start: number, step: number]

/** The bits of a text: the first hash, then steps of the second. */
function places([start, step]: Hash, { length }: Uint8Array): number[] {
  return Array.from({ length: hashes }, (_, i) => (start + i * step) % (length * 8))
}

/** Two hashes by FNV-1a with different beginnings; the second is odd, so that its steps reach different bits. */
function hashOf(text: string): Hash {
  let [first, second] = [0x811c9dc5, 0x2f0b4c47]
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    first = Math.imul(first ^ unit, 0x01000193)
    second = Math.imul(second ^ unit, 0x01000193)
  }
  return [first >>> 0, (second | 1) >>> 0]
}
