import type { Clock } from '../../core/clock.ts'

/** Waits that long, or until one of the signals is aborted. Leaves neither timer nor listener behind. */
export function pause(clock: Clock, ms: number, signals: readonly (AbortSignal | undefined)[]): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      callOff()
      for (const signal of signals) signal?.removeEventListener('abort', done)
      resolve()
    }
    const callOff = clock.timer(ms, done)
    for (const signal of signals) {
      signal?.addEventListener('abort', done)
      if (signal?.aborted) done()
    }
  })
}
