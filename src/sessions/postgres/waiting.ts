import { type Clock, systemClock } from '../../core/clock.ts'

/** Resolves after a while, or as soon as it is not worth waiting any more. */
export function passed(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      callOff()
      signal.removeEventListener('abort', done)
      resolve()
    }
    const callOff = clock.timer(ms, done)
    signal.addEventListener('abort', done)
    if (signal.aborted) done()
  })
}

/** What comes of `work`, or of `late` when it takes too long by the real clock: whatever the hour, networks take time. */
export async function within<Result, Late>(
  ms: number,
  work: PromiseLike<Result>,
  late: () => Late,
): Promise<Result | Late> {
  let callOff = (): void => {}
  const tooLate = new Promise<'late'>((resolve) => {
    callOff = systemClock.timer(ms, () => resolve('late'))
  })
  try {
    const first = await Promise.race([work.then((result) => ({ result })), tooLate])
    return first === 'late' ? late() : first.result
  } finally {
    callOff()
  }
}

/** What comes of `work`, or undefined as soon as the signal is aborted: who leaves does not wait for a silent server. */
export async function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result | undefined> {
  let stop = (): void => {}
  const aborted = new Promise<undefined>((resolve) => {
    stop = () => resolve(undefined)
    signal.addEventListener('abort', stop)
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
