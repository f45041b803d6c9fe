import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { visibleName, visibleText, withoutHidden } from './visible-text.ts'

const tags = (text: string): string =>
  [...text].map((one) => String.fromCodePoint(0xe0000 + one.charCodeAt(0))).join('')

describe('S13 writing is shown as it is', () => {
  const written = {
    'joined emoji': '👩\u200d🚀 👨\u200d👩\u200d👧\u200d👦 🧑🏽\u200d🤝\u200d🧑🏻 🏃🏿\u200d♀\ufe0f\u200d➡\ufe0f',
    'emoji with a selector': '❤\ufe0f ☎\ufe0e 🏳\ufe0f\u200d🌈 🏴\u200d☠\ufe0f 👁\ufe0f\u200d🗨\ufe0f ©\ufe0f',
    keycaps: '1\ufe0f\u20e3 #\ufe0f\u20e3',
    'flags of letters and of tags': `🇩🇪 🏴${tags('gbeng')}\u{e007f} 🏴${tags('gbwls')}\u{e007f}`,
    'Persian with non-joiners': 'می\u200cخواهم کتاب\u200cها را به خانه\u200cی شما بیاورم',
    'an Arabic abbreviation with a joiner': 'ه\u200d.ق',
    Hindi: 'क्\u200dष श्र\u200cी',
    Malayalam: 'അവന്\u200d പറഞ്ഞു',
    'Hebrew, Arabic and English in one line': 'שלום world, مرحبا بالعالم!',
    'a direction mark after punctuation': 'האם אתה מכיר C++?\u200f כן',
    'a direction mark before a right-to-left word': 'C++\u200e היא שפה',
    'Thai with word ends': 'ภาษา\u200bไทย',
    'Khmer with word ends': 'ភាសា\u200bខ្មែរ',
    'an ideograph in another form': '葛\u{e0100} 辻\ufe00',
    Mongolian: 'ᠮᠣᠩᠭᠣᠯ\u180eᠠ',
    'a soft hyphen': 'Donau\u00addampf\u00adschiff',
    'accents, blanks and signs': 'é e\u0301 漢字 10\u202fpm\u00a0 ∑\ufe00 ۝',
  }
  test.each(Object.entries(written))('%s', (_, text) => {
    expect(visibleText(text)).toBe(text)
    expect(withoutHidden(text)).toEqual({ text, hidden: 0 })
  })
})

describe('S13 what is hidden is made visible', () => {
  test.each([
    ['bidi overrides', 'if (x\u202e // admin\u202c)', 'if (x\\u202e // admin\\u202c)'],
    ['bidi isolates', 'a\u2066b\u2069c\u2067d\u2068', 'a\\u2066b\\u2069c\\u2067d\\u2068'],
    ['overrides beside right-to-left text', 'שלום\u202eabc', 'שלום\\u202eabc'],
    ['direction marks without such text', 'a\u200eb\u200fc\u061cd', 'a\\u200eb\\u200fc\\u061cd'],
    [
      'zero-width characters between letters',
      'a\u200bb\u200cc\u200dd\u2060e\ufeff',
      'a\\u200bb\\u200cc\\u200dd\\u2060e\\ufeff',
    ],
    ['a joiner after an emoji alone', '🚀\u200d and', '🚀\\u200d and'],
    ['joiners in a row', 'می\u200c\u200d\u200cخ', 'می\u200c\\u200d\\u200cخ'],
    ['selectors in a row, which spell a message', '😀\ufe0f\ufe01\ufe02\u{e0101}', '😀\ufe0f\\ufe01\\ufe02\\u{e0101}'],
    ['a selector after a letter', 'a\ufe0fb\u{e0100}', 'a\\ufe0fb\\u{e0100}'],
    ['tags', `x${tags('ls')}`, 'x\\u{e006c}\\u{e0073}'],
    ['tags after a flag that is none', `🏴${tags('run')}\u{e007f}`, '🏴\\u{e0072}\\u{e0075}\\u{e006e}\\u{e007f}'],
    ['line separators', 'a\u2028b\u2029', 'a\\u2028b\\u2029'],
    ['invisible letters', 'a\u3164b\uffa0c\u115f\u1160d\u17b4', 'a\\u3164b\\uffa0c\\u115f\\u1160d\\u17b4'],
    ['operators that are not drawn', 'a\u2061b\u2062c\u2064', 'a\\u2061b\\u2062c\\u2064'],
    ['annotations', 'a\ufff9b\ufffa', 'a\\ufff9b\\ufffa'],
    ['soft hyphens at the end and in a row', 'a\u00ad b\u00ad\u00adc', 'a\\xad b\\xad\\xadc'],
    ['a zero-width space among letters without Thai', 'go\u200bogle', 'go\\u200bogle'],
    [
      'invisible letters as bases',
      '\u061c\u200d \u17b4\u200b\u17b4 \u180e\u180b',
      '\\u061c\\u200d \\u17b4\\u200b\\u17b4 \\u180e\\u180b',
    ],
  ])('%s', (_, text, seen) => {
    expect(visibleText(text)).toBe(seen)
    expect(visibleName(text)).toBe(seen)
    expect(withoutHidden(text).text).toBe(seen.replaceAll(/\\(?:x..|u\{\w+\}|u....)/g, ''))
  })

  test('a name has no direction marks, not even beside right-to-left text', () => {
    expect(visibleName('שלום\u200f.txt')).toBe('שלום\\u200f.txt')
  })
})

test('S13 whatever the text, no bidi control is left but marks, and what is visible stays', () => {
  const pieces = [
    'a',
    ' ',
    'ש',
    'م',
    '😀',
    '🏴',
    '漢',
    'क',
    'ก',
    '1',
    '\u200c',
    '\u200d',
    '\u200b',
    '\u200f',
    '\ufe0f',
    '\ufe00',
  ]
  const more = [
    '\u{e0100}',
    '\u{e0067}',
    '\u{e007f}',
    '\u00ad',
    '\u202e',
    '\u2066',
    '\u061c',
    '\u180e',
    '\u17b4',
    '\u034f',
    '\u0301',
  ]
  const texts = fc.array(fc.constantFrom(...pieces, ...more), { maxLength: 30 }).map((list) => list.join(''))
  fc.assert(
    fc.property(texts, (text) => {
      const seen = visibleText(text)
      expect(seen).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/)
      expect(seen).not.toMatch(/\p{Default_Ignorable_Code_Point}{3}/u)
      expect(visibleText(seen)).toBe(seen)
      expect(visibleName(visibleName(text))).toBe(visibleName(text))
    }),
    { numRuns: 2000 },
  )
})
