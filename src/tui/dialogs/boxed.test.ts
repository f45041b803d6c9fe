import fc from 'fast-check'
import { expect, test } from 'vitest'
import { argumentLines } from '../../authority/interaction/consent-lines.ts'
import { createPaint } from '../terminal/paint.ts'
import { textWidth } from '../terminal/text-width.ts'
import { approvalStyles } from './approval-calls.ts'
import { boxed } from './boxed.ts'

const paint = createPaint({ colours: false })

test('the old text of an edit is red, the new text green, a warning yellow', () => {
  const tagged = (tag: string) => (text: string) => `<${tag}>${text}`
  const tags = { ...paint, red: tagged('red'), green: tagged('green'), yellow: tagged('yellow'), bold: tagged('bold') }
  const input = { path: 'a.ts', old_string: 'one\n  two', new_string: 'three', note: 'x' }
  const lines = ['  1. ls', ...argumentLines(input, (text) => text).lines, 'note: mind it']
  expect(boxed(lines, { columns: 80, paint: tags }, approvalStyles())).toEqual([
    '│ <bold>  1. ls',
    '│ arguments (19 characters, all shown):',
    '│   path: a.ts',
    '│ <red>  old_string (2 lines):',
    '│ <red>    │ one',
    '│ <red>    │   two',
    '│ <green>  new_string: three',
    '│   note: x',
    '│ <yellow>note: mind it',
  ])
})

test('rows break after blanks where possible', () => {
  expect(boxed(['one two three'], { columns: 14, paint })).toEqual(['│ one two ', '┆ three'])
  expect(boxed(['a aaaaaaaaaaaa'], { columns: 14, paint })).toEqual(['│ a aaaaaaaaa', '┆ aaa'])
})

test('for any text nothing is lost, and every row fits and has its margin', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 200 }).map((one) => one.replace(/\p{Cc}/gu, ''))
  fc.assert(
    fc.property(text, fc.integer({ min: 11, max: 40 }), (line, columns) => {
      const [first = '', ...more] = boxed([line], { columns, paint })
      expect([first.slice(0, 2), ...new Set(more.map((row) => row.slice(0, 2)))].slice(0, 2).join('')).toMatch(
        /^│ (┆ )?$/,
      )
      expect([first, ...more].map((row) => row.slice(2)).join('')).toBe(line)
      for (const row of [first, ...more]) expect(textWidth(row)).toBeLessThan(columns)
    }),
  )
})
