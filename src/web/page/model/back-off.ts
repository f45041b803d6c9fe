import { RemoteProblem } from '../libero.ts'

/** Waits before the next try: half a second, then longer each time, at most 15 s; less if the browser is online again. */
export function backOff(tries: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, Math.min(15_000, 500 * 2 ** tries))
  const hurry = (): void => resolve()
  globalThis.addEventListener?.('online', hurry)
  return promise.finally(() => {
    clearTimeout(timer)
    globalThis.removeEventListener?.('online', hurry)
  })
}

/** Loads code of the page, again and again while its server is away. */
export async function loadUntilThere<T>(load: () => Promise<T>, onFailure: (error: unknown) => void): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await load()
    } catch (error) {
      onFailure(error)
      await backOff(tries)
    }
  }
}

/** Whether the server, or what stands before it, could not be reached for now. */
export const isAway = (problem: unknown): boolean =>
  problem instanceof RemoteProblem && [0, 502, 503, 504].includes(problem.status)
