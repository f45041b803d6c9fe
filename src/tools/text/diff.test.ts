import { expect, test } from 'vitest'
import { aroundChanges } from './diff.ts'

const long = 'x'.repeat(500)

test('T05 a change far behind in a long line is shown with a little of what stands before it', () => {
  const end = '\\ No newline at end of file'
  expect([...aroundChanges(['@@', ' same', `-${long}old`, end, `+${long}new`, end], 100)]).toEqual([
    ...['@@', ' same'],
    `-… (460 characters as before) …${'x'.repeat(40)}old`,
    end,
    `+… (460 characters as before) …${'x'.repeat(40)}new`,
    end,
  ])
})

test.each([
  ['short lines', ['-ab', '+ac']],
  ['a long line that is new', [' a', `+${long}`, ' b']],
  ['long lines that differ at their beginning', [`-a${long}`, `+b${long}`]],
  ['a change of its own after another', ['-a', `+${long}a`, `-${long}b`]],
  ['very many lines', Array.from({ length: 1000 }, (_, i) => `-${long}${i}`)],
])('%s stay as they are', (_, lines) => {
  expect([...aroundChanges(lines, 100)]).toEqual(lines)
})
