import { setTimeout as sleep } from 'node:timers/promises'

/** Waits for something, but no longer than this; says whether it came. */
export async function atMost(ms: number, work: Promise<unknown>): Promise<boolean> {
  const enough = new AbortController()
  const late = sleep(ms, false, enough).catch(() => false)
  const came = await Promise.race([work.then(() => true), late])
  enough.abort()
  return came
}
