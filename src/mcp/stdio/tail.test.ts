import { expect, test } from 'vitest'
import { createTail } from './stdio-transport.ts'

test('a short text is kept completely', () => {
  expect(tailOf(8)).toBe('')
  expect(tailOf(8, 'abc', '', 'de')).toBe('abcde')
  expect(tailOf(5, 'abcde')).toBe('abcde')
})

test('of a longer text the end is kept, however it was cut', () => {
  const all = 'the quick brown fox jumps over the lazy dog'
  for (let most = 1; most <= all.length; most++)
    for (let size = 1; size <= all.length; size++) {
      const pieces = all.match(new RegExp(`.{1,${size}}`, 'g')) ?? []
      expect(tailOf(most, ...pieces)).toBe(all.slice(-most))
    }
})

test('half a character is left out', () => {
  expect(tailOf(6, 'xx€€')).toBe('€€')
  expect(tailOf(5, 'xx€€')).toBe('€')
})

test('what was written just before the end is kept beside it', () => {
  expect(partsOf(3, 4, 'ab')).toEqual(['', 'ab'])
  expect(partsOf(3, 4, 'abcd', 'ef')).toEqual(['abc', 'def'])
  expect(partsOf(3, 4, 'abcdefghij')).toEqual(['defg', 'hij'])
  expect(partsOf(3, 4, 'abc€x€')).toEqual(['€x', '€'])
  expect(partsOf(4, 4, 'abc€€')).toEqual(['bc€', '€'])
})

function tailOf(mostBytes: number, ...pieces: string[]): string {
  return partsOf(mostBytes, 0, ...pieces)[1]
}

function partsOf(textBytes: number, beforeBytes: number, ...pieces: string[]): [before: string, text: string] {
  const tail = createTail(textBytes, beforeBytes)
  for (const piece of pieces) tail.add(Buffer.from(piece))
  return tail.parts()
}
