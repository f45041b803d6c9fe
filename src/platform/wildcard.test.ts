import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createMatchBudget, matchesWildcard, overlaps, searchCost, wildcard } from './wildcard.ts'

const matches = (pattern: string, text: string): boolean => matchesWildcard(wildcard(pattern), text)

test.each([
  ['*', '', true],
  ['*', 'src/deep/file.ts', true],
  ['src/*', 'src/deep/file.ts', true],
  ['src/*', 'lib/src/file.ts', false],
  ['*.ts', 'src/a.ts', true],
  ['*.ts', 'src/a.tsx', false],
  ['a*b*c', 'a-b-b-c', true],
  ['a*b*c', 'acb', false],
  ['ab*ba', 'aba', false],
  ['src', 'src', true],
  ['src', 'src/', false],
  ['a.c', 'abc', false],
  ['[ab]?+(x)$', '[ab]?+(x)$', true],
  ['', '', true],
  ['', 'a', false],
])(
  'B018 a star crosses separators, the rest is literal, both ends are anchored: %s on %s',
  (pattern, text, expected) => {
    expect(matches(pattern, text)).toBe(expected)
  },
)

const letters = fc.string({ unit: fc.constantFrom('a', 'b', '/'), maxLength: 8 })
const patterns = fc.string({ unit: fc.constantFrom('a', 'b', '*'), maxLength: 8 })

test('a pattern matches what an obvious matcher says', () => {
  const obvious = (pattern: string, text: string): boolean => {
    if (pattern === '') return text === ''
    if (pattern[0] === '*') return obvious(pattern.slice(1), text) || (text !== '' && obvious(pattern, text.slice(1)))
    return text[0] === pattern[0] && obvious(pattern.slice(1), text.slice(1))
  }
  fc.assert(fc.property(patterns, letters, (pattern, text) => matches(pattern, text) === obvious(pattern, text)))
})

test('patterns that some text matches together overlap', () => {
  fc.assert(
    fc.property(patterns, patterns, letters, (one, other, text) => {
      fc.pre(matches(one, text) && matches(other, text))
      expect(overlaps(wildcard(one), wildcard(other))).toBe(true)
    }),
    { numRuns: 50 },
  )
  expect(overlaps(wildcard('src/*'), wildcard('lib/*'))).toBe(false)
  expect(overlaps(wildcard('*.ts'), wildcard('*.env'))).toBe(false)
})

test('a hostile pattern ends at once', () => {
  expect(matches(`${'*a'.repeat(500)}*b`, 'a'.repeat(100_000))).toBe(false)
})

test('an exhausted budget allows no more', () => {
  const effort = createMatchBudget(10)
  expect([effort.spend(6), effort.spend(4), effort.spend(1), effort.spend(0)]).toEqual([true, true, false, false])
})

test('a long text costs more to search', () => {
  expect(searchCost('a'.repeat(8000))).toBeGreaterThan(searchCost('a'))
})
