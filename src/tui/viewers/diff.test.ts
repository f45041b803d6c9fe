import { describe, expect, test } from 'vitest'
import { handKeyboard } from '../../../test/cli/person-kit.ts'
import { headlessTerminal } from '../../../test/tui/headless-terminal.ts'
import { changedWords } from '../../chat/read-diff.ts'
import { diffView } from './diff.ts'
import { runViewer } from './viewer.ts'

const diff = `diff --git a/src/cart.js b/src/cart.js
index 123..456 100644
--- a/src/cart.js
+++ b/src/cart.js
@@ -5,4 +5,5 @@ export
 export function discounted(items) {
-  return whole + rebate
--- a comment
+  return whole - rebate
+++ a\tcomment\x1b[2J
+  // more
 }
`

function open(columns: number, colours = false) {
  const terminal = headlessTerminal({ columns, rows: 14, colours })
  const keyboard = handKeyboard()
  void runViewer(diffView({ paint: terminal.paint, diff }), { terminal, keyboard })
  return { terminal, keyboard }
}

test('UI57 a diff is shown in one column, with line numbers, below 100 columns', async () => {
  const { terminal } = open(60)
  expect((await terminal.screen()).slice(1, 10)).toEqual([
    'src/cart.js',
    '@@ -5,4 +5,5 @@ export',
    '5 5   export function discounted(items) {',
    '6   -   return whole + rebate',
    '7   - -- a comment',
    '  6 +   return whole - rebate',
    '  7 + ++ a    comment␛[2J',
    '  8 +   // more',
    '8 9   }',
  ])
})

test('UI57 and side by side from 100 columns on, or by a key', async () => {
  const { terminal, keyboard } = open(100)
  const wide = [
    'src/cart.js',
    '@@ -5,4 +5,5 @@ export',
    `5   export function discounted(items) {${' '.repeat(9)} │ 5   export function discounted(items) {`,
    `6 -   return whole + rebate${' '.repeat(21)} │ 6 +   return whole - rebate`,
    `7 - -- a comment${' '.repeat(32)} │ 7 + ++ a    comment␛[2J`,
    `${' '.repeat(48)} │ 8 +   // more`,
    `8   }${' '.repeat(43)} │ 9   }`,
  ]
  expect((await terminal.screen()).slice(1, 8)).toEqual(wide)
  keyboard.press('s')
  expect((await terminal.screen())[4]).toBe('6   -   return whole + rebate')
  keyboard.press('s')
  expect((await terminal.screen()).slice(1, 8)).toEqual(wide)
})

test('UI57 the words that changed within a line are in reverse', () => {
  const { terminal } = open(60, true)
  const drawn = terminal.writes.join('')
  expect(drawn).toContain('\x1b[7m\x1b[31m+\x1b[39m\x1b[27m\x1b[31m rebate')
  expect(drawn).toContain('\x1b[7m\x1b[32m-\x1b[39m\x1b[27m\x1b[32m rebate')
})

describe('changed words', () => {
  const marks = (one: string, other: string): string[] =>
    changedWords(one, other).map((parts) =>
      parts.map(({ text, isChanged }) => (isChanged ? `[${text}]` : text)).join(''),
    )

  test.each([
    ['const a = 1', 'const b = 1', 'const [a] = 1', 'const [b] = 1'],
    ['call(x)', 'call(x, y)', 'call(x)', 'call(x[, y])'],
    ['a longer one two three', 'a longer one four five', 'a longer one [two three]', 'a longer one [four five]'],
    ['nothing alike', '0123456789', 'nothing alike', '0123456789'],
    ['', 'x', '', 'x'],
  ])('%s → %s', (one, other, removed, added) => {
    expect(marks(one, other)).toEqual([removed, added])
  })

  test('lines that are too long to compare are shown whole', () => {
    const long = 'a b '.repeat(2000)
    expect(changedWords(long, `${long}c`)).toEqual([
      [{ text: long, isChanged: false }],
      [{ text: `${long}c`, isChanged: false }],
    ])
  })
})
