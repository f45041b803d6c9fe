/** Whether a place in a line is quoted: in backticks, or behind a `>` at its beginning. */
export class InlineCode {
  /** How many backticks opened the code we are in. */
  #ticks = 0
  #isQuote = false
  #holdsThoughtEnd = false

  get isQuoted(): boolean {
    return this.#ticks > 0 || this.#isQuote
  }

  /** Backticks that came together. */
  toggle(count: number): void {
    if (this.#ticks === 0) this.#ticks = count
    else if (this.#ticks === count) {
      this.#ticks = 0
      this.#holdsThoughtEnd = false
    }
  }

  quoteLine(): void {
    this.#isQuote = true
  }

  /** The end of a thought stands in backticks. */
  holdThoughtEnd(): void {
    if (!this.#isQuote) this.#holdsThoughtEnd = true
  }

  /** It stood behind a backtick that never closed: it was not quoted after all. */
  get wasThoughtEnd(): boolean {
    return this.#holdsThoughtEnd
  }

  end(): void {
    this.#ticks = 0
    this.#isQuote = false
    this.#holdsThoughtEnd = false
  }
}
