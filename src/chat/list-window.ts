/** The part of a long list that a screen draws. */
export interface ListWindow {
  /** Rows from `first` to `last`; `last` is -1 for an empty list. */
  readonly first: number
  readonly last: number
  /** The height above the first row, and below the last one. */
  readonly above: number
  readonly below: number
  readonly totalHeight: number
}

/** The visible rows, and `overscan` more beyond both edges. */
export function windowOf({
  heights,
  scrollTop,
  viewportHeight,
  overscan = defaultOverscan,
}: {
  readonly heights: RowHeights
  readonly scrollTop: number
  readonly viewportHeight: number
  readonly overscan?: number
}): ListWindow {
  const { count, total } = heights
  if (count === 0) return { first: 0, last: -1, above: 0, below: 0, totalHeight: 0 }
  const top = within(scrollTop, total - atLeastZero(viewportHeight))
  const first = Math.max(0, heights.rowAt(top) - overscan)
  const last = Math.min(count - 1, heights.rowEndingAt(top + atLeastZero(viewportHeight)) + overscan)
  return { first, last, above: heights.offsetOf(first), below: total - heights.offsetOf(last + 1), totalHeight: total }
}

/** A scrolled list whose rows are added, measured and removed. */
export interface ScrolledList {
  /** Sets the rows. Known ids keep their height, and visible rows keep their position. */
  setIds(ids: readonly string[]): void
  /** Sets the measured height of a row. Returns false if nothing changed, or the height or id is invalid. */
  measure(id: string, height: number): boolean
  /** The person scrolled. At the end, the list follows added rows. */
  scrollTo(scrollTop: number): void
  scrollToEnd(): void
  resize(viewportHeight: number): void
  /** Where the screen should be scrolled to. */
  readonly scrollTop: number
  /** Whether it follows added rows. */
  readonly followsEnd: boolean
  readonly window: ListWindow
  /** The rows to draw, each with its offset from the top. */
  readonly rows: readonly ListRow[]
}

export interface ListRow {
  readonly id: string
  readonly index: number
  readonly top: number
  readonly height: number
}

const defaultOverscan = 5

/** An empty list, scrolled to its end. */
export function createScrolledList(
  options: {
    readonly viewportHeight?: number
    /** The assumed height of a row before it is measured. Default 100. */
    readonly estimatedRow?: number
    /** Rows to draw beyond both edges. Default 5. */
    readonly overscan?: number
    /** The distance from the end that counts as the end. Default 32. */
    readonly endSlack?: number
  } = {},
): ScrolledList {
  const { estimatedRow = 100, overscan = defaultOverscan, endSlack = 32 } = options
  const measured = new Map<string, number>()
  let viewportHeight = atLeastZero(options.viewportHeight ?? 0)
  let ids: readonly string[] = []
  let places = new Map<string, number>()
  let heights = createRowHeights()
  let scrollTop = 0
  let followsEnd = true

  const furthest = (): number => Math.max(0, heights.total - viewportHeight)
  const clampScroll = (): void => {
    scrollTop = followsEnd ? furthest() : within(scrollTop, furthest())
  }
  const heightOf = (id: string): number => measured.get(id) ?? estimatedRow

  const append = (added: readonly string[]): void => {
    for (const id of added) {
      places.set(id, heights.count)
      heights.push(heightOf(id))
    }
  }

  const replace = (next: readonly string[]): void => {
    const top = heights.rowAt(scrollTop)
    const inside = top < 0 ? 0 : scrollTop - heights.offsetOf(top)
    const seen = top < 0 ? [] : ids.slice(top)
    places = new Map()
    heights = createRowHeights()
    append(next)
    for (const id of measured.keys()) if (!places.has(id)) measured.delete(id)
    const anchor = seen.find((id) => places.has(id))
    if (anchor === undefined) return
    const offset = heights.offsetOf(places.get(anchor)!)
    scrollTop = anchor === seen[0] ? offset + inside : offset
  }

  const list: ScrolledList = {
    setIds(next) {
      const twice = next.length === new Set(next).size ? undefined : next.find((id, i) => next.indexOf(id) !== i)
      if (twice !== undefined)
        throw new TypeError(
          `setIds got the id ${JSON.stringify(twice.slice(0, 100))} twice; give every row an id of its own`,
        )
      const isLonger = next.length >= ids.length && ids.every((id, i) => id === next[i])
      if (isLonger) append(next.slice(ids.length))
      else replace(next)
      ids = [...next]
      clampScroll()
    },
    measure(id, height) {
      const index = places.get(id)
      if (index === undefined || !Number.isFinite(height) || height < 0) return false
      measured.set(id, height)
      const before = heights.heightOf(index)
      if (before === height) return false
      const isAbove = heights.offsetOf(index) + before <= scrollTop
      heights.set(index, height)
      if (isAbove) scrollTop += height - before
      clampScroll()
      return true
    },
    scrollTo(to) {
      scrollTop = within(to, furthest())
      followsEnd = scrollTop >= furthest() - endSlack
    },
    scrollToEnd() {
      followsEnd = true
      clampScroll()
    },
    resize(height) {
      viewportHeight = atLeastZero(height)
      clampScroll()
    },
    get scrollTop() {
      return scrollTop
    },
    get followsEnd() {
      return followsEnd
    },
    get window() {
      return windowOf({ heights, scrollTop, viewportHeight, overscan })
    },
    get rows() {
      const { first, last, above } = list.window
      let top = above
      return ids.slice(first, last + 1).map((id, i) => {
        const row = { id, index: first + i, top, height: heights.heightOf(first + i) }
        top += row.height
        return row
      })
    },
  }
  return list
}

/** NaN counts as 0: a screen may not know its size yet. */
const atLeastZero = (value: number): number => Math.max(0, value || 0)

const within = (value: number, most: number): number => Math.min(atLeastZero(value), atLeastZero(most))

/** The heights of rows, measured or estimated. Every look-up and change takes O(log n). */
export interface RowHeights {
  readonly count: number
  /** The height of all rows. */
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

/** A binary indexed tree of sums. */
export function createRowHeights(from: readonly number[] = []): RowHeights {
  const heights: number[] = []
  const tree: number[] = [0]
  let total = 0

  const offsetOf = (index: number): number => {
    let sum = 0
    for (let i = Math.min(Math.max(index, 0), heights.length); i > 0; i -= i & -i) sum += tree[i]!
    return sum
  }

  /** The first row whose end does not satisfy `isPassed`. */
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
