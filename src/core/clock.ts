/** Time, injected: tests turn it by hand, replay plays it back. */
export interface Clock {
  now(): number
  /** Calls `fn` once after `ms`. Returns how to call it off. */
  timer(ms: number, fn: () => void): () => void
}

export const systemClock: Clock = {
  now: Date.now,
  timer(ms, fn) {
    const id = setTimeout(fn, Math.min(ms, longestTimer))
    return () => clearTimeout(id)
  },
}

/** Beyond this a timer fires at once instead of late. */
const longestTimer = 2 ** 31 - 1

/**
 * One time limit after another on a single timer: work that ends in time costs a comparison, not a timer of its own.
 */
export class Deadline {
  readonly #clock: Clock
  #at = Number.POSITIVE_INFINITY
  #onExpire: (() => void) | undefined
  #cancel: (() => void) | undefined
  #firesAt = Number.POSITIVE_INFINITY

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** `ms` 0 means no limit. */
  start(ms: number, onExpire: () => void): void {
    if (ms === 0) return
    this.#at = this.#clock.now() + ms
    this.#onExpire = onExpire
    if (this.#firesAt > this.#at) this.#arm(ms)
  }

  stop(): void {
    this.#at = Number.POSITIVE_INFINITY
    this.#onExpire = undefined
  }

  close(): void {
    this.stop()
    this.#cancel?.()
    this.#cancel = undefined
    this.#firesAt = Number.POSITIVE_INFINITY
  }

  #arm(ms: number): void {
    this.#cancel?.()
    this.#firesAt = this.#clock.now() + ms
    this.#cancel = this.#clock.timer(ms, () => this.#fire())
  }

  #fire(): void {
    this.#cancel = undefined
    this.#firesAt = Number.POSITIVE_INFINITY
    if (this.#at === Number.POSITIVE_INFINITY) return
    const left = this.#at - this.#clock.now()
    if (left > 0) {
      this.#arm(left)
      return
    }
    const expire = this.#onExpire
    this.stop()
    expire?.()
  }
}

/** Ids that never repeat: a random prefix per factory and a counter, cheaper than a UUID each and sorted by birth. */
export function createIds(prefix: string = randomPrefix()): () => string {
  let n = 0
  return () => `${prefix}-${(++n).toString(36)}`
}

function randomPrefix(): string {
  return crypto.randomUUID().replaceAll('-', '').slice(0, 20)
}
