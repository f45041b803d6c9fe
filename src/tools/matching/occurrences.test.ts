import fc from 'fast-check'
import { expect, test } from 'vitest'
import { occurrencesOf, sequencesIn } from './occurrences.ts'

const codes = (text: string): number[] => Array.from(text, (_, i) => text.charCodeAt(i))

test('both ways of searching find the same places', () => {
  const ab = (max: number) =>
    fc.array(fc.constantFrom('a', 'b'), { minLength: 1, maxLength: max }).map((all) => all.join(''))
  fc.assert(
    fc.property(ab(40), ab(5), fc.boolean(), fc.integer({ min: 1, max: 9 }), (text, wanted, overlapping, most) => {
      const options = { overlapping, most }
      expect(sequencesIn(codes(text), codes(wanted), options)).toEqual(occurrencesOf(text, wanted, options))
    }),
    { numRuns: 500, seed: 3 },
  )
})

test('a long text is found among others that begin like it', () => {
  const begin = 'begin '.repeat(60)
  const text = `${begin}one ${begin}two ${'some words '.repeat(500_000)}${begin}two`
  const options = { overlapping: true, most: 10 }
  expect(occurrencesOf(text, `${begin}two`, options)).toEqual([begin.length + 4, text.length - begin.length - 3])
  expect(occurrencesOf(text, `${begin}two`, { overlapping: false, most: 1 })).toEqual([begin.length + 4])
  expect(occurrencesOf(text, `${begin}three`, options)).toEqual([])
})

test('a long text of many repetitions is found without trying each place anew', () => {
  const text = `${'a'.repeat(10_000_000)}é`
  const wanted = `${'a'.repeat(50_000)}b${'a'.repeat(50_000)}`
  expect(occurrencesOf(text, wanted, { overlapping: true, most: 10 })).toEqual([])
  const tail = `${'a'.repeat(100_000)}é`
  expect(occurrencesOf(text, tail, { overlapping: true, most: 10 })).toEqual([text.length - tail.length])
})
