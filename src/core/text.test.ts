import fc from 'fast-check'
import { expect, test } from 'vitest'
import { byteLength, cutText, headBytes, headOf, oneLine, tailBytes, tailOf } from './text.ts'

const texts = fc.string({ unit: fc.constantFrom('a', 'é', '€', '😀', ' ', '\n') })
const limits = fc.nat({ max: 30 })

test('a cut text fits, is a part of the whole, and has no half character', () => {
  fc.assert(
    fc.property(texts, limits, (text, most) => {
      for (const [cut, size] of [
        [headOf(text, most), headOf(text, most).length],
        [tailOf(text, most), tailOf(text, most).length],
        [headBytes(text, most), Buffer.byteLength(headBytes(text, most))],
        [tailBytes(text, most), Buffer.byteLength(tailBytes(text, most))],
      ] as const) {
        expect(size).toBeLessThanOrEqual(most)
        expect(cut.isWellFormed()).toBe(true)
        expect(text).toContain(cut)
      }
      expect(text.startsWith(headOf(text, most)) && text.startsWith(headBytes(text, most))).toBe(true)
      expect(text.endsWith(tailOf(text, most)) && text.endsWith(tailBytes(text, most))).toBe(true)
    }),
  )
})

test('as much as fits is kept', () => {
  expect([headOf('ab😀', 3), headOf('ab😀', 4), tailOf('😀ab', 3), tailOf('😀ab', 4)]).toEqual([
    'ab',
    'ab😀',
    'ab',
    '😀ab',
  ])
  expect([headBytes('a€b', 3), headBytes('a€b', 4), tailBytes('a€b', 3), tailBytes('a€b', 4)]).toEqual([
    'a',
    'a€',
    'b',
    '€b',
  ])
})

test('an ellipsis stands for what is missing', () => {
  expect([cutText('abcdef', 6), cutText('abcdef', 5), oneLine(' a \n b\tc ', 3)]).toEqual(['abcdef', 'abcd…', 'a …'])
})

test('the byte length is that of UTF-8', () => {
  fc.assert(fc.property(texts, (text) => byteLength(text) === Buffer.byteLength(text)))
  expect(byteLength('\ud83d a \ude00')).toBe(Buffer.byteLength('\ud83d a \ude00'))
})

test('one line of a long text is as that of the whole text, wherever its words begin', () => {
  const whole = (text: string): string => cutText(text.replace(/\s+/g, ' ').trim(), 10)
  for (const blanks of [0, 5, 35, 39, 40, 41, 159, 160, 700])
    for (const end of ['', ' ', 'word', 'some words and more', '\n'.repeat(300)]) {
      const text = `${' \n'.repeat(blanks)}ab${' '.repeat(blanks)}cdefgh ${end}`
      expect(oneLine(text, 10)).toBe(whole(text))
    }
})

test('one line without room for any character is made, too', () => {
  expect([oneLine('', 0), oneLine(' '.repeat(300), 0)]).toEqual(['', ''])
  for (const room of [0, -1]) expect(oneLine('some words '.repeat(30), room)).toBe('…')
})
