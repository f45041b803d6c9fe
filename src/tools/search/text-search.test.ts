import { expect, test } from 'vitest'
import { countLines, countMatches, findLines, hasMatch, type LineSearch } from './text-search.ts'

const text = 'one\ntwo\nthree\nfour\nfive\nsix\n'
const lines = (regex: RegExp, of = text): LineSearch => ({ text: of, regex, crossesLines: false })
const spans = (regex: RegExp, of = text): LineSearch => ({ text: of, regex, crossesLines: true })

function shown(search: LineSearch, before = 0, after = 0): string[] {
  const found = findLines(search, before, after)
  expect(countLines(search, before, after)).toBe(found.length)
  return found.map(({ number, text, isMatch }) => `${number}${isMatch ? ':' : '-'}${text}`)
}

test('each line that matches comes once, with its number', () => {
  expect(shown(lines(/e/g))).toEqual(['1:one', '3:three', '5:five'])
  expect(countMatches(lines(/e/g))).toBe(3)
})

test('lines around are shown once, at the edges too', () => {
  expect(shown(lines(/e$|t/gm), 1, 0)).toEqual(['1:one', '2:two', '3:three', '4-four', '5:five'])
  expect(shown(lines(/one|six/g), 1, 1)).toEqual(['1:one', '2-two', '5-five', '6:six'])
  expect(shown(lines(/four/g), 9, 9)).toEqual(['1-one', '2-two', '3-three', '4:four', '5-five', '6-six'])
})

test('a match may go over lines', () => {
  expect(shown(spans(/two\nth|ee\nfour/g))).toEqual(['2:two', '3:three', '4:four'])
  expect(countMatches(spans(/two\nth|ee\nfour/g))).toBe(2)
  expect(shown(spans(/e\n/g), 0, 1)).toEqual(['1:one', '2-two', '3:three', '4-four', '5:five', '6-six'])
})

test('there is no line after the last newline, and none in nothing', () => {
  expect(shown(lines(/$/gm, 'a\n'))).toEqual(['1:a'])
  expect(shown(lines(/$/gm, 'a'))).toEqual(['1:a'])
  expect(shown(lines(/$/gm, ''))).toEqual([])
  expect(hasMatch(lines(/$/gm, ''))).toBe(false)
  expect(hasMatch(spans(/\n/g, '\n'))).toBe(true)
})

test('what matches nothing at all ends, also between halves of a character', () => {
  expect(countMatches(spans(/(?:)/gu, '😀a'))).toBe(3)
})

test('of a long line only the beginning is kept', () => {
  expect(findLines(lines(/x/g, 'x'.repeat(100_000)), 0, 0)[0]!.text.length).toBeLessThan(2000)
})
