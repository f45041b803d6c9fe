import fc from 'fast-check'
import { expect, test } from 'vitest'
import { textWidth } from '../terminal/text-width.ts'
import { SoftWrap } from './soft-wrap.ts'

const wrap = (columns: number) => new SoftWrap(columns, () => '[label]')
function rowsOf(line: string, columns: number): string[] {
  const starts = wrap(columns).rows(line)
  return starts.map((start, i) => line.slice(start, starts[i + 1] ?? line.length))
}

test('rows break after a blank near the edge, else anywhere; no row begins with the blank that ended the last one', () => {
  expect(rowsOf('some words here', 12)).toEqual(['some words ', 'here'])
  expect(rowsOf('a verylongword', 9)).toEqual(['a verylo', 'ngword'])
  expect(rowsOf('12345 789', 6)).toEqual(['12345 ', '789'])
  expect(rowsOf('12345', 6)).toEqual(['12345'])
})

test('rows are the same for letters that need to be measured', () => {
  const line = fc.array(fc.constantFrom('x', ' ', 'xx', 'xxxxx '), { maxLength: 40 }).map((words) => words.join(''))
  fc.assert(
    fc.property(line, fc.integer({ min: 2, max: 20 }), (text, columns) => {
      const measured = text.replaceAll('x', 'ж')
      if (measured !== text) expect(wrap(columns).rows(measured)).toEqual(wrap(columns).rows(text))
    }),
  )
})

test('rows hold every character once, and fit beside the caret', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 3, max: 20 }), (text, columns) => {
      const line = text.replaceAll('\n', '')
      expect(rowsOf(line, columns).join('')).toBe(line)
      for (const row of rowsOf(line, columns))
        expect(textWidth(wrap(columns).shown(row.replace(/ $/, '')))).toBeLessThan(columns)
    }),
  )
})
