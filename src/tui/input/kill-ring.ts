/** The texts that were cut, for Ctrl+Y. Cuts in a row become one text. */
export class KillRing {
  #texts: string[] = []
  #at = 0

  /** `joins` says on which side of the last text it goes, if the last key was a cut too. */
  add(text: string, joins: 'after' | 'before' | undefined): void {
    if (text === '') return
    const last = joins ? (this.#texts.pop() ?? '') : ''
    this.#texts.push(joins === 'before' ? text + last : last + text)
    if (this.#texts.length > most) this.#texts.shift()
    this.#at = this.#texts.length - 1
  }

  /** The text that Ctrl+Y inserts. */
  get current(): string | undefined {
    return this.#texts[this.#at]
  }

  /** Goes to the text before it, from the oldest to the newest. */
  rotate(): string | undefined {
    this.#at = (this.#at || this.#texts.length) - 1
    return this.current
  }

  /** Changes all texts. */
  map(change: (text: string) => string): void {
    this.#texts = this.#texts.map(change)
  }
}

const most = 30
