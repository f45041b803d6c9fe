import type { Clock } from '../core/clock.ts'

export interface FakeClock extends Clock {
  /** Moves time on, firing what falls due in order, and lets promises settle after each. */
  advance(ms: number): Promise<void>
  /** Timers that have not fired or been called off. */
  readonly pending: number
}

/** A clock that stands still until told otherwise. */
export function fakeClock(start = 0): FakeClock {
  let now = start
  let n = 0
  const timers = new Map<number, { at: number; fn: () => void }>()

  /** Timers stand in the order in which they were set, so the first of the earliest is the one. */
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

/** Lets everything run that is only waiting for promises. */
async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await null
  await new Promise((resolve) => setTimeout(resolve, 0))
}
