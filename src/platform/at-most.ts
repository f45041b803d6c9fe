import { setTimeout as sleep } from 'node:timers/promises'

/** Waits for `work` for at most `ms`; returns whether it finished. */
export async function atMost(ms: number, work: Promise<unknown>): Promise<boolean> {
  const finished = new AbortController()
  const timeout = sleep(ms, false, finished).catch(() => false)
  const isInTime = await Promise.race([work.then(() => true), timeout])
  finished.abort()
  return isInTime
}
