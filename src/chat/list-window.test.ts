import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createRowHeights, createScrolledList, windowOf } from './list-window.ts'

const rows = (count: number, from = 0) => Array.from({ length: count }, (_, i) => `r${from + i}`)

/** Row by row. */
function naive(heights: readonly number[], scrollTop: number, viewport: number, overscan: number) {
  const total = heights.reduce((sum, height) => sum + height, 0)
  const top = Math.min(Math.max(0, scrollTop), Math.max(0, total - viewport))
  const ends = heights.map((_, i) => heights.slice(0, i + 1).reduce((sum, height) => sum + height, 0))
  const orLast = (index: number) => (index < 0 ? heights.length - 1 : index)
  const first = Math.max(0, orLast(ends.findIndex((end) => end > top)) - overscan)
  const last = Math.min(heights.length - 1, orLast(ends.findIndex((end) => end >= top + viewport)) + overscan)
  const above = first === 0 ? 0 : ends[first - 1]!
  return { first, last, above, below: total - ends[last]!, totalHeight: total }
}

describe('the window', () => {
  test('D043 of 1000 rows of the estimated height: the visible ones and five more on both sides', () => {
    const list = createScrolledList({ viewportHeight: 600 })
    list.setIds(rows(1000))
    list.scrollTo(50_000)
    expect(list.window).toEqual({ first: 495, last: 510, above: 49_500, below: 48_900, totalHeight: 100_000 })
    expect(list.rows).toHaveLength(16)
    expect(list.rows[0]).toEqual({ id: 'r495', index: 495, top: 49_500, height: 100 })
    expect(list.rows.at(-1)).toEqual({ id: 'r510', index: 510, top: 51_000, height: 100 })
  })

  test('of an empty list is empty', () => {
    const list = createScrolledList({ viewportHeight: 600 })
    expect(list.window).toEqual({ first: 0, last: -1, above: 0, below: 0, totalHeight: 0 })
    expect(list.rows).toEqual([])
    list.setIds(['a'])
    list.setIds([])
    expect(list.rows).toEqual([])
    expect(list.scrollTop).toBe(0)
  })

  test('equals the result of counting row by row', () => {
    const height = fc.nat(800).map((half) => half / 2)
    const change = fc.tuple(fc.nat(60), height)
    fc.assert(
      fc.property(
        fc.array(height, { minLength: 1, maxLength: 60 }),
        fc.array(change, { maxLength: 20 }),
        fc.tuple(fc.integer({ min: -100, max: 20_000 }), fc.nat(2000), fc.nat(7)),
        (given, changes, [scrollTop, viewportHeight, overscan]) => {
          const plain = [...given]
          const heights = createRowHeights(given)
          for (const [at, next] of changes) {
            if (at < plain.length) plain[at] = next
            heights.set(at, next)
          }
          expect(windowOf({ heights, scrollTop, viewportHeight, overscan })).toEqual(
            naive(plain, scrollTop, viewportHeight, overscan),
          )
        },
      ),
    )
  })

  test('invalid sizes are tolerated', () => {
    const list = createScrolledList({ viewportHeight: Number.NaN })
    list.setIds(rows(3))
    expect(list.measure('r0', Number.NaN)).toBe(false)
    expect(list.measure('r0', -1)).toBe(false)
    expect(list.measure('none', 10)).toBe(false)
    list.scrollTo(Number.NaN)
    expect(list.window.totalHeight).toBe(300)
    expect(() => list.setIds(['a', 'b', 'a'])).toThrow('setIds got the id "a" twice; give every row an id of its own')
  })
})

describe('the position of visible rows', () => {
  const topRow = (list: ReturnType<typeof createScrolledList>) => {
    const at = list.rows.find(({ top, height }) => top + height > list.scrollTop)!
    return [at.id, at.top - list.scrollTop]
  }

  test('stays when rows above are measured, larger or smaller', () => {
    const list = createScrolledList({ viewportHeight: 300 })
    list.setIds(rows(100))
    list.scrollTo(5030)
    expect(topRow(list)).toEqual(['r50', -30])
    expect(list.measure('r10', 260)).toBe(true)
    expect(list.measure('r49', 20)).toBe(true)
    expect(topRow(list)).toEqual(['r50', -30])
    expect(list.scrollTop).toBe(5110)
    list.measure('r50', 150) // it grows downwards
    list.measure('r51', 400)
    expect(topRow(list)).toEqual(['r50', -30])
    expect(list.measure('r51', 400)).toBe(false)
  })

  test('stays when rows are added and removed; measured heights stay with their ids', () => {
    const list = createScrolledList({ viewportHeight: 300 })
    list.setIds(rows(100))
    list.measure('r50', 170)
    list.scrollTo(5030)
    list.setIds(['new', ...rows(100).filter((id) => id !== 'r3' && id !== 'r4')])
    expect(topRow(list)).toEqual(['r50', -30])
    expect(list.rows.find(({ id }) => id === 'r50')?.height).toBe(170)
    list.setIds(rows(100).filter((id) => id !== 'r50')) // the row itself is gone: the next one takes its place
    expect(topRow(list)).toEqual(['r51', 0])
  })

  test('is always inside the list, and the rows cover the screen', () => {
    const step = fc.oneof(
      fc.record({ id: fc.nat(40), height: fc.integer({ min: 1, max: 500 }) }),
      fc.record({ scroll: fc.nat(9000) }),
      fc.record({ count: fc.nat(40) }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const list = createScrolledList({ viewportHeight: 500, overscan: 0 })
        for (const one of steps) {
          if ('count' in one) list.setIds(rows(one.count))
          else if ('scroll' in one) list.scrollTo(one.scroll)
          else list.measure(`r${one.id}`, one.height)
          const { scrollTop, window, rows: drawn } = list
          const most = Math.max(0, window.totalHeight - 500)
          expect(scrollTop).toBeGreaterThanOrEqual(0)
          expect(scrollTop).toBeLessThanOrEqual(most)
          if (list.followsEnd) expect(scrollTop).toBeGreaterThanOrEqual(most - ('scroll' in one ? 32 : 0))
          if (drawn.length === 0) continue
          const end = drawn.at(-1)!.top + drawn.at(-1)!.height
          expect(drawn[0]!.top).toBeLessThanOrEqual(scrollTop)
          expect(end).toBeGreaterThanOrEqual(Math.min(window.totalHeight, scrollTop + 500))
        }
      }),
    )
  })
})

describe('the end', () => {
  test('is followed while an answer is streamed', () => {
    const list = createScrolledList({ viewportHeight: 300 })
    list.setIds(rows(10))
    expect(list.scrollTop).toBe(700)
    list.setIds(rows(11))
    list.measure('r10', 250)
    expect(list.scrollTop).toBe(950)
    expect(list.followsEnd).toBe(true)
  })

  test('is not followed after the person scrolled up, until they return', () => {
    const list = createScrolledList({ viewportHeight: 300 })
    list.setIds(rows(10))
    list.scrollTo(500)
    expect(list.followsEnd).toBe(false)
    list.setIds(rows(12))
    list.measure('r11', 400)
    expect(list.scrollTop).toBe(500)
    list.scrollTo(1190) // close to the end counts as the end
    expect(list.followsEnd).toBe(true)
    list.measure('r11', 500)
    expect(list.scrollTop).toBe(1300)
    list.scrollTo(0)
    list.scrollToEnd()
    expect(list.scrollTop).toBe(1300)
  })

  test('stays visible when the screen is resized', () => {
    const list = createScrolledList()
    list.setIds(rows(10))
    list.resize(400)
    expect(list.scrollTop).toBe(600)
    list.resize(5000)
    expect(list.scrollTop).toBe(0)
    expect(list.window).toMatchObject({ first: 0, last: 9 })
  })
})
