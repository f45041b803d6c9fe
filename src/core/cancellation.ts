/**
 * Cancellation that costs nothing until somebody needs it. Listening on an AbortSignal is two orders of
 * magnitude dearer than a callback in a Set, and most tool calls end without ever looking at their signal.
 */
export class Cancellation {
  #stopped = false
  #reason: unknown
  #listeners: Set<() => void> | undefined
  #controller: AbortController | undefined
  #unlink: (() => void) | undefined

  /** Stops when `outer` does; `release` cuts that link. */
  constructor(outer?: Cancellation) {
    if (outer) this.#unlink = outer.onCancel(() => this.cancel(outer.reason))
  }

  get isCancelled(): boolean {
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

  cancel(reason?: unknown): void {
    if (this.#stopped) return
    this.#stopped = true
    this.#reason = reason
    const listeners = this.#listeners
    this.#listeners = undefined
    this.#controller?.abort(reason)
    if (listeners) for (const listener of listeners) listener()
  }

  /** Calls `listener` once, at once if it is too late already. Returns how to take it back. */
  onCancel(listener: () => void): () => void {
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
export const waitCancelled: unique symbol = Symbol('stopped waiting')

/** The work's outcome, or a rejection with `stoppedWaiting` as soon as `stop` says so; a late outcome is dropped. */
export function orCancelled<T>(work: Promise<T>, stop: Cancellation): Promise<T> {
  return new Promise((resolve, reject) => {
    const off = stop.onCancel(() => reject(waitCancelled))
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
export function followSignal(signal: AbortSignal | undefined, stop: Cancellation): () => void {
  if (!signal) return nothing
  const abort = (): void => stop.cancel(signal.reason)
  if (signal.aborted) abort()
  else signal.addEventListener('abort', abort, { once: true })
  return () => signal.removeEventListener('abort', abort)
}
