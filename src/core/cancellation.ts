/**
 * A cancellation that creates its AbortSignal only on first use. Listening on an AbortSignal is a hundred times as
 * expensive as a callback in a Set, and most tool calls never read their signal.
 */
export class Cancellation {
  #isCancelled = false
  #reason: unknown
  #listeners: Set<() => void> | undefined
  #controller: AbortController | undefined
  #unlink: (() => void) | undefined

  /** Is cancelled with `outer`, until `release` is called. */
  constructor(outer?: Cancellation) {
    if (outer) this.#unlink = outer.onCancel(() => this.cancel(outer.reason))
  }

  get isCancelled(): boolean {
    return this.#isCancelled
  }

  get reason(): unknown {
    return this.#reason
  }

  /** This cancellation as a standard signal. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController()
      if (this.#isCancelled) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  cancel(reason?: unknown): void {
    if (this.#isCancelled) return
    this.#isCancelled = true
    this.#reason = reason
    const listeners = this.#listeners
    this.#listeners = undefined
    this.#controller?.abort(reason)
    if (listeners) for (const listener of listeners) listener()
  }

  /** Calls `listener` once, immediately if already cancelled. Returns a function that removes it. */
  onCancel(listener: () => void): () => void {
    if (this.#isCancelled) {
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

/** The reason with which `agent.leave()` cancels a run: it ends with status `left`, and its open calls stay open. */
export class RunLeft extends Error {
  constructor() {
    super('leave() was called')
  }
}

/** Whether `agent.leave()` was called during this run. */
export const isLeaving = ({ cancellation }: { readonly cancellation: Cancellation }): boolean =>
  cancellation.reason instanceof RunLeft

const nothing = (): void => {}

/** What `orCancelled` rejects with if it stopped waiting because of the cancellation. */
export const waitCancelledMarker: unique symbol = Symbol('wait cancelled')

/** The outcome of `work`, or a rejection with `waitCancelledMarker` as soon as `cancellation` is cancelled. A later outcome is dropped. */
export function orCancelled<T>(work: Promise<T>, cancellation: Cancellation): Promise<T> {
  return new Promise((resolve, reject) => {
    const off = cancellation.onCancel(() => reject(waitCancelledMarker))
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

export const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'

/** Cancels when `signal` aborts. Returns a function that stops listening. */
export function followSignal(signal: AbortSignal | undefined, cancellation: Cancellation): () => void {
  if (!signal) return nothing
  const abort = (): void => cancellation.cancel(signal.reason)
  if (signal.aborted) abort()
  else signal.addEventListener('abort', abort, { once: true })
  return () => signal.removeEventListener('abort', abort)
}
