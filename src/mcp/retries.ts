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
