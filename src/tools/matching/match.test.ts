import fc from 'fast-check'
import { expect, test } from 'vitest'
import { originalPositions, plainEndings } from './line-endings.ts'
import { placesOf } from './match.ts'
import { occurrencesOf } from './occurrences.ts'
import { placesByLines } from './places-by-lines.ts'
import { searchedText } from './searched-text.ts'

const fragment = fc.constantFrom('a', 'a', 'b', 'aa', '\n', '\r\n', '\r')
const soup = (max: number) => fc.array(fragment, { minLength: 1, maxLength: max }).map((parts) => parts.join(''))

test('lines are found where they are in the text with plain endings, whatever the endings', () => {
  let found = 0
  fc.assert(
    fc.property(soup(30), soup(5), fc.boolean(), fc.integer({ min: 1, max: 9 }), (text, given, overlapping, most) => {
      const wanted = plainEndings(given)
      const places = placesByLines(text, wanted, { overlapping, most })
      if (!places) return
      const plain = occurrencesOf(plainEndings(text), wanted, { overlapping, most })
      found += plain.length
      expect(places.starts).toEqual(originalPositions(text, plain))
      expect(places.starts.map((_, i) => places.endOf(i))).toEqual(
        originalPositions(
          text,
          plain.map((at) => at + wanted.length),
        ),
      )
    }),
    { numRuns: 3000, seed: 5 },
  )
  expect(found).toBeGreaterThan(1000)
})

test('a text with other endings is found without a plain copy of the whole', () => {
  const text = Array.from({ length: 1000 }, (_, i) => `line ${i}\r\n`).join('')
  const searched = {
    ...searchedText(text),
    plain: () => {
      throw new Error('nobody needs it')
    },
  }
  const places = placesOf(searched, 'line 500\nline 501\n', { all: false, asLines: false })
  expect(places.starts).toEqual([text.indexOf('line 500')])
  expect(places.endOf(0)).toBe(text.indexOf('line 502'))
})

test('lines that are everywhere, or empty, are left to another way of searching', () => {
  expect(placesByLines('a\r\n'.repeat(1000), 'a\n'.repeat(100), { overlapping: true, most: 10_000 })).toBeUndefined()
  expect(placesByLines('\r\n\r\n', '\n', { overlapping: true, most: 10 })).toBeUndefined()
})
