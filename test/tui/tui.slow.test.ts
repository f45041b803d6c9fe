import { globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { modesAfter, startTui } from './tui-kit.ts'

test('T01 what is typed while the agent works reaches it: Enter steers, Alt+Enter queues, and the queue can be taken back', async () => {
  const terminal = startTui('slow')
  await terminal.see('enter sends')
  terminal.type('tell me\r')
  await terminal.see('Line 3 of a long answer')
  terminal.type('later\x1b\r')
  await terminal.see('1 queued')
  terminal.type('\x1b[1;3A') // Alt+Up
  await terminal.until((text) => text.includes('› later') && !text.includes('1 queued'))
  terminal.type('\x15now\r')
  await terminal.see('› now', 'Second.')
  expect(terminal.text().indexOf('› now')).toBeLessThan(terminal.text().indexOf('Second.'))
})

test('T02 Esc stops the run, says so, and keeps what was typed; Ctrl+J begins a new line', async () => {
  const terminal = startTui('slow')
  await terminal.see('enter sends')
  terminal.type('tell me\r')
  await terminal.see('Line 3 of a long answer')
  terminal.type('a draft\nof two lines\x1b')
  await terminal.see('· Stopped', '› a draft', 'of two lines')
  terminal.type('\r')
  await terminal.see('Second.')
  expect(terminal.text()).toMatch(/› a draft\n {2}of two lines/)
})

test('UI104 a call is asked about with its diff, y allows it once, and its result is shown', async () => {
  const terminal = startTui('write')
  await terminal.see('enter sends')
  terminal.type('go\r')
  await terminal.see('Allow write_file?', '+two', '▸ n  no')
  await new Promise((resolve) => setTimeout(resolve, 400)) // keys count only after a pause
  terminal.type('y')
  await terminal.see('Allow edit?')
  await new Promise((resolve) => setTimeout(resolve, 400))
  terminal.type('y')
  await terminal.see('Written.')
  expect(readFileSync(join(terminal.cwd, 'a.txt'), 'utf8')).toBe('one\nthree\n')
})

test('UI77 the terminal is as it was before after Ctrl+C twice, after SIGTERM, SIGHUP and a crash', async () => {
  const left = startTui('hello')
  await left.see('enter sends')
  expect(modesAfter(left.raw)).toEqual(expect.arrayContaining(['?2004', '?1004', 'kitty', 'modifyOtherKeys']))
  left.type('\x03\x03')
  expect(await left.ended).toBe(0)
  expect(modesAfter(left.raw)).toEqual([])
  for (const [script, words, code] of [
    ['term', '', 143],
    ['hup', '', 129],
    ['crash', 'it is broken', 1],
  ] as const) {
    const terminal = startTui(script)
    await terminal.see('enter sends')
    terminal.type('x\r')
    expect(await terminal.ended).toBe(code)
    expect(terminal.text()).toContain(words)
    expect(modesAfter(terminal.raw)).toEqual([])
  }
})

test('UI100 nothing clears the screen, uses the alternate one, or moves above the live lines', async () => {
  const terminal = startTui('shell', { rows: 12 })
  await terminal.see('enter sends')
  terminal.type('go\r')
  await terminal.see('Allow shell?', 'w  why')
  await new Promise((resolve) => setTimeout(resolve, 400))
  terminal.type('y')
  await terminal.see('Done.')
  for (const sequence of ['\x1b[2J', '\x1b[3J', '\x1b[?1049h', '\x1b[H']) expect(terminal.raw).not.toContain(sequence)
  const frames = terminal.raw.split('\x1b[?2026h').slice(1)
  expect(frames.length).toBeGreaterThan(3)
  for (const frame of frames) expect(frame.split('\x1b[?2026l')).toHaveLength(2)
})

test('T02 UI14 UI15 what was typed and not sent is there again after kill -9, and what was sent can be recalled', async () => {
  const first = startTui('hello')
  const env = { TUI_FOLDER: join(first.cwd, 'kept') }
  const second = startTui('hello', { cwd: first.cwd, env })
  await second.see('enter sends')
  second.type('sent before\r')
  await second.see('How can I help?')
  second.type('not sent yet')
  await second.see('› not sent yet')
  await pause(800) // a draft is stored within half a second
  const unsent = (): string[] => globSync(join(first.cwd, 'kept/unsent/*.json'))
  expect(unsent().map((path) => statSync(path).mode & 0o777)).toEqual([0o600])
  second.kill('SIGKILL')
  await second.ended
  const third = startTui('hello', { cwd: first.cwd, env })
  await third.see('› not sent yet')
  third.type('\x03')
  await third.until((text) => text.includes('cleared; up brings it back'))
  third.type('\x1b[A')
  await third.see('› not sent yet')
  third.type('\x1b[A')
  await third.see('› sent before')
  third.type('\r')
  await third.see('How can I help?')
  await third.until(() => unsent().length === 0, 'no unsent text, once it is sent')
})

test('UI79 in plain mode a conversation and an approval are lines that are written once', async () => {
  const terminal = startTui('write', { env: { TUI_PLAIN: '1' } })
  await terminal.see('libero waits for you')
  terminal.type('go\r')
  await terminal.see('Allow write_file?', 'y  yes, once')
  await pause(400)
  terminal.type('c\r') // UI108: the rule for always, as a whole line
  await terminal.see('a line and Enter; Enter alone: write_file:*')
  terminal.type('write_file:*.txt\r')
  await terminal.see('p  yes, always: write_file of `*.txt` in this project')
  terminal.type('p\r')
  await terminal.see('✓ allowed always: write_file of `*.txt`', 'Allow edit?')
  await pause(400)
  terminal.type('n\r')
  await terminal.see('Written.')
  expect(terminal.raw.split('\x1b').filter((part, i) => i > 0 && !/^\[[\d;]*m/.test(part))).toEqual([])
})
