import type { WaitHistogram } from './fleet.ts'

const bounds = [10, 50, 100, 250, 500, 1000, 2500, 5000, 15_000, 60_000, Number.POSITIVE_INFINITY]

/** Counts how long jobs waited. */
export class Waits {
  readonly #counts: number[] = bounds.map(() => 0)
  #sumMs = 0

  add(ms: number): void {
    const wait = Math.max(0, ms)
    this.#counts[bounds.findIndex((bound) => wait <= bound)]! += 1
    this.#sumMs += wait
  }

  get histogram(): WaitHistogram {
    const buckets = bounds.map((upToMs, i) => ({ upToMs, count: this.#counts[i]! }))
    return { buckets, count: this.#counts.reduce((sum, count) => sum + count, 0), sumMs: this.#sumMs }
  }
}
