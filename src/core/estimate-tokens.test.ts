import { expect, test } from 'vitest'
import { estimateTokens } from './estimate-tokens.ts'

test.each([
  ['', 0],
  ['a', 1],
  ['abcd', 1],
  ['abcde', 2],
  ['hello world', 3],
  ['你', 1],
  ['你好世界', 4],
  ['ひらがな', 4],
  ['カタカナ', 4],
  ['한국어', 3],
  ['你好ab', 3],
  ['你好abcd', 3],
  ['你好abcde', 4],
  ['Hello 世界, こんにちは!', 10],
  ['。、！？', 1],
  ['éèüß', 1],
  ['Привет!!', 2],
  ['😀😀', 1],
])('D025 Latin counts a quarter, CJK one: %j is %i', (text, tokens) => {
  expect(estimateTokens(text)).toBe(tokens)
})

test.each([
  ['Hiragana', 0x3040, 0x309f],
  ['Katakana', 0x30a0, 0x30ff],
  ['unified ideographs', 0x4e00, 0x9fff],
  ['their extension A', 0x3400, 0x4dbf],
  ['their extensions in plane 2', 0x20000, 0x2fa1f],
  ['Hangul syllables', 0xac00, 0xd7a3],
])('D025 %s count one from the first to the last', (_, first, last) => {
  const middle = Math.floor((first + last) / 2)
  for (const code of [first, middle, last]) expect(estimateTokens(String.fromCodePoint(code).repeat(8))).toBe(8)
})

test.each([0x303f, 0x3100, 0x33ff, 0x4dc0, 0x4dff, 0xa000, 0xabff, 0xd7a4, 0xff21, 0xfffd])(
  'D025 what lies beside these ranges counts a quarter: %i',
  (code) => {
    expect(estimateTokens(String.fromCharCode(code).repeat(8))).toBe(2)
  },
)

test('D025 half a character at the end counts as one of the others', () => {
  expect(estimateTokens('\ud840')).toBe(1)
  expect(estimateTokens('\ud840abc')).toBe(1)
  expect(estimateTokens('\udc00\udc00\udc00\udc00')).toBe(1)
})

test('D025 a text of millions is read to its end', () => {
  expect(estimateTokens(`${'x'.repeat(4_000_000)}你`)).toBe(1_000_001)
})
