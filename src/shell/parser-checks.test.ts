import { expect, test } from 'vitest'
import { isCovered } from './parser-checks.ts'

test('between the words there may be blanks, operators and comments', () => {
  expect(
    isCovered('ls && b # c; d', [
      [0, 2],
      [6, 7],
    ]),
  ).toBe(true)
  expect(isCovered('# c', [])).toBe(true)
  expect(isCovered('', [])).toBe(true)
  expect(
    isCovered('a\n#b\nc', [
      [5, 6],
      [0, 1],
    ]),
  ).toBe(true)
})

test('anything else was skipped', () => {
  expect(isCovered('ls && b', [[0, 2]])).toBe(false)
  expect(
    isCovered('ls (b)', [
      [0, 2],
      [4, 5],
    ]),
  ).toBe(false)
  expect(isCovered('ls#b', [[0, 2]])).toBe(false)
  expect(isCovered('a "b', [[0, 1]])).toBe(false)
})
