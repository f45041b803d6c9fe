/**
 * Makes control characters visible and harmless: ESC becomes `␛`, others `\x..`. Tabs, newlines and the CR of a CRLF stay;
 * a lone CR, with which a line overwrites itself, does not. Invisible letters stay, because some scripts need them.
 */
export function visibleText(text: string): string {
  return isPlain(text) ? text : text.replace(controlsInText, shown)
}

/**
 * The same for a name, which is shown on one line: newlines, tabs, bidi controls and zero-width characters are escaped too.
 * Joiners, variation selectors and unusual blanks stay, because file names contain them.
 */
export function visibleName(name: string): string {
  return isPlainLine(name) ? name : name.replace(hiddenInNames, shown)
}

/**
 * For what a person is asked to approve: every invisible character, bidi control, cursor movement and blank other than a
 * space is escaped. With `lines: 'kept'` newlines and tabs stay, nothing else.
 */
export function fullyVisible(text: string, { lines = 'shown' }: { readonly lines?: 'kept' | 'shown' } = {}): string {
  if (lines === 'shown') return isPlainLine(text) ? text : text.replace(everyHidden, shown)
  return isPlain(text) ? text : text.replace(everyHiddenInLines, shown)
}

/** The text without characters that only machines read (tags, bidi controls, escapes), and how many there were. */
export function withoutHidden(text: string): { readonly text: string; readonly hidden: number } {
  if (isPlain(text)) return { text, hidden: 0 }
  let hidden = 0
  const rest = text.replace(hiddenFromPeople, () => {
    hidden++
    return ''
  })
  return { text: rest, hidden }
}

/** Most texts are ASCII, for which this check is enough. */
const isPlain = (text: string): boolean => !/[^\t\n\x20-\x7e]/.test(text)
const isPlainLine = (text: string): boolean => !/[^\x20-\x7e]/.test(text)

// biome-ignore-start lint/suspicious/noControlCharactersInRegex: they are what this is about
// biome-ignore-start lint/suspicious/noMisleadingCharacterClass: single code points are what this is about
const controlsInText = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)/g
const hiddenInNames =
  /[\x00-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]|\p{Surrogate}/gu
const everyHidden = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}|\u2800/gu
const everyHiddenInLines =
  /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}|\u2800/gu
const hiddenFromPeople =
  /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e01ef}]|\r(?!\n)|\p{Surrogate}/gu
// biome-ignore-end lint/suspicious/noMisleadingCharacterClass: see above
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: see above

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
