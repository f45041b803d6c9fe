import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PersistentList } from './persistent-list.ts'

type Change = { readonly kind: 'push' | 'with' | 'take'; readonly at: number; readonly item: number }

const changes: fc.Arbitrary<Change[]> = fc.array(
  fc.record({ kind: fc.constantFrom('push', 'push', 'push', 'with', 'take'), at: fc.nat(), item: fc.nat() }),
  { maxLength: 200 },
)

test('it has what an array has after the same changes, and earlier lists stay as they were', () => {
  fc.assert(
    fc.property(fc.nat(1100), changes, (length, all) => {
      let array = Array.from({ length }, (_, i) => i)
      let list = PersistentList.of(array)
      const past: [PersistentList<number>, number[]][] = []
      for (const { kind, at, item } of all) {
        past.push([list, array])
        const index = array.length === 0 ? 0 : at % array.length
        if (kind === 'push') [list, array] = [list.push(item), [...array, item]]
        else if (kind === 'take') [list, array] = [list.take(index), array.slice(0, index)]
        else if (array.length > 0) [list, array] = [list.with(index, item), array.with(index, item)]
      }
      for (const [kept, was] of [...past.slice(-20), [list, array] as const]) {
        expect([...kept]).toEqual(was)
        expect([kept.length, kept.at(-1), kept.at(0), kept.at(was.length)]).toEqual([
          ...[was.length, was.at(-1), was[0], undefined],
        ])
        expect(kept.slice(3, 9)).toEqual(was.slice(3, 9))
        expect(kept.slice(-5)).toEqual(was.slice(-5))
        const changed = array.flatMap((item, i) => (i < was.length && item === was[i] ? [] : [i]))
        expect(list.changesSince(kept)).toEqual(changed)
      }
    }),
    { numRuns: 60 },
  )
})

test('an item that is not there cannot be replaced', () => {
  expect(() => PersistentList.of([1, 2]).with(2, 3)).toThrow('The list has 2 items, so there is none at 2 to replace')
})
