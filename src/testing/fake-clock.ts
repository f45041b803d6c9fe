import type { Clock } from '../core/clock.ts'

export interface FakeClock extends Clock {
  /** Advances time, fires due timers in order, and lets promises settle after each, and reads and writes of files. */
  advance(ms: number): Promise<void>
  /** The number of timers that have not fired and were not cancelled. */
  readonly pending: number
}

/** A clock that stands still until told otherwise. */
export function fakeClock(start = 0): FakeClock {
  let now = start
  let n = 0
  const timers = new Map<number, { at: number; fn: () => void }>()

  /** Timers are in the order in which they were set, so of equal times the first one set is due. */
  function nextDue(until: number): [number, { at: number; fn: () => void }] | undefined {
    let first: [number, { at: number; fn: () => void }] | undefined
    for (const one of timers) if (one[1].at <= until && (!first || one[1].at < first[1].at)) first = one
    return first
  }

  return {
    now: () => now,
    timer(ms, fn) {
      const id = ++n
      timers.set(id, { at: now + ms, fn })
      return () => timers.delete(id)
    },
    get pending() {
      return timers.size
    },
    async advance(ms) {
      const until = now + ms
      await import('../core/run-lifecycle.ts') // a run that has just begun may wait for its code
      await settle()
      for (let due = nextDue(until); due; due = nextDue(until)) {
        const [id, { at, fn }] = due
        timers.delete(id)
        now = at
        fn()
        await settle()
      }
      now = until
      await settle()
    },
  }
}

/** Runs all code that only waits for promises, or for a file. */
async function settle(): Promise<void> {
  for (let turns = 0; turns < maxTurns; turns++) {
    for (let i = 0; i < 20; i++) await null
    await new Promise((resolve) => setTimeout(resolve, 0))
    if (!isWaitingForFile()) return
  }
}

/** A file that is never read to its end, such as a pipe, must not stop a test. */
const maxTurns = 200

/** A store waits for the disk, which has no part in the time of a test. */
function isWaitingForFile(): boolean {
  if (typeof process === 'undefined') return false
  return process.getActiveResourcesInfo?.().some((name) => name.startsWith('FSReq')) ?? false
}
