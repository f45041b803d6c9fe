import { spawnSync } from 'node:child_process'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hasExpansion, plainWord } from './command-parts.ts'
import { readShell } from './read-shell.ts'

const bash = (script: string): string =>
  spawnSync('bash', ['--noprofile', '--norc', '-c', script], { encoding: 'utf8', env: { LC_ALL: 'C.UTF-8' } }).stdout
const hasBash = bash('echo yes') === 'yes\n'
if (!hasBash) console.warn('SKIPPED: bash is not installed, our unquoting is not compared')

/** What may stand in a word, and what only looks as if. */
const pieces = [
  ...[
    'a',
    'Z',
    '0',
    '_',
    '-',
    '=',
    ':',
    '.',
    '..',
    ',',
    '/',
    '#',
    '!',
    '%',
    '@',
    '+',
    '^',
    ']',
    '}',
    '{',
    '[',
    '~',
    'ü',
    '€',
  ],
  ...[
    "'",
    '"',
    '\\',
    '\\\\',
    "\\'",
    '\\"',
    '\\$',
    '\\`',
    '\\*',
    '\\.',
    '\\ ',
    '\\|',
    '\\(',
    '\\n',
    '$',
    '$?',
    '`',
    '*',
    '?',
  ],
  ...[
    "'a b'",
    '"a b"',
    "'\\'",
    '"\\."',
    '"\\$x"',
    '"$"',
    "''",
    '""',
    '"\'"',
    "'\"'",
    '"\\\\"',
    '"a\\|b"',
    '{a,b}',
    '$x',
    '$(x)',
    '|',
    ' ',
  ],
]
const word = fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 8 }).map((all) => all.join(''))

test.runIf(hasBash)('a word without obstacles is what bash makes of it', () => {
  let compared = 0
  fc.assert(
    fc.property(fc.array(word, { minLength: 100, maxLength: 100 }), (words) => {
      const read = words.flatMap((text) => {
        const { commands, obstacles, isWhole } = readShell(`p ${text}`)
        const isPlain = isWhole && obstacles.length === 0 && commands.length === 1 && !text.includes('$?')
        return isPlain ? [{ text, words: commands[0]!.words.slice(1) }] : []
      })
      compared += read.length
      // Each on a line of its own: some end in a comment.
      const script = read.map(({ text }) => `printf '%s\\0' ${text}\nprintf '\\1'`).join('\n')
      const said = bash(`set -f\n${script}`).split('\x01').slice(0, -1)
      // `printf` without anything to print still prints its format.
      const ours = read.map(({ words: [first = '', ...rest] }) => [first, ...rest].map((one) => `${one}\0`).join(''))
      expect(said.map((text, i) => [read[i]?.text, text])).toEqual(ours.map((text, i) => [read[i]?.text, text]))
    }),
    { numRuns: 40 },
  )
  expect(compared).toBeGreaterThan(500)
})

test.each([
  ['\\curl', 'curl', ['a backslash in front of a letter']],
  ['-ex\\ec', '-exec', ['a backslash in front of a letter']],
  ['"cu"r\'l\'', 'curl', []],
  ["'foo\\.bar'", 'foo\\.bar', []],
  ['"a\\|b"', 'a\\|b', []],
  ['\\(', '(', []],
  ['"it\'s"', "it's", []],
  ['"cost: 5$"', 'cost: 5$', []],
  ['"\\$HOME"', '$HOME', []],
  ['HEAD@{1}', 'HEAD@{1}', []],
  ['{}', '{}', []],
  ['HEAD~1', 'HEAD~1', []],
])('%s says %s', (text, value, obstacles) => {
  expect(plainWord(text)).toEqual({ value, isGlob: false, isKnown: true, obstacles })
})

test.each([
  ['$x', 'a parameter expansion, $…'],
  [`"\${x}"`, 'a parameter expansion, $…'],
  ['$$', 'a parameter expansion, $…'],
  ['"$(x)"', 'a command substitution, $(…)'],
  ['`x`', 'a command substitution, $(…)'],
  ['$[1]', 'arithmetic, $((…))'],
  ["$'x'", "a string with escapes, $'…'"],
  ['$"x"', 'a translated string, $"…"'],
  ['<(x)', 'a process substitution, <(…)'],
  ['@(x)', 'an extended pattern, @(…)'],
  ['~', 'a home directory, ~'],
  ['--file=~/x', 'a home directory, ~'],
  ['{a,b}', 'a brace expansion, {…}'],
  ['x{1..3}', 'a brace expansion, {…}'],
  ['"x', 'a quote that does not end'],
  ["'x", 'a quote that does not end'],
])('%s is not known: %s', (text, obstacle) => {
  expect(plainWord(text)).toMatchObject({ isKnown: false, obstacles: [obstacle] })
})

test('a number that only the shell knows is not known, and no obstacle', () => {
  expect(plainWord('"code: $?"')).toMatchObject({ isKnown: false, obstacles: [] })
  expect(plainWord('$?')).toEqual({ value: '$?', isGlob: false, isKnown: false, obstacles: [] })
})

test('a pattern is one only outside quotes', () => {
  const isGlob = (text: string): boolean => plainWord(text).isGlob
  expect(['*.ts', 'a?', '[ab]', "'a'*"].map(isGlob)).toEqual([true, true, true, true])
  expect(["'*.ts'", '"a?"', '\\*', '[', ']', '"["ab]'].map(isGlob)).toEqual([false, false, false, false, false, false])
})

test('the body of a here-document is searched for expansions', () => {
  expect(['a $x', `\${x}`, '$(x)', '`x`', '$[1]'].map(hasExpansion)).toEqual([true, true, true, true, true])
  expect(['a $ b', '5$', 'it\'s "so"'].map(hasExpansion)).toEqual([false, false, false])
})
