/**
 * Keeps the words before calls and those behind them apart, once the calls are taken out of the text: as the model did,
 * or by an empty line where it did not. Told of a reply in its order, in one piece or as it comes in.
 */
export class Seam {
  #hasWords = false
  #wasCall = false
  #space = ''

  /** What has to stand before these words. */
  words(text: string): string {
    const isFirst = !this.#hasWords
    if (isFirst) this.#hasWords = text.trim() !== ''
    if (!this.#wasCall) return ''
    const isApart = this.#space !== '' || text.trimStart() !== text
    const space = isApart ? this.#space : '\n\n'
    this.breakOff()
    return isFirst ? '' : space
  }

  /** What stood beside a call. Of a wrapper around calls only the space behind it counts. */
  gap(text: string): void {
    const space = text.slice(text.trimEnd().length)
    if (space !== '') this.#space = space
  }

  call(): void {
    this.#wasCall = true
  }

  /** Something else than text came. */
  breakOff(): void {
    this.#wasCall = false
    this.#space = ''
  }

  /** What was said so far does not count. */
  startOver(): void {
    this.breakOff()
    this.#hasWords = false
  }
}
