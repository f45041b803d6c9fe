import { type Cancellation, waitCancelledMarker } from './cancellation.ts'
import type { Clock } from './clock.ts'

/** Work that the timer can give up on. */
export interface Cancellable {
  cancel(reason: unknown): void
}

/** A call took longer than its time limit. */
export class TimeLimitError extends Error {}

/**
 * The time limit and the cancellation of calls that run one after another. They share one timer and one listener, so that
 * a call which ends in time costs neither.
 */
export class CallTimer {
  readonly cancellation: Cancellation
  readonly #clock: Clock
  readonly #unlisten: () => void
  /** That of the call that makes these calls. */
  readonly #outer: CallTimer | undefined
  #giveUp: ((error: unknown) => void) | undefined
  #limit = 0
  #limitedSince = 0
  #pauses = 0
  #pausedSince = 0
  #dueAt = Number.POSITIVE_INFINITY
  #firesAt = Number.POSITIVE_INFINITY
  #cancelTimer: (() => void) | undefined

  constructor(clock: Clock, cancellation: Cancellation, outer?: CallTimer) {
    this.#clock = clock
    this.#outer = outer
    this.cancellation = cancellation
    this.#unlisten = cancellation.onCancel(() => this.#giveUp?.(waitCancelledMarker))
  }

  /**
   * The outcome of `work`. On cancellation, or after `limitMs` (0: no limit), the promise rejects, `call` is cancelled
   * with the reason, and a later outcome of the work is dropped.
   */
  wait(work: PromiseLike<unknown>, limitMs: number, call: Cancellable): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#giveUp = (error) => {
        this.#end()
        call.cancel(error === waitCancelledMarker ? this.cancellation.reason : error)
        reject(error)
      }
      const ownGiveUp = this.#giveUp
      if (this.cancellation.isCancelled) ownGiveUp(waitCancelledMarker)
      else if (limitMs > 0) this.#limitTo(limitMs)
      const fail = (error: unknown): void => {
        if (this.#giveUp === ownGiveUp) this.#end()
        reject(error)
      }
      try {
        work.then((value) => {
          if (this.#giveUp === ownGiveUp) this.#end()
          resolve(value)
        }, fail)
      } catch (error) {
        fail(error)
      }
    })
  }

  /** Stops the clocks of this and the outer calls while `work` runs: for waiting for a person, for instance. */
  async pausedFor<T>(work: T | Promise<T>): Promise<T> {
    if (this.#pauses++ === 0) this.#pausedSince = this.#clock.now()
    try {
      return await (this.#outer ? this.#outer.pausedFor(work) : work)
    } finally {
      if (--this.#pauses === 0) this.#dueAt += this.#clock.now() - Math.max(this.#pausedSince, this.#limitedSince)
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

  /** The timer may have been set for an earlier call: it is then set again for the rest of the present call's time. */
  #fire(): void {
    this.#cancelTimer = undefined
    this.#firesAt = Number.POSITIVE_INFINITY
    if (this.#dueAt === Number.POSITIVE_INFINITY) return
    const left = this.#pauses > 0 ? this.#limit : this.#dueAt - this.#clock.now()
    if (left > 0) this.#arm(left)
    else this.#giveUp?.(new TimeLimitError(`it took longer than ${this.#limit} ms`))
  }
}
