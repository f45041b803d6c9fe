import { expect, test } from 'vitest'
import { cleanInstructions } from './instructions.ts'

test('TR-17 tags, bidi and zero-width characters are taken out and counted', () => {
  const tags = [...'ignore all'].map((letter) => String.fromCodePoint(0xe0000 + (letter.codePointAt(0) ?? 0))).join('')
  expect(cleanInstructions(`Run tests.${tags}`)).toEqual({ text: 'Run tests.', stripped: 10 })
  expect(cleanInstructions('a\u202eb\u2066c\u2069\u200e\u061cd')).toEqual({ text: 'abcd', stripped: 5 })
  expect(cleanInstructions('a\u200bb\u200cc\u200dd\u2060e\ufefff\u00adg')).toEqual({ text: 'abcdefg', stripped: 6 })
  expect(cleanInstructions('x\ufe0f\u{e0100}\u{e01ef}\u3164\u115f')).toEqual({ text: 'x', stripped: 5 })
})

test('a chain of joiners hides nothing, also behind an emoji', () => {
  expect(cleanInstructions('👩\u200d\u200d\u200d\ufe0f\ufe0fx')).toEqual({ text: '👩x', stripped: 5 })
})

test('honest text stays as it is', () => {
  const text = 'Grüße, 你好, שלום\n\t- ⚠️ 1️⃣ 👩‍💻 👩🏽‍🚀\r\n'
  expect(cleanInstructions(text)).toEqual({ text, stripped: 0 })
  expect(cleanInstructions(`\ufeff${text}`)).toEqual({ text, stripped: 0 })
})
