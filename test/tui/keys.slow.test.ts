import { chmodSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { keyGroups } from '../../src/tui/keys.ts'
import type { PseudoTerminal } from '../cli/pseudo-terminal.ts'
import { startTui } from './tui-kit.ts'

/** What each key of the table is seen to do, in this order, in one terminal. Others have tests of their own. */
const effects: Readonly<Record<string, ((terminal: PseudoTerminal) => Promise<unknown>) | 'elsewhere'>> = {
  enter: (terminal) => seen(terminal, 'tell me\r', /Line 3 of a long answer/),
  'alt+enter': (terminal) => seen(terminal, 'later\x1b\r', /1 queued/),
  'alt+up': (terminal) => seen(terminal, '\x1b[1;3A', /› later\n(?![\s\S]*1 queued)/),
  'ctrl+c': (terminal) => seen(terminal, '\x03', /cleared; up brings it back/),
  esc: (terminal) => seen(terminal, '\x1b', /· Stopped[\s\S]*enter sends/),
  'up down': (terminal) => seen(terminal, '\x1b[A', /› later\n/),
  'shift+enter ctrl+j \\+enter': (terminal) =>
    seen(terminal, '\x15a\x1b[13;2ub\nc\\\rd', / › a\n {3}b\n {3}c\n {3}d\n/),
  'ctrl+g': (terminal) => seen(terminal, '\x07', / › edited\n/),
  'ctrl+r': (terminal) => seen(terminal, '\x03\x12', /earlier messages:/),
  async tab(terminal) {
    await seen(terminal, '\x1b\x15/thinki', /▸ \/thinking/)
    await seen(terminal, '\t', / › \/thinking/)
  },
  'ctrl+v': (terminal) => seen(terminal, '\x15\x16', /clipboard/), // there is no image, and it says so
  '?': (terminal) => viewed(terminal, '\x15?', 'Input line'),
  'ctrl+o': (terminal) => viewed(terminal, '\x0f', 'Transcript'),
  'ctrl+t': (terminal) => viewed(terminal, '\x14', 'Transcript'),
  'ctrl+w': (terminal) => viewed(terminal, '\x17', 'Waiting'),
  'ctrl+p': (terminal) => seen(terminal, '\x10', / › \/\n[\s\S]*\/help/),
  'shift+tab': (terminal) => seen(terminal, '\x1b\x15\x1b[Z', /\n allowlist · /),
  async 'ctrl+l'(terminal) {
    const before = terminal.raw.length
    terminal.type('\x0c')
    await terminal.until(() => terminal.raw.slice(before).includes('allowlist'), 'the status line once more')
  },
  'esc esc': async (terminal) => {
    await seen(terminal, '\x1b', /esc again goes back/)
    await seen(terminal, '\x1b', /tell me +message 1/)
    await seen(terminal, '\x1b', /enter sends/)
  },
  'ctrl+z': 'elsewhere',
  'ctrl+d': async (terminal) => {
    terminal.type('\x04')
    expect(await terminal.ended).toBe(0)
  },
}

test('UI98 UI61 every key of the table for the input and for working does what the table says', async () => {
  const listed = keyGroups
    .filter(({ where }) => where === 'Input line' || where === 'Working')
    .flatMap(({ keys }) => keys.map((one) => one.keys))
  expect(Object.keys(effects)).toEqual(expect.arrayContaining(listed))
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), 'libero-keys-')))
  writeFileSync(join(cwd, 'editor'), '#!/bin/sh\nprintf edited > "$1"\n')
  chmodSync(join(cwd, 'editor'), 0o700)
  const terminal = startTui('slow', { cwd, env: { EDITOR: join(cwd, 'editor') } })
  await terminal.see('enter sends')
  for (const [name, effect] of Object.entries(effects)) {
    if (effect === 'elsewhere') continue
    await effect(terminal).catch((error: Error) => {
      throw new Error(`${name}: ${error.message}`)
    })
  }
})

function seen(terminal: PseudoTerminal, keys: string, wanted: RegExp): Promise<string> {
  terminal.type(keys)
  return terminal.until(wanted)
}

async function viewed(terminal: PseudoTerminal, keys: string, title: string): Promise<void> {
  terminal.type(keys)
  await terminal.until((text) => terminal.isAlternate && text.includes(title), title)
  terminal.type('q')
  await terminal.until(() => !terminal.isAlternate, 'the main screen')
}

test('UI109 UI110 keys and the status line are as the person chose them, and ? shows the keys', async () => {
  const options = {
    keys: { 'alt+w': '/cost', 'ctrl+x': 'transcript', 'ctrl+t': 'none' },
    statusLine: ['model', 'mode'],
  }
  const terminal = startTui('hello', { env: { TUI_OPTIONS: JSON.stringify(options) } })
  await terminal.until(/\n script-1 · ask$/)
  terminal.type('\x14') // taken away: no viewer
  await seen(terminal, '\x1bw', /0 tokens|no model call|Tokens|tokens/i)
  await viewed(terminal, '\x18', 'Transcript')
  await viewed(terminal, '?', 'ctrl+x')
})
