/**
 * Makes hidden characters visible and harmless: ESC becomes `␛`, others `\x..` or `\u....`. Hidden are control and bidi
 * characters, tags, and zero-width characters and variation selectors where writing does not need them: the joiners of
 * emoji and of Persian stay. Tabs, newlines and the CR of a CRLF stay; a lone CR, with which a line overwrites itself,
 * does not.
 */
export function visibleText(text: string): string {
  return isPlain(text) || !mayBeHidden().test(text) ? text : text.replace(hiddenInText(), shownUnlessAtHome)
}

/** The same for a name, which is shown on one line: newlines, tabs and direction marks are escaped too. */
export function visibleName(name: string): string {
  return isPlainLine(name) ? name : name.replace(hiddenInNames(), shownUnlessAtHome)
}

const shownUnlessAtHome = (found: string, atHome: string | undefined): string => atHome ?? shown(found)

/**
 * For what a person is asked to approve: every invisible character, bidi control, cursor movement and blank other than a
 * space is escaped. With `lines: 'kept'` newlines and tabs stay, nothing else.
 */
export function fullyVisible(text: string, { lines = 'shown' }: { readonly lines?: 'kept' | 'shown' } = {}): string {
  if (lines === 'shown') return isPlainLine(text) ? text : text.replace(everyHidden(), shown)
  return isPlain(text) ? text : text.replace(everyHiddenInLines(), shown)
}

/** The text without hidden characters, which only machines read, and how many there were. */
export function withoutHidden(text: string): { readonly text: string; readonly hidden: number } {
  if (isPlain(text)) return { text, hidden: 0 }
  let hidden = 0
  const rest = text.replace(hiddenOrBroken(), (_, atHome: string | undefined) => {
    if (atHome === undefined) hidden++
    return atHome ?? ''
  })
  return { text: rest, hidden }
}

/** Most texts are ASCII, for which this check is enough. */
const isPlain = (text: string): boolean => !/[^\t\n\x20-\x7e]/.test(text)
const isPlainLine = (text: string): boolean => !/[^\x20-\x7e]/.test(text)

const invisible = '[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}]|(?! )\\p{Zs}|\\u2800'
const everyHidden = pattern(() => new RegExp(invisible, 'gu'))
const everyHiddenInLines = pattern(() => new RegExp(`(?![\\n\\t])(?:${invisible})`, 'gu'))

const named: Readonly<Record<string, string>> = { '\x1b': '␛', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

/** A cache, because long texts repeat few characters. */
const cache = new Map<string, string>()

function shown(character: string): string {
  const before = cache.get(character)
  if (before !== undefined) return before
  const escaped = spelled(character)
  if (cache.size < 1000) cache.set(character, escaped)
  return escaped
}

function spelled(character: string): string {
  const code = character.codePointAt(0) ?? 0
  if (code > 0xffff) return `\\u{${code.toString(16)}}`
  return named[character] ?? (code < 256 ? `\\x${hex(code, 2)}` : `\\u${hex(code, 4)}`)
}

const hex = (code: number, length: number): string => code.toString(16).padStart(length, '0')

/*
 * Characters that are not seen, or that change what is seen. Writing needs some of them: a joiner in an emoji or between
 * Persian letters, one variation selector after its base, a direction mark beside right-to-left text. There they are at
 * home. Anywhere else, and each further one in a row, they are hidden.
 *
 * A pattern is built when it is needed, and from a text, because a literal is parsed with its file: all of them take five
 * milliseconds, which each import of the package would wait for.
 */

const script = (...names: readonly string[]): string => base(names.map((name) => `\\p{Script=${name}}`).join(''))

/** One of these characters, if it can be seen: some scripts have invisible letters. */
const base = (characters: string): string => `(?!\\p{Default_Ignorable_Code_Point})[${characters}]`

/** Scripts whose letters change their form beside a joiner. */
const joining = script(
  ...['Arab', 'Syrc', 'Nkoo', 'Mong', 'Deva', 'Beng', 'Guru', 'Gujr', 'Orya', 'Taml', 'Telu', 'Knda', 'Mlym'],
  ...['Sinh', 'Mymr', 'Khmr', 'Tibt', 'Java', 'Bali', 'Mtei'],
)
/** Scripts without blanks between words, where a zero-width space ends a word. */
const unspaced = script('Thai', 'Laoo', 'Khmr', 'Mymr')
const rightToLeft = script('Hebr', 'Arab', 'Syrc', 'Thaa', 'Nkoo')
/** What may stand between a direction mark and the letter that it is about. */
const neutral = '[\\p{P}\\p{S}\\p{N}\\p{Zs}]{0,20}'
const directionMark = '[\\u200e\\u200f\\u061c]'

const picture = '\\p{Extended_Pictographic}[\\ufe0e\\ufe0f]?\\p{Emoji_Modifier}?'
/** Of flags that are spelled in tags there are three: England, Scotland and Wales. */
const flags = ['gbeng', 'gbsct', 'gbwls'].map((region) => `\\u{1f3f4}${[...region].map(tag).join('')}\\u{e007f}`)

const inWriting = [
  ...flags,
  `${picture}(?:\\u200d${picture})*`,
  '[0-9#*]\\ufe0f\\u20e3?', // keycaps
  `${joining}[\\u200c\\u200d]`,
  `${unspaced}\\u200b(?=${unspaced})`,
  `${script('Hani')}[\\ufe00-\\ufe02\\u{e0100}-\\u{e01ef}]`, // forms of one ideograph
  `${base('\\p{Sm}\\p{Script=Mymr}\\p{Script=Phag}')}\\ufe00`,
  `${script('Mong')}[\\u180b-\\u180f]`,
  `(?<=${base('\\p{L}')})\\u00ad(?=${base('\\p{L}')})`, // where a long word may be divided
  `(?<=${base('\\p{L}\\p{M}')})\\u034f(?=${base('\\p{M}')})`,
  '\\u115f(?=[\\u1161-\\u11a7])|(?<=[\\u1100-\\u115e])\\u1160', // old Korean syllables
]
const besideRightToLeft = [
  `(?<=${rightToLeft}${neutral})${directionMark}`,
  `${directionMark}(?=${neutral}${rightToLeft})`,
]

/** Control characters except newlines and tabs, and the CR that ends a line. */
const controls = '[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f]|\\r(?!\\n)'
const unseen = '[\\p{Default_Ignorable_Code_Point}\\p{Bidi_Control}\\p{Zl}\\p{Zp}\\ufff9-\\ufffb]'

/** A text that does not match it has no hidden character. */
const mayBeHidden = pattern(() => new RegExp(`${controls}|${unseen}`, 'u'))

/** Matches a sequence in which every character is at home, which is the group, or one hidden character. */
const hiddenInText = pattern(() => atHomeOr(`${controls}|${unseen}`, [...inWriting, ...besideRightToLeft]))

/** The same, where halves of characters are hidden too. */
const hiddenOrBroken = pattern(() => atHomeOr(`${controls}|${unseen}|\\p{Cs}`, [...inWriting, ...besideRightToLeft]))

/** The same for a name on one line, where newlines, tabs and direction marks are hidden too. */
const hiddenInNames = pattern(() => atHomeOr(`[\\p{Cc}\\p{Cs}]|${unseen}`, inWriting))

function pattern(build: () => RegExp): () => RegExp {
  let built: RegExp | undefined
  return () => {
    built ??= build()
    return built
  }
}

function atHomeOr(hidden: string, atHome: readonly string[]): RegExp {
  return new RegExp(`(${atHome.join('|')})|(?:${hidden})`, 'gu')
}

function tag(letter: string): string {
  return `\\u{${(0xe0000 + letter.charCodeAt(0)).toString(16)}}`
}
