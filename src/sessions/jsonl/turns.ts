import { setImmediate } from 'node:timers/promises'

/** For so long calls begin one after the other before the event loop does something else. */
const maxMs = 5

/**
 * Spreads work that creates files, which takes a millisecond or more: of many calls at once only some begin before the event
 * loop goes on.
 */
export class Turns {
  readonly #waiting: (() => void)[] = []
  #isRunning = false
  #yieldedAt = Number.NEGATIVE_INFINITY

  next(): Promise<void> {
    return new Promise((begin) => {
      this.#waiting.push(begin)
      if (!this.#isRunning) void this.#run()
    })
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    for (let begin = this.#waiting.shift(); begin; begin = this.#waiting.shift()) {
      if (performance.now() - this.#yieldedAt > maxMs) {
        await setImmediate()
        this.#yieldedAt = performance.now()
      }
      begin()
      await null // the caller goes on first
    }
    this.#isRunning = false
  }
}
