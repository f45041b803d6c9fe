import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import type { Desk } from './cli-kit.ts'
import type { PseudoTerminal } from './pseudo-terminal.ts'
import { afterFile, atTerminal, inputOf } from './sitting.ts'

// One `libero` in a pseudo-terminal for all tests of this file: each goes on where the one before ended.
const here = atTerminal()
const onEnd = afterFile()
let desk: Desk
let terminal: PseudoTerminal

beforeAll(async () => {
  desk = here.openDesk(onEnd)
  desk.write('../home/history.jsonl', history.map((entry) => `${JSON.stringify(entry(desk.cwd))}\n`).join(''))
  desk.write('my shot.png', '')
  writeFileSync(join(desk.cwd, 'my shot.png'), png)
  program(desk.cwd, 'editor', `stat -c %a "$1" > modes; echo "$1" > path; printf 'more' >> "$1"`)
  program(desk.home, 'xclip', `exec cat '${join(desk.cwd, 'my shot.png')}'`)
  const env = {
    EDITOR: join(desk.cwd, 'editor'),
    PATH: `${desk.home}:${desk.env.PATH}`, // not of the project, where nothing is found by its name
    WAYLAND_DISPLAY: '',
    TERM_PROGRAM: 'vscode',
  }
  terminal = await here.sit(desk, { columns: 80, rows: 24, env, hasGraphemes: true, onEnd })
})

const history = [
  (folder: string) => ({ text: 'write the release notes', folder, at: 1 }),
  () => ({ text: 'of another folder', folder: '/elsewhere', at: 2 }),
  (folder: string) => ({ text: 'the last one here', folder, at: 3 }),
]
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

function program(folder: string, name: string, line: string): void {
  writeFileSync(join(folder, name), `#!/bin/sh\n${line}\n`)
  chmodSync(join(folder, name), 0o700)
}

/** Types, and waits until the input has this text. */
async function becomes(keys: string, wanted: string): Promise<void> {
  terminal.type(keys)
  await terminal.until((text) => inputOf(text) === wanted, `${JSON.stringify(keys)}, then ${JSON.stringify(wanted)}`)
}

/** Types, and waits until the cursor is in this column. */
async function at(keys: string, column: number): Promise<void> {
  terminal.type(keys)
  await terminal.until(() => terminal.cursor.column === column, `${JSON.stringify(keys)}, then the cursor at ${column}`)
}

/** What the model gets by these keys. */
async function sent(keys: string): Promise<unknown> {
  terminal.type(keys)
  const before = here.service.requests.length
  await terminal.until(() => here.service.requests.length > before, `a message by ${JSON.stringify(keys)}`)
  await terminal.until((text) => text.includes('enter sends') && inputOf(text) === '')
  return here.service.requests.at(-1).messages.at(-1).content
}

test('UI12 UI13 earlier messages are recalled, those of this folder first, and searched', async () => {
  await becomes('cleared here', 'cleared here')
  await becomes('\x03', '')
  for (const text of ['cleared here', 'the last one here', 'write the release notes', 'of another folder'])
    await becomes('\x1b[A', text)
  await becomes('\x15', '')
  for (const query of ['release', 'wrnts']) {
    terminal.type(`\x12${query}`) // what contains it, then what has its letters
    await terminal.until(new RegExp(`earlier messages: ${query}[\\s\\S]*write the release notes[\\s\\S]*enter takes`))
    await becomes('\r', 'write the release notes')
    await becomes('\x15', '')
  }
})

test('UI01 text is typed over several lines, with Shift+Enter, Ctrl+J and a backslash before Enter', async () => {
  await becomes('a\x1b[13;2ub\nc\\\rd', 'a\nb\nc\nd')
  expect(await sent('\r')).toBe('a\nb\nc\nd')
})

test('UI02 words are passed and cut by the keys of shells', async () => {
  await becomes('one two.three four', 'one two.three four')
  await at('\x1bb', 3 + 14) // Alt+B
  await becomes('\x1b\x7f', 'one two.four') // Alt+Backspace
  await becomes('\x17', 'one four') // Ctrl+W, back to a blank
  await becomes('\x1bd', 'one') // Alt+D
})

test('UI03 what was cut is inserted again, also after the message was sent; Alt+Y inserts earlier cuts', async () => {
  await becomes('\x19', 'one two.three four') // Ctrl+Y: cuts in a row are one text
  expect(await sent('\r')).toBe('one two.three four')
  await becomes('\x19', 'two.three four')
  await becomes('\x15', '')
  await becomes('other\x15', '')
  await becomes('\x19', 'other')
  await becomes('\x1by', 'two.three four')
  await becomes('\x15', '')
})

test('UI04 changes are undone and redone', async () => {
  await becomes('first second', 'first second')
  await becomes('\x17', 'first')
  await becomes('\x1f', 'first second') // Ctrl+_
  await becomes('\x1bz', 'first') // Alt+Z
  await becomes('\x15', '')
})

test('UI05 the input is wrapped by display width: CJK, emoji, accents', async () => {
  const family = '👩‍👩‍👧e\u0301'
  const text = `${'漢字'.repeat(9)}${family.repeat(5)}`
  terminal.resize(24, 24)
  await becomes(text, ['漢字漢字漢字漢字漢', '字漢字漢字漢字漢字', family.repeat(5)].join('\n'))
  expect(terminal.text()).toContain('› one two.three four') // the keys came before the news of the resize
  terminal.resize(80, 24)
  await becomes('\x15', '')
})

test('UI81 after each key the cursor is at the caret, and arrows pass whole characters: joined emoji, flags, CJK, accents', async () => {
  const widths = {
    a: 1,
    漢: 2,
    'e\u0301': 1,
    '👩‍👩‍👧': 2,
    '🇩🇪': 2,
    '·': 1,
    '👍🏽': 2,
    あ: 2,
    '\u1112\u1161\u11ab': 2,
    x: 1,
  }
  let column = 3
  for (const [text, width] of Object.entries(widths)) await at(text, (column += width))
  for (const width of Object.values(widths).toReversed()) await at('\x1b[D', (column -= width))
  await becomes('\x0b', '')
})

test('UI06 a long paste is one unit with its size, is shown in place by Alt+P, and sent in full', async () => {
  const pasted = Array.from({ length: 12 }, (_, i) => `line ${i}`).join('\n')
  await becomes(`see \x1b[200~${pasted}\x1b[201~`, 'see [paste 1: 12 lines, 85 bytes]')
  await at('\x1b[D', 3 + 4) // one character back is before it
  await at('\x05', 3 + 4 + '[paste 1: 12 lines, 85 bytes]'.length)
  expect(await sent('\r')).toBe(`see ${pasted}`)
  await becomes(`\x1b[200~${pasted}\x1b[201~`, '[paste 1: 12 lines, 85 bytes]')
  terminal.type('\x1bp')
  await terminal.until((text) => inputOf(text).endsWith('line 10\nline 11'), 'the pasted text')
  await becomes('\x03', '')
})

test('UI07 whatever keys are pressed, what is typed next appears before the cursor, and the rows fit the screen', async () => {
  const keys = fc.constantFrom(
    ...[
      'a',
      ' ',
      '漢',
      'é',
      '👍🏽',
      'word ',
      '\n',
      '\x1b[A',
      '\x1b[B',
      '\x1b[C',
      '\x1b[D',
      '\x1b[H',
      '\x1b[F',
      '\x7f',
      '\x1b[3~',
    ],
    ...[
      '\x01',
      '\x05',
      '\x0b',
      '\x15',
      '\x17',
      '\x19',
      '\x1f',
      '\x1bb',
      '\x1bf',
      '\x1bd',
      '\x1by',
      '\x1bz',
      '\x1b\x7f',
    ],
  )
  const sequences = fc.sample(fc.array(keys, { minLength: 5, maxLength: 40 }), { numRuns: 20, seed: 7 })
  for (const [i, sequence] of sequences.entries()) {
    terminal.resize(12 + ((i * 17) % 60), 6 + (i % 18))
    const mark = String.fromCodePoint(0x391 + i) // a Greek letter
    terminal.type(`x${sequence.join('')}${mark}`)
    await terminal.until(() => terminal.beforeCursor === mark, `${JSON.stringify(sequence)}, then ${mark}`)
    terminal.type('\x7f')
    await terminal.until(() => terminal.beforeCursor !== mark)
  }
  terminal.resize(80, 24)
  await becomes('\x03', '')
})

test('UI08 Enter and its modifiers, as each kind of terminal sends them', async () => {
  await becomes('a\x1b[13;2ub\x1b[27;2;13~c', 'a\nb\nc')
  expect(await sent('\x1b[13;3u')).toBe('a\nb\nc') // Alt+Enter of kitty, with no run to wait for
  await becomes('d', 'd')
  expect(await sent('\x1b[27;3;13~')).toBe('d') // of modifyOtherKeys
})

test('UI09 Alt and Ctrl, as xterm, kitty and modifyOtherKeys send them', async () => {
  await becomes('one two', 'one two')
  for (const [start, end, word] of [
    ['\x01', '\x05', '\x1bb'],
    ['\x1b[97;5u', '\x1b[101;5u', '\x1b[98;3u'],
    ['\x1b[27;5;97~', '\x1b[27;5;101~', '\x1b[27;3;98~'],
  ] as const) {
    await at(start, 3)
    await at(end, 10)
    await at(word, 7)
    await at(end, 10)
  }
  await becomes('\x15', '')
})

test('UI10 a paste that the terminal does not mark sends nothing, and is one text', async () => {
  const lines = ['the first line of a paste', 'the second one', 'the third']
  await becomes(lines.join('\r'), lines.join('\n'))
  await pause(150) // the next Enter is no part of it
  expect(await sent('\r')).toBe(lines.join('\n'))
})

test('UI11 a paste arrives as it was, wherever its bytes and its marks are cut', async () => {
  const text = 'é漢 \x1b[201 ~ and [200~ inside'
  const marked = `\x1b[200~${text}\x1b[201~`
  for (const cuts of [
    [1, 3],
    [5, 9],
    [8, marked.length - 1],
    [12, marked.length - 3],
  ]) {
    for (const [i, to] of [...cuts, marked.length].entries()) {
      terminal.type(marked.slice(i === 0 ? 0 : cuts[i - 1], to))
      await pause(10)
    }
    await becomes('', text.replace('\x1b', ''))
    await becomes('\x15', '')
  }
})

test('UI16 Ctrl+G opens the text in the editor of the person, in a file that others cannot read', async () => {
  await becomes('once ', 'once')
  await becomes('\x07', 'once more')
  expect(readFileSync(join(desk.cwd, 'modes'), 'utf8')).toBe('600\n')
  expect(existsSync(readFileSync(join(desk.cwd, 'path'), 'utf8').trim())).toBe(false)
  await becomes('\x15', '')
})

test('UI17 UI18 an image is attached by its path, as terminals paste it, and from the clipboard', async () => {
  await becomes(`see \x1b[200~'${join(desk.cwd, 'my shot.png')}'\x1b[201~`, 'see [image 1: my shot.png, 70 bytes]')
  await becomes('\x16', 'see [image 1: my shot.png, 70 bytes][image 2: clipboard, 70 bytes]')
  const url = `data:image/png;base64,${png.toString('base64')}`
  expect(JSON.stringify(await sent('\r')).split(url)).toHaveLength(3)
})

test('UI19 the cursor is at the caret of a question too', async () => {
  terminal.type('/label\r')
  await terminal.see('Enter: done')
  terminal.type('a label漢')
  await terminal.until(() => terminal.beforeCursor === '漢')
  terminal.type('\x1b[D\x1b[D')
  await terminal.until(() => terminal.beforeCursor === 'e')
  await becomes('\x1b', '')
})
