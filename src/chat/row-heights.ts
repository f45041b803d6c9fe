/** The heights of rows in their order: measured, or estimated. Every look-up and every change takes O(log n). */
export interface RowHeights {
  readonly count: number
  /** Of all rows together. */
  readonly total: number
  heightOf(index: number): number
  /** Where a row begins; for `count`, where the last one ends. */
  offsetOf(index: number): number
  /** The first row that ends below `y`, else the last one; -1 where there are none. */
  rowAt(y: number): number
  /** The first row that ends at `y` or below it, else the last one; -1 where there are none. */
  rowEndingAt(y: number): number
  push(height: number): void
  set(index: number, height: number): void
}

/** Sums in a binary indexed tree: `tree[i]` holds the rows behind the one that its lowest bit leads back to. */
export function createRowHeights(from: readonly number[] = []): RowHeights {
  const heights: number[] = []
  const tree: number[] = [0]
  let total = 0

  const offsetOf = (index: number): number => {
    let sum = 0
    for (let i = Math.min(Math.max(index, 0), heights.length); i > 0; i -= i & -i) sum += tree[i]!
    return sum
  }

  /** How many rows from the top are passed by, while `isPassed` says so of their end. */
  const rowWhere = (isPassed: (end: number) => boolean): number => {
    let passed = 0
    let sum = 0
    for (let step = highestBit(heights.length); step > 0; step >>= 1) {
      const next = passed + step
      if (next > heights.length || !isPassed(sum + tree[next]!)) continue
      passed = next
      sum += tree[next]!
    }
    return Math.min(passed, heights.length - 1)
  }

  const rows: RowHeights = {
    get count() {
      return heights.length
    },
    get total() {
      return total
    },
    heightOf: (index) => heights[index] ?? 0,
    offsetOf,
    rowAt: (y) => rowWhere((end) => end <= y),
    rowEndingAt: (y) => rowWhere((end) => end < y),
    push(height) {
      heights.push(height)
      const i = heights.length
      tree.push(height + offsetOf(i - 1) - offsetOf(i - (i & -i)))
      total += height
    },
    set(index, height) {
      const before = heights[index]
      if (before === undefined || before === height) return
      heights[index] = height
      total += height - before
      for (let i = index + 1; i < tree.length; i += i & -i) tree[i]! += height - before
    },
  }
  for (const height of from) rows.push(height)
  return rows
}

const highestBit = (count: number): number => (count === 0 ? 0 : 2 ** (31 - Math.clz32(count)))
