import xterm from '@xterm/headless'
import { expect, test } from 'vitest'
import { UnicodeGraphemesAddon } from '../../../test/unicode-graphemes.ts'
import { cutToWidth, textWidth } from './text-width.ts'

test.each([
  ['plain', 5],
  ['', 0],
  ['\x1b[31mred\x1b[39m', 3],
  ['\x1b]133;A\x1b\\› a\x1b]133;C\x1b\\', 3],
  ['日本', 4],
  ['e\u0301', 1],
  ['👩‍👩‍👧', 2],
  ['🇩🇪', 2],
  ['❤️', 2],
  ['é', 1],
  ['한국어', 6],
  ['a\u200bb', 2],
])('%j takes %i columns', (text, width) => {
  expect(textWidth(text)).toBe(width)
})

test.each([
  ['short', 10, 'short'],
  ['exactly10!', 10, 'exactly10!'],
  ['something long', 10, 'something…'],
  ['日本語日本語', 6, '日本…'],
  ['日本語', 6, '日本語'],
  ['\x1b[31mred text\x1b[39m', 4, '\x1b[31mred\x1b[39m\x1b[0m…'],
  ['x', 0, ''],
])('%j in %i columns is %j', (text, columns, cut) => {
  expect(cutToWidth(text, columns)).toBe(cut)
  expect(textWidth(cutToWidth(text, columns))).toBeLessThanOrEqual(Math.max(columns, 0))
})

test('a line of a million characters is cut without measuring all of it', () => {
  const line = '日'.repeat(1_000_000)
  expect(cutToWidth(line, 9)).toBe('日日日日…')
})

test('UI05 the width of a character is that of a terminal which knows grapheme clusters: joined emoji, flags, CJK, accents, ambiguous ones', async () => {
  const screen = new xterm.Terminal({ cols: 80, rows: 2, allowProposedApi: true })
  screen.loadAddon(new UnicodeGraphemesAddon())
  const texts = [
    'a',
    '漢',
    'あ',
    'ｱ',
    'Ａ',
    'é',
    'e\u0301',
    'ก็',
    'नि',
    '한',
    '\u1112\u1161\u11ab',
    '👩‍👩‍👧',
    '🏳️‍🌈',
    '🇩🇪',
    '👍🏽',
    '❤️',
    '1️⃣',
    '☑',
  ]
  for (const text of [...texts, ...'·…›✓✗⊘▸⠋│┆─“”①±§']) {
    await new Promise<void>((resolve) => screen.write(`\r\x1b[K${text}`, resolve))
    expect([text, textWidth(text)]).toEqual([text, screen.buffer.active.cursorX])
  }
  screen.dispose()
})
