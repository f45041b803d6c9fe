import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SortedList } from './sorted-list.ts'

test('a sorted list holds what was added and not removed, in order, and goes on after any item', () => {
  const changes = fc.array(fc.tuple(fc.boolean(), fc.nat(300)), { maxLength: 200 })
  fc.assert(
    fc.property(changes, fc.nat(300), fc.nat(3), (steps, from, factor) => {
      const list = new SortedList<number>((a, b) => a - b)
      const model = new Set<number>()
      // Many items, so that chunks are divided and emptied.
      const all =
        factor === 0 ? steps : [...Array.from({ length: 2000 }, (_, i) => [true, (i * 7919) % 2003] as const), ...steps]
      for (const [isAdded, value] of all) {
        if (isAdded && !model.has(value)) list.add(value)
        else if (!isAdded) list.remove(value)
        if (isAdded) model.add(value)
        else model.delete(value)
      }
      const sorted = [...model].sort((a, b) => a - b)
      expect([...list.after()]).toEqual(sorted)
      expect([...list.after(from)]).toEqual(sorted.filter((value) => value > from))
      expect([...list.from(from)]).toEqual(sorted.filter((value) => value >= from))
      expect(list.countBefore(from)).toBe(sorted.filter((value) => value < from).length)
      expect(list.size).toBe(model.size)
      for (const value of sorted) list.remove(value)
      expect([list.size, ...list.after()]).toEqual([0])
    }),
    { numRuns: 50 },
  )
})
