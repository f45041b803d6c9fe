/**
 * The order of results: folder by folder, names by code point. A walk that sorts the names of each folder yields this order.
 */
export function comparePaths(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x !== y) return rank(x) - rank(y)
  }
  return a.length - b.length
}

/** A slash comes first; surrogates, which stand for the highest code points, come last. */
function rank(unit: number): number {
  if (unit === 0x2f) return 0
  if (unit < 0xd800) return unit
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800
}

/** Keeps the first `max` items in path order, of items that come in any order. */
export class FirstInOrder<Item> {
  readonly #max: number
  #kept: { path: string; item: Item }[] = []
  /** Paths from here on are not kept. */
  #limit: string | undefined

  constructor(max: number) {
    this.#max = max
  }

  wants(path: string): boolean {
    return this.#max > 0 && (this.#limit === undefined || comparePaths(path, this.#limit) < 0)
  }

  add(path: string, item: Item): void {
    if (!this.wants(path)) return
    // A slice keeps the whole chunk of output in memory, unless it is copied.
    this.#kept.push({ path: copied(path), item })
    // Sorted rarely, at twice the number, so that an addition is cheap.
    if (this.#kept.length >= this.#max * 2 + 100) this.#shrink()
  }

  sorted(): { path: string; item: Item }[] {
    this.#shrink()
    return this.#kept
  }

  #shrink(): void {
    this.#kept.sort((a, b) => comparePaths(a.path, b.path))
    this.#kept.length = Math.min(this.#kept.length, this.#max)
    this.#limit = this.#kept[this.#max - 1]?.path
  }
}

/** A copy that does not share memory with a larger text. */
export function copied(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le')
}
