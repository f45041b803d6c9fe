/** Numbers and choices that follow from a seed alone, so that a case can be made again. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
    this.below(2)
  }

  /** An integer from 0 to one less than `most`. */
  below(most: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * most)
  }

  pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new RangeError('there is nothing to pick from')
    return items[this.below(items.length)]!
  }

  chance(percent: number): boolean {
    return this.below(100) < percent
  }
}
