import fc from 'fast-check'
import { expect, test } from 'vitest'
import { comparePaths, FirstInOrder } from './order.ts'

test('a folder comes where its name does, and names by code point', () => {
  const sorted = ['a', 'a/b', 'a/b/c', 'a/z', 'a b', 'a-b', 'a.ts', 'b', 'é', '\ufb01', '😀']
  expect([...sorted].reverse().sort(comparePaths)).toEqual(sorted)
})

test('the first so many are kept, whatever comes when', () => {
  const paths = fc.array(fc.string({ unit: fc.constantFrom('a', 'b', '/', '-', '😀', '\uffff'), minLength: 1 }))
  fc.assert(
    fc.property(paths, fc.nat(5), (all, most) => {
      const first = new FirstInOrder<string>(most)
      // Many more than are kept, so that it has to sort out on the way.
      const many = Array.from({ length: 40 }, (_, i) => all.map((path) => `${path}${i % 7}`)).flat()
      for (const path of many) first.add(path, `item of ${path}`)
      const expected = many.toSorted(comparePaths).slice(0, most)
      expect(first.sorted()).toEqual(expected.map((path) => ({ path, item: `item of ${path}` })))
    }),
  )
})
