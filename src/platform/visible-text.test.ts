import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fullyVisible, visibleName, visibleText, withoutHidden } from './visible-text.ts'

/** Of any code points, halves of pairs included. */
const anyCode = fc.oneof(fc.nat(0xff), fc.integer({ min: 0x2000, max: 0x20ff }), fc.nat(0x10ffff))
const anyText = fc.array(anyCode, { maxLength: 12 }).map((codes) => String.fromCodePoint(...codes))

const all = (text: string): string[] => [visibleText(text), visibleName(text), fullyVisible(text)]
const sequences = {
  'UI-01 a cleared screen': '\x1b[2J\x1b[1;1HApproved',
  'UI-01 hidden text': '\x1b[8mhidden\x1b[0m',
  'UI-02 the clipboard': '\x1b]52;c;cm0gLXJm\x07',
  'UI-02 a link that lies': '\x1b]8;;https://evil.test\x1b\\good.test\x1b]8;;\x1b\\',
  'UI-02 the title': '\x1b]0;title\x07\x1b]2;title\x1b\\',
  'UI-02 DCS and APC': '\x1bPq#0\x1b\\\x1b_apc\x1b\\',
  'UI-02 8-bit controls': '\x9b2J\x9d52;c;QQ==\x9c\x90q\x9c',
}

describe('control characters', () => {
  test('UI-01 escape sequences are shown and do nothing', () => {
    const attack = '\x1b[2J\x1b[1;1HApproved\x07\x9b31m\x00\x7f'
    for (const text of all(attack)) expect(text).toBe('␛[2J␛[1;1HApproved\\x07\\x9b31m\\x00\\x7f')
  })

  test.each(Object.entries(sequences))('%s does nothing, also in two pieces', (_, sequence) => {
    for (let at = 0; at <= sequence.length; at++)
      for (const show of [visibleText, visibleName, fullyVisible]) {
        const text = show(sequence.slice(0, at)) + show(sequence.slice(at))
        expect(text).toBe(show(sequence))
        // biome-ignore lint/suspicious/noControlCharactersInRegex: none may be left
        expect(text).not.toMatch(/[\x00-\x1f\x7f-\x9f]/)
      }
  })

  test('text keeps its lines and tabs, but no line may overwrite itself', () => {
    expect(visibleText('a\tb\nc\r\nd\re\r')).toBe('a\tb\nc\r\nd\\re\\r')
    expect(fullyVisible('a\tb\nc\r\nd\re\r', { lines: 'kept' })).toBe('a\tb\nc\\r\nd\\re\\r')
    expect(fullyVisible('a\tb\nc')).toBe('a\\tb\\nc')
  })
})

describe('invisible characters', () => {
  test('UI-01 a name stays on its line and reads in its own direction', () => {
    expect(visibleName('a\nb\tc\rd\u202egpj.exe\u2028')).toBe('a\\nb\\tc\\rd\\u202egpj.exe\\u2028')
    expect(visibleName('\ud800 alone\u200b\u{e0041}')).toBe('\\ud800 alone\\u200b\\u{e0041}')
  })

  test('people who name files with joiners and odd blanks may', () => {
    const names = 'é 漢字 😀 👩\u200d🚀 ❤\ufe0f می\u200cخواهم 10\u202fpm\u00a0 \\x1b'
    expect([visibleText(names), visibleName(names)]).toEqual([names, names])
  })

  test('SH-54 a person who is asked to approve sees every one of them', () => {
    expect(fullyVisible('ls\rtouch x')).toBe('ls\\rtouch x')
    expect(fullyVisible('ls\u00a0-l\u2028a\u202eb\u{e0041}c\u3000d\u200de\ufe0ff\u00adg\u3164h\u2800i\ud800')).toBe(
      'ls\\xa0-l\\u2028a\\u202eb\\u{e0041}c\\u3000d\\u200de\\ufe0ff\\xadg\\u3164h\\u2800i\\ud800',
    )
  })

  test('PI-16 they can be taken out and counted', () => {
    expect(withoutHidden('a\u{e0020}\u{e007f}b\u202ec\u2066d\n\t\r\n')).toEqual({ text: 'abcd\n\t\r\n', hidden: 4 })
    expect(withoutHidden('plain')).toEqual({ text: 'plain', hidden: 0 })
  })
})

describe('whatever the text', () => {
  const odd = fc.constantFrom(
    '\x1b[',
    '\r\n',
    '\u202e',
    '\u{e0041}',
    '\u200b',
    '\u2028',
    '\ud800',
    '\udc00',
    '\x9b',
    '\n\t',
  )
  const texts = fc.array(fc.oneof(odd, anyText), { maxLength: 10 }).map((list) => list.join(''))
  const hidden = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u

  test('what is to be approved has none of them left', () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(fullyVisible(text)).not.toMatch(hidden)
        expect(fullyVisible(text, { lines: 'kept' }).replaceAll(/[\n\t]/g, '')).not.toMatch(hidden)
        expect(visibleName(text)).not.toMatch(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\u{e0000}-\u{e007f}]/u)
        expect(visibleText(text).replaceAll(/\r\n|[\n\t]/g, '')).not.toMatch(/\p{Cc}/u)
      }),
    )
  })

  test('what is visible stays as it is', () => {
    fc.assert(
      fc.property(texts, (text) => {
        for (const shown of all(text)) expect(fullyVisible(fullyVisible(shown))).toBe(fullyVisible(shown))
        expect([visibleText(visibleText(text)), visibleName(visibleName(text))]).toEqual([
          visibleText(text),
          visibleName(text),
        ])
      }),
    )
    fc.assert(
      fc.property(fc.string(), (text) => void expect(all(text)).toEqual([text, text, text])), // printable ASCII
    )
  })

  test('a long one made of nothing else is shown whole', () => {
    const long = '\x1b'.repeat(300_000)
    expect(fullyVisible(long)).toBe('␛'.repeat(300_000))
    expect(fullyVisible('\r'.repeat(300_000))).toHaveLength(600_000)
  })
})
