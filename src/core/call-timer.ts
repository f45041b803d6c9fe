import { type Cancellation, waitCancelled } from './cancellation.ts'
import type { Clock } from './clock.ts'

/** Told why nobody waits for it any more. */
export interface Cancellable {
  cancel(reason: unknown): void
}

/** Why a call that took too long was given up on. */
export class TimeLimitError extends Error {}

/**
 * Calls that run one after another share one timer and one listener on what may stop them, so that a call which ends
 * in time costs neither.
 */
export class CallTimer {
  readonly cancellation: Cancellation
  readonly #clock: Clock
  readonly #unlisten: () => void
  #giveUp: ((error: unknown) => void) | undefined
  #limit = 0
  #limitedSince = 0
  #holds = 0
  #heldSince = 0
  #dueAt = Number.POSITIVE_INFINITY
  #firesAt = Number.POSITIVE_INFINITY
  #cancelTimer: (() => void) | undefined

  constructor(clock: Clock, cancellation: Cancellation) {
    this.#clock = clock
    this.cancellation = cancellation
    this.#unlisten = cancellation.onCancel(() => this.#giveUp?.(waitCancelled))
  }

  /**
   * What `work` comes to. When the lane is stopped or `limitMs` is over (0: never) it is given up on: `waiting`
   * hears why, the promise rejects, and what the work returns later is dropped.
   */
  wait(work: PromiseLike<unknown>, limitMs: number, waiting: Cancellable): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#giveUp = (error) => {
        this.#end()
        waiting.cancel(error === waitCancelled ? this.cancellation.reason : error)
        reject(error)
      }
      const mine = this.#giveUp
      if (this.cancellation.isCancelled) mine(waitCancelled)
      else if (limitMs > 0) this.#limitTo(limitMs)
      const fail = (error: unknown): void => {
        if (this.#giveUp === mine) this.#end()
        reject(error)
      }
      try {
        work.then((value) => {
          if (this.#giveUp === mine) this.#end()
          resolve(value)
        }, fail)
      } catch (error) {
        fail(error)
      }
    })
  }

  /** Stops the clock for as long as somebody else takes his time: a person at a gate, for instance. */
  async pausedFor<T>(work: T | Promise<T>): Promise<T> {
    if (this.#holds++ === 0) this.#heldSince = this.#clock.now()
    try {
      return await work
    } finally {
      if (--this.#holds === 0) this.#dueAt += this.#clock.now() - Math.max(this.#heldSince, this.#limitedSince)
    }
  }

  close(): void {
    this.#end()
    this.#unlisten()
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }

  #end(): void {
    this.#giveUp = undefined
    this.#dueAt = Number.POSITIVE_INFINITY
  }

  #limitTo(ms: number): void {
    this.#limit = ms
    this.#limitedSince = this.#clock.now()
    this.#dueAt = this.#limitedSince + ms
    if (this.#firesAt > this.#dueAt) this.#arm(ms)
  }

  #arm(ms: number): void {
    this.#cancelTimer?.()
    this.#firesAt = this.#clock.now() + ms
    this.#cancelTimer = this.#clock.timer(ms, () => this.#fire())
  }

  /** The timer may have been set for an earlier call: then it goes on for what is left of the present one's time. */
  #fire(): void {
    this.#cancelTimer = undefined
    this.#firesAt = Number.POSITIVE_INFINITY
    if (this.#dueAt === Number.POSITIVE_INFINITY) return
    const left = this.#holds > 0 ? this.#limit : this.#dueAt - this.#clock.now()
    if (left > 0) this.#arm(left)
    else this.#giveUp?.(new TimeLimitError(`it took longer than ${this.#limit} ms`))
  }
}
