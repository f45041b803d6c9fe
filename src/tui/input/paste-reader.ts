import { cleanText } from './clean-text.ts'

/** Collects a bracketed paste, whose end mark may be cut anywhere. Works on whole chunks: a paste may be megabytes long. */
export class PasteReader {
  #pieces: string[] = []
  /** What may be the beginning of the end mark. */
  #tail = ''
  #endsWithReturn = false

  /** Reads from `at` on. Returns the place behind the end mark, `undefined` if the paste goes on. */
  read(chunk: string, at: number): number | undefined {
    const text = this.#tail + chunk.slice(at)
    const end = text.indexOf(endMark)
    if (end >= 0) {
      const next = at + end + endMark.length - this.#tail.length
      this.#tail = ''
      this.add(text.slice(0, end))
      return next
    }
    const kept = text.length - partOfEndMark(text)
    this.#tail = text.slice(kept)
    this.add(text.slice(0, kept))
    return undefined
  }

  /** Adds a piece of text. A newline may be cut between its two characters. */
  add(piece: string): void {
    if (piece === '') return
    const text = this.#endsWithReturn && piece.startsWith('\n') ? piece.slice(1) : piece
    this.#endsWithReturn = piece.endsWith('\r')
    this.#pieces.push(cleanText(text))
  }

  /** Everything so far, and begins anew. */
  take(): string {
    this.add(this.#tail)
    const text = this.#pieces.join('')
    this.#pieces = []
    this.#tail = ''
    this.#endsWithReturn = false
    return text
  }
}

const endMark = '\x1b[201~'

/** How many characters at the end of a text are the beginning of the end mark. */
function partOfEndMark(text: string): number {
  let length = Math.min(endMark.length - 1, text.length)
  while (!text.endsWith(endMark.slice(0, length))) length--
  return length
}
