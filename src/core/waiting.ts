/** Waiting for promises and clocks. For runs and calls see `cancellation.ts`. */
import { type Clock, systemClock } from './clock.ts'

/**
 * The result of a function on a hot path (a delta, a call, an append). Without handlers and without a store there is
 * nothing to wait for, and a promise for each step would cost more than the step: so such functions return a promise
 * only where they wait, and callers that are on the same path check before they await.
 */
export type MaybePromise<T> = T | Promise<T>

/** The outcome of `work`, or a rejection with the signal's reason as soon as it aborts. The work itself goes on. */
export function orAborted<T>(work: PromiseLike<T>, signal: AbortSignal | undefined): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => reject(signal?.reason)
    if (signal?.aborted) abort()
    signal?.addEventListener('abort', abort, { once: true })
    const done = (): void => signal?.removeEventListener('abort', abort)
    work.then(
      (value) => {
        done()
        resolve(value)
      },
      (error) => {
        done()
        reject(error)
      },
    )
  })
}

/** Resolves after `ms`, or as soon as one of the signals aborts. Leaves neither timer nor listener behind. */
export function sleep(
  ms: number,
  { clock = systemClock, signals = [] }: { clock?: Clock; signals?: readonly (AbortSignal | undefined)[] } = {},
): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      cancelTimer()
      for (const signal of signals) signal?.removeEventListener('abort', done)
      resolve()
    }
    const cancelTimer = clock.timer(ms, done)
    for (const signal of signals) {
      signal?.addEventListener('abort', done)
      if (signal?.aborted) done()
    }
  })
}

/** The outcome of `work`, or that of `onTimeout` when it takes longer than `ms`. The work itself goes on. */
export async function within<T, Late>(
  ms: number,
  work: PromiseLike<T>,
  onTimeout: () => Late,
  clock: Clock = systemClock,
): Promise<T | Late> {
  let cancelTimer = (): void => {}
  const timeout = new Promise<undefined>((resolve) => {
    cancelTimer = clock.timer(ms, () => resolve(undefined))
  })
  try {
    const first = await Promise.race([work.then((value) => ({ value })), timeout])
    return first ? first.value : onTimeout()
  } finally {
    cancelTimer()
  }
}

/** Calls `make` on first use and keeps what it returned; a promise that rejects is not kept. */
export function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    if (made) return made.value
    const current = (made = { value: make() })
    if (current.value instanceof Promise)
      current.value.catch(() => {
        if (made === current) made = undefined
      })
    return current.value
  }
}
