import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  findAtLineStarts,
  findExact,
  findWithAnyEndings,
  maxCountedMatches,
  occurrencesOf,
  sequencesIn,
} from './exact-match.ts'
import { searchedText } from './searched-text.ts'
import { editTexts, originalPositions, withLfEndings } from './text-lines.ts'

const fragment = fc.constantFrom('a', 'a', 'b', 'aa', '\n', '\r\n', '\r')
const soup = (max: number) => fc.array(fragment, { minLength: 1, maxLength: max }).map((parts) => parts.join(''))

test('lines are found where they are in the text with plain endings, whatever the endings', () => {
  let found = 0
  fc.assert(
    fc.property(soup(30), soup(5), fc.boolean(), fc.integer({ min: 1, max: 9 }), (text, given, overlapping, max) => {
      const wanted = withLfEndings(given)
      const places = findWithAnyEndings(text, wanted.split('\n'), { overlapping, max })
      if (!places) return
      const plain = occurrencesOf(withLfEndings(text), wanted, { overlapping, max })
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
    lfText: () => {
      throw new Error('not needed')
    },
  }
  const places = findExact(searched, editTexts({ old: 'line 500\nline 501\n', new: '' }), { all: false })
  expect(places.starts).toEqual([text.indexOf('line 500')])
  expect(places.endOf(0)).toBe(text.indexOf('line 502'))
})

test('lines that are everywhere, or empty, are left to another way of searching', () => {
  expect(
    findWithAnyEndings('a\r\n'.repeat(1000), 'a\n'.repeat(100).split('\n'), { overlapping: true, max: 10_000 }),
  ).toBeUndefined()
  expect(findWithAnyEndings('\r\n\r\n', ['', ''], { overlapping: true, max: 10 })).toBeUndefined()
})

const codes = (text: string): number[] => Array.from(text, (_, i) => text.charCodeAt(i))

test('both ways of searching find the same places', () => {
  const ab = (max: number) =>
    fc.array(fc.constantFrom('a', 'b'), { minLength: 1, maxLength: max }).map((all) => all.join(''))
  fc.assert(
    fc.property(ab(40), ab(5), fc.boolean(), fc.integer({ min: 1, max: 9 }), (text, wanted, overlapping, max) => {
      const options = { overlapping, max }
      expect(sequencesIn(codes(text), codes(wanted), options)).toEqual(occurrencesOf(text, wanted, options))
    }),
    { numRuns: 500, seed: 3 },
  )
})

test('a long text is found among others that begin like it', () => {
  const begin = 'begin '.repeat(60)
  const text = `${begin}one ${begin}two ${'some words '.repeat(500_000)}${begin}two`
  const options = { overlapping: true, max: 10 }
  expect(occurrencesOf(text, `${begin}two`, options)).toEqual([begin.length + 4, text.length - begin.length - 3])
  expect(occurrencesOf(text, `${begin}two`, { overlapping: false, max: 1 })).toEqual([begin.length + 4])
  expect(occurrencesOf(text, `${begin}three`, options)).toEqual([])
})

test('a long text of many repetitions is found without trying each place anew', () => {
  const text = `${'a'.repeat(10_000_000)}é`
  const wanted = `${'a'.repeat(50_000)}b${'a'.repeat(50_000)}`
  expect(occurrencesOf(text, wanted, { overlapping: true, max: 10 })).toEqual([])
  const tail = `${'a'.repeat(100_000)}é`
  expect(occurrencesOf(text, tail, { overlapping: true, max: 10 })).toEqual([text.length - tail.length])
})

test('one match more than are counted is found, so that the message can say "more than"', () => {
  const searched = searchedText(`other\n${'same line here\n'.repeat(maxCountedMatches + 100)}`)
  for (const find of [findExact, findAtLineStarts]) {
    const { starts } = find(searched, editTexts({ old: 'same line here', new: '' }), { all: false })
    expect(starts).toHaveLength(maxCountedMatches + 1)
  }
})
