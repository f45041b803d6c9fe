import { expect, test } from 'vitest'
import { visibleName, visibleText } from './visible.ts'

test('UI-01 escape sequences are shown and do nothing', () => {
  const attack = '\x1b[2J\x1b[1;1HApproved\x07\x9b31m\x00\x7f'
  expect(visibleText(attack)).toBe('␛[2J␛[1;1HApproved\\x07\\x9b31m\\x00\\x7f')
  expect(visibleName(attack)).toBe(visibleText(attack))
})

test('text keeps its lines and tabs, but no line may overwrite itself', () => {
  expect(visibleText('a\tb\nc\r\nd\re\r')).toBe('a\tb\nc\r\nd\\re\\r')
})

test('UI-01 a name stays on its line and reads in its own direction', () => {
  expect(visibleName('a\nb\tc\rd\u202egpj.exe\u2028')).toBe('a\\nb\\tc\\rd\\u202egpj.exe\\u2028')
  expect(visibleName('\ud800 alone')).toBe('\\ud800 alone')
})

test('other characters stay as they are', () => {
  const text = 'é 漢字 😀 \u200f\u00a0 \\x1b'
  expect([visibleText(text), visibleName(text)]).toEqual([text, text])
})
