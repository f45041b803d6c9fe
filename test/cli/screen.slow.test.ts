import { fileURLToPath } from 'node:url'
import { describe, expect } from 'vitest'
import { testInTurns } from '../soak.ts'
import { foreignIn, type PseudoTerminal, type PseudoTerminalOptions, startInTerminal } from './pseudo-terminal.ts'

const test = testInTurns(2)

const child = fileURLToPath(new URL('./screen-child.ts', import.meta.url))

/** A scene on a terminal, which stops at every `look`. */
const play = (scene: string, options: PseudoTerminalOptions = {}, ...more: string[]): PseudoTerminal =>
  startInTerminal([process.execPath, '--conditions=libero-source', child, scene, ...more], {
    columns: 100,
    rows: 40,
    ...options,
  })

/** Does not stop at `look`. */
const unwatched = (scene: string, options: PseudoTerminalOptions): PseudoTerminal => play(scene, options, 'unwatched')

/** How it ended, and the screen it left. */
const left = async (pty: PseudoTerminal): Promise<{ readonly code: number; readonly screen: string }> => ({
  code: await pty.ended,
  screen: pty.text(),
})

/** A finished call and its facts, at the two edges of the screen. */
const apart = (call: string, facts: string): string => `${call}${' '.repeat(99 - call.length - facts.length)}${facts}`

describe('a run on a terminal', () => {
  test('shows running work in live lines and finished work permanently', async () => {
    const pty = play('typical')
    await pty.see('asking the model')
    pty.type('x')

    await pty.see('thinking… The test fails, so I look at it first')
    pty.type('x')

    const streaming = await pty.see('I run the **tests** and `mend` what is')
    expect(streaming).toMatch(/^The plan$/m)
    expect(streaming).not.toContain('thinking')
    pty.type('x')

    const running = await pty.see('shell npm test  1 s', 'not ok 3')
    expect(running).toContain('I run the tests and mend what is broken.\n\n• first this\n• then that\n')
    expect(running).not.toContain('**')
    pty.type('x')

    const three = await pty.see(
      'edit src/add.ts',
      'read_file src/other.ts',
      'frobnicate {"level":3,"deep":{"yes":true}}',
    )
    expect(three).toContain(`${apart('✗ shell npm test', 'exit 1')}\n  not ok 3\n  expected 3, got 2\n`)
    expect(three.match(/not ok 3/g)).toHaveLength(1)
    pty.type('x')

    const { code, screen } = await left(pty)
    expect(code).toBe(0)
    expect(screen).toMatch(/^~ thought/)
    expect(screen.replace(/^~ thought.*\n\n/, '')).toBe(`The plan

I run the tests and mend what is broken.

• first this
• then that

${apart('✗ shell npm test', 'exit 1')}
  not ok 3
  expected 3, got 2
${apart('✓ edit src/add.ts', '+1 −1')}
  @@ -1,2 +1,2 @@
  -return a - b
  +return a + b
   kept
${apart('✓ read_file src/other.ts', '3 lines')}
${apart('⊘ frobnicate {"level":3,"deep":{"yes":true}}', 'not allowed')}
  You may not do that.

file        change
──────────────────
src/add.ts  mended

Done: see the docs (https://docs.test/a).

3 turns · 12,345 in · 678 out · $0.0123 · 4.2 s
session 1a2b3c4d…; continue with: libero --continue`)
    expect(pty.raw).toContain('\x1b[32m+return a + b')
    expect(pty.raw.lastIndexOf('\x1b[?25h')).toBeGreaterThan(pty.raw.lastIndexOf('\x1b[?25l'))
    expect(foreignIn(pty.raw)).toEqual([])
  })

  test('fits a screen of 24 columns', async () => {
    const pty = unwatched('typical', { columns: 24 })
    const { screen } = await left(pty)
    expect(screen).toContain('I run the tests and\nmend what is broken.\n')
    expect(screen).toContain('✓ edit src/add.…  +1 −1\n')
    expect(screen).toContain('✓ read_file src/other.…\n  3 lines\n')
    expect(screen).not.toMatch(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/)
    expect(foreignIn(pty.raw)).toEqual([])
  })

  test('fits a screen of 200 columns', async () => {
    const pty = unwatched('long', { columns: 200 })
    const { screen } = await left(pty)
    const lines = screen.split('\n')
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(120)
    expect(screen.match(/word149/g)).toHaveLength(1)
    expect(screen.match(/word0\b/g)).toHaveLength(1)
  })

  test('has no colours if they are turned off', async () => {
    const pty = unwatched('typical', { env: { NO_COLOR: '1' } })
    const { screen } = await left(pty)
    expect(screen).toContain('I run the tests and mend what is broken.')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what this is about
    expect(pty.raw).not.toMatch(/\x1b\[[\d;]*m/)
  })

  test('shows no live lines on a dumb terminal', async () => {
    const pty = unwatched('typical', { env: { TERM: 'dumb' } })
    const { screen } = await left(pty)
    expect(screen).toMatch(/✓ read_file src\/other\.ts +3 lines/)
    expect(pty.raw).not.toContain('\x1b')
  })
})

test('a retry removes unfinished text, with a notice', async () => {
  const pty = play('retry')
  await pty.see('First block.\n\nA tail that is')
  pty.type('x')
  const again = await pty.see('broke off (overloaded); ignore its text so far; trying again')
  expect(again).not.toContain('A tail')
  pty.type('x')
  const { screen } = await left(pty)
  expect(screen).toContain('trying again\n\nIt worked.\n')
})

test('output waits while a dialog is open, and is shown afterwards', async () => {
  const pty = play('paused')
  await pty.see('shell rm x  waits for approval')
  pty.type('x')
  await pty.until((screen) => screen === '')
  const before = pty.raw.length
  await new Promise((go) => setTimeout(go, 400))
  expect(pty.raw).toHaveLength(before)
  pty.type('x')
  await pty.see('Said meanwhile.', 'waits for approval', 'secretly on')
  pty.type('x')
  const { screen } = await left(pty)
  expect(screen).toMatch(/^Said meanwhile\.\n\n\? shell rm x {2}waits for approval\n/)
})

test('after a resize with live lines, the next frame redraws the screen correctly', async () => {
  const pty = play('long', { columns: 100, rows: 40 })
  await pty.see('word149')
  pty.resize(50, 40)
  pty.type('x')
  const narrow = await pty.see('word149 one')
  pty.resize(120, 30)
  pty.type('x')
  const wide = await pty.see('one two')
  for (const screen of [narrow, wide]) expect(screen.match(/word149/g)).toHaveLength(1)
  pty.type('x')
  const { screen } = await left(pty)
  expect(screen.match(/word149 one two end\./g)).toHaveLength(1)
  expect(screen).toMatch(/^word0 word1 word2/)
})

test('UI-01 UI-02 escape sequences from models, tools, files and errors are shown and have no effect', async () => {
  const pty = play('hostile', { columns: 120, rows: 60 })
  const { code, screen } = await left(pty)
  expect(code).toBe(0)
  expect(foreignIn(pty.raw)).toEqual([])
  expect(pty.titles).toEqual([])
  expect(pty.isAlternate).toBe(false)
  for (const word of ['model', 'code', 'reason', 'name', 'error', 'file', 'old', 'new', 'cell', 'quote', 'head'])
    expect(screen).toMatch(new RegExp(`\\b${word}\\s[^\\w]*␛\\[2J␛\\[1;1HApproved`))
  expect(screen).toContain('entity ␛[2J and \\x9b2J')
  expect(screen).toContain('Safe at the end.')
})
