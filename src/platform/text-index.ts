export interface FoundText {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** Finds any of many texts in another one, in one pass, however many they are. */
export class TextIndex {
  /** By the hash of their first four characters, the longest first. */
  readonly #texts = new Map<number, string[]>()
  /** Which hashes there are: most places of a text are passed over by a look into this. */
  #isStart: Uint8Array | undefined

  /** At least four characters; the same one again changes nothing. */
  add(text: string): void {
    this.#isStart ??= new Uint8Array(hashes)
    const hash = hashOf(text)
    const same = this.#texts.get(hash) ?? []
    if (same.includes(text)) return
    this.#isStart[hash] = 1
    this.#texts.set(
      hash,
      [...same, text].sort((a, b) => b.length - a.length),
    )
  }

  /** From left to right, and of several at one place the longest. They do not overlap. */
  find(text: string): FoundText[] {
    const found: FoundText[] = []
    const isStart = this.#isStart
    if (!isStart) return found
    let hash = 0
    let from = 0
    for (let i = 0; i < text.length; i++) {
      hash = next(hash, text.charCodeAt(i))
      const start = i - hashed + 1
      if (isStart[hash] === 0 || start < from) continue
      const match = this.#texts.get(hash)?.find((one) => text.startsWith(one, start))
      if (match === undefined) continue
      from = start + match.length
      found.push({ start, end: from, text: match })
    }
    return found
  }
}

const hashed = 4
const hashes = 1 << 16

/** Each step moves the characters before it four bits on, so that after four more steps nothing of them is left. */
const next = (hash: number, code: number): number => ((hash << 4) ^ (code & 0xfff) ^ (code >> 12)) & (hashes - 1)

function hashOf(text: string): number {
  let hash = 0
  for (let i = 0; i < hashed; i++) hash = next(hash, text.charCodeAt(i))
  return hash
}
