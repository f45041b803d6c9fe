import { setImmediate } from 'node:timers/promises'

/** Waiting calls are started for at most this long; then the event loop gets a turn. */
const maxMs = 5

/**
 * Spreads work that creates files, which takes a millisecond or more: of many calls that wait at once, only some start before
 * the event loop gets a turn.
 */
export class StartPacer {
  readonly #waiting: (() => void)[] = []
  #isRunning = false
  #yieldedAt = Number.NEGATIVE_INFINITY

  /** Resolves when the caller may start. */
  wait(): Promise<void> {
    return new Promise((start) => {
      this.#waiting.push(start)
      if (!this.#isRunning) void this.#run()
    })
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    for (let start = this.#waiting.shift(); start; start = this.#waiting.shift()) {
      if (performance.now() - this.#yieldedAt > maxMs) {
        await setImmediate()
        this.#yieldedAt = performance.now()
      }
      start()
      await null // the caller goes on first
    }
    this.#isRunning = false
  }
}
