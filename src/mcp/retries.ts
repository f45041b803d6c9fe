import type { Clock } from '../core/clock.ts'

/** How often a server may fail in a row, how long is waited in between, and how long it is left alone when it was given up. */
export class Retries {
  readonly #clock: Clock
  #failures = 0
  #connectedAt = 0
  #givenUpAt = 0
  #cancel: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** What failed before does not count any more. */
  forget(): void {
    this.#failures = 0
  }

  connected(): void {
    this.#connectedAt = this.#clock.now()
  }

  /** A connection that held for a while was sound. */
  lost(): void {
    if (this.#clock.now() - this.#connectedAt > soundAfterMs) this.forget()
  }

  get areOver(): boolean {
    return this.#failures >= mostRetries
  }

  giveUp(): void {
    this.#givenUpAt = this.#clock.now()
  }

  /** Whether it was given up so lately that nobody may try it. */
  get isLeftAlone(): boolean {
    return this.#clock.now() - this.#givenUpAt < leftAloneMs
  }

  /** Tries again after a pause, which grows with each failure. */
  later(retry: () => void): { readonly attempt: number; readonly delayMs: number } {
    const delayMs = firstDelayMs * 2 ** this.#failures++
    this.#cancel = this.#clock.timer(delayMs, retry)
    return { attempt: this.#failures, delayMs }
  }

  /** Somebody tries at once, or nobody will. */
  cancel(): void {
    this.#cancel?.()
  }
}

const firstDelayMs = 500
const mostRetries = 5
const soundAfterMs = 30_000
/** Then a call may try it once more. */
const leftAloneMs = 60_000

/** Something that is done a while after it is wanted: once, however often that is said, and not again before it is done. */
export interface DelayedTask {
  request(): void
  /** For good. */
  stop(): void
}

/** `work` must not fail. */
export function createDelayedTask(clock: Clock, pauseMs: number, work: () => Promise<void>): DelayedTask {
  let cancel: (() => void) | undefined
  let isWorking = false
  let isWanted = false
  let isStopped = false

  function want(): void {
    isWanted = true
    if (cancel || isWorking || isStopped) return
    cancel = clock.timer(pauseMs, () => {
      cancel = undefined
      void run()
    })
  }

  async function run(): Promise<void> {
    isWorking = true
    isWanted = false
    await work()
    isWorking = false
    if (isWanted) want()
  }

  return {
    request: want,
    stop() {
      isStopped = true
      cancel?.()
    },
  }
}
