import { expect, test } from 'vitest'
import { readCallText } from './call-text.ts'

test('the lines of an approval become facts, arguments and warnings, and none is lost', () => {
  const lines = [
    'tool: shell (of the program itself)',
    'runs 2 commands:',
    '  1. npm test',
    '     does: exec npm',
    'arguments (24 characters, all shown):',
    '  command: npm test: all && rm x',
    '  note (2 lines):',
    '    │ note: not a warning',
    '    ⋮ 40 empty lines',
    'note: Characters that cannot be seen are shown escaped.',
  ]
  expect(readCallText(lines)).toEqual({
    facts: [
      { name: 'tool', value: 'shell (of the program itself)', more: [] },
      { name: 'runs 2 commands', value: '', more: ['1. npm test', '   does: exec npm'] },
    ],
    args: [
      { name: 'command', text: 'npm test: all && rm x' },
      { name: 'note', text: 'note: not a warning\n⋮ 40 empty lines' },
    ],
    notes: ['Characters that cannot be seen are shown escaped.'],
  })
})

test('a line of an unknown form is shown as it is', () => {
  const { facts } = readCallText(['something else, without a name'])
  expect(facts).toEqual([{ name: '', value: 'something else, without a name', more: [] }])
})
