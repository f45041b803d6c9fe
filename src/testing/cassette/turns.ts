/**
 * Lets what comes from outside in one by one, each after the program has gone as far as it could with the one before.
 * Recording and replay do this alike, and so what happens in between depends on the order alone, never on the speed.
 */
export class Turns {
  readonly #waiting: (() => void)[] = []
  #held: Promise<unknown> | undefined
  #isBusy = false

  next(): Promise<void> {
    return new Promise((come) => {
      this.#waiting.push(come)
      void this.#admit()
    })
  }

  /** Lets nothing else in before `work` is done: it may load code, which takes its time once and never again. */
  hold(work: Promise<unknown>): void {
    this.#held = Promise.all([this.#held, Promise.race([work.then(over, over), atMost(longestHold)])])
  }

  async #admit(): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    while (this.#waiting.length > 0) {
      await breath()
      while (this.#held) {
        const held = this.#held
        await held
        if (this.#held === held) this.#held = undefined
        await breath()
      }
      this.#waiting.shift()?.()
    }
    this.#isBusy = false
  }
}

const longestHold = 1_000
const over = (): void => {}

function atMost(ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer: { unref?: () => void } | number = setTimeout(resolve, ms)
    if (typeof timer === 'object') timer.unref?.()
  })
}

/** Resolves when everything has run that only waited for promises. */
export function breath(): Promise<void> {
  return new Promise((resolve) => {
    if (typeof setImmediate === 'function') setImmediate(resolve)
    else setTimeout(resolve, 0)
  })
}
