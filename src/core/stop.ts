/**
 * Cancellation that costs nothing until somebody needs it. Listening on an AbortSignal is two orders of
 * magnitude dearer than a callback in a Set, and most tool calls end without ever looking at their signal.
 */
export class Stop {
  #stopped = false
  #reason: unknown
  #listeners: Set<() => void> | undefined
  #controller: AbortController | undefined
  #unlink: (() => void) | undefined

  /** Stops when `outer` does; `release` cuts that link. */
  constructor(outer?: Stop) {
    if (outer) this.#unlink = outer.onStop(() => this.stop(outer.reason))
  }

  get stopped(): boolean {
    return this.#stopped
  }

  get reason(): unknown {
    return this.#reason
  }

  /** The same fact as a standard signal, for whoever speaks that language. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#stopped) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  stop(reason?: unknown): void {
    if (this.#stopped) return
    this.#stopped = true
    this.#reason = reason
    const listeners = this.#listeners
    this.#listeners = undefined
    this.#controller?.abort(reason)
    if (listeners) for (const listener of listeners) listener()
  }

  /** Calls `listener` once, at once if it is too late already. Returns how to take it back. */
  onStop(listener: () => void): () => void {
    if (this.#stopped) {
      listener()
      return nothing
    }
    this.#listeners ??= new Set()
    this.#listeners.add(listener)
    return () => this.#listeners?.delete(listener)
  }

  release(): void {
    this.#unlink?.()
    this.#unlink = undefined
  }
}

const nothing = (): void => {}

/** Thrown by `orStopped` in place of the result that nobody waits for any more. */
export const stoppedWaiting: unique symbol = Symbol('stopped waiting')

/** The work's outcome, or a rejection with `stoppedWaiting` as soon as `stop` says so; a late outcome is dropped. */
export function orStopped<T>(work: Promise<T>, stop: Stop): Promise<T> {
  return new Promise((resolve, reject) => {
    const off = stop.onStop(() => reject(stoppedWaiting))
    work.then(
      (value) => {
        off()
        resolve(value)
      },
      (error) => {
        off()
        reject(error)
      },
    )
  })
}

/** Whether there is something to wait for. */
export const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'

/** Follows a signal from outside. Returns how to let go of it. */
export function follow(signal: AbortSignal | undefined, stop: Stop): () => void {
  if (!signal) return nothing
  const abort = (): void => stop.stop(signal.reason)
  if (signal.aborted) abort()
  else signal.addEventListener('abort', abort, { once: true })
  return () => signal.removeEventListener('abort', abort)
}
