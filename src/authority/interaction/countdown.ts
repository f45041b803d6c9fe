import type { Clock } from '../../core/clock.ts'
import type { TimeLimit } from './interaction-payloads.ts'

/** The time that a question has, which passes only while somebody sees it. */
export class Countdown {
  readonly #clock: Clock
  readonly #onOver: () => void
  readonly #until: number | undefined
  #leftMs = 0
  #since = 0
  #watchers = 0
  #cancelTimer = (): void => {}

  constructor(clock: Clock, limit: TimeLimit, onOver: () => void) {
    this.#clock = clock
    this.#onOver = onOver
    if ('until' in limit) this.#until = limit.until
    else this.#leftMs = limit.ms
  }

  /** Somebody sees it from now on. Returns when it will be over. */
  watch(): number {
    if (this.#watchers++ === 0) {
      this.#since = this.#clock.now()
      this.#arm(this.#over() - this.#since)
    }
    return this.#over()
  }

  /** One of those who saw it does not any more. */
  unwatch(): void {
    if (--this.#watchers > 0) return
    this.#cancelTimer()
    this.#leftMs = this.#over() - this.#clock.now()
  }

  #over(): number {
    return this.#until ?? this.#since + this.#leftMs
  }

  /** Day by day: a clock may have a longest timer. */
  #arm(leftMs: number): void {
    const ms = Math.min(Math.max(0, leftMs), dayMs)
    this.#cancelTimer = this.#clock.timer(ms, () => {
      if (leftMs > dayMs) this.#arm(leftMs - dayMs)
      else this.#onOver()
    })
  }
}

const dayMs = 24 * 60 * 60 * 1000
