/** A text in which each quoted part is one private character, so that patterns only see words. */
export interface Masked {
  readonly text: string
  readonly quotes: readonly { readonly raw: string; readonly content: string }[]
}

const closers: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  '`': '`',
  '“': '”',
  '‘': '’',
  '«': '»',
  '„': '“',
}
const firstMask = 0xe000
const maxQuotes = 6000
export const maskPattern = /[\ue000-\uf8ff]/g

/** Replaces quoted texts. A closing quote that was not found once is not searched again, which keeps this linear. */
export function mask(source: string): Masked {
  const given = source.replace(maskPattern, ' ')
  const quotes: { raw: string; content: string }[] = []
  const unclosed = new Set<string>()
  let text = ''
  for (let at = 0; at < given.length; ) {
    const isStart = at === 0 || /[\s(]/.test(given[at - 1]!)
    const quote = isStart && quotes.length < maxQuotes ? quoteAt(given, at, unclosed) : undefined
    text += quote ? String.fromCharCode(firstMask + quotes.push(quote) - 1) : given[at]
    at += quote ? quote.raw.length : 1
  }
  return { text, quotes }
}

function quoteAt(text: string, start: number, unclosed: Set<string>): { raw: string; content: string } | undefined {
  const fence = text.startsWith('```', start) && !unclosed.has('```') ? text.indexOf('```', start + 3) : -1
  if (fence > 0) {
    const raw = text.slice(start, fence + 3)
    // The rest of the first line is the name of a language.
    return { raw, content: raw.slice(3, -3).replace(/^[^\n]{0,20}\n/, '') }
  }
  if (text.startsWith('```', start)) unclosed.add('```')
  const opener = text[start]!
  const closer = Object.hasOwn(closers, opener) ? closers[opener]! : undefined
  if (closer === undefined || unclosed.has(opener)) return undefined
  for (let end = text.indexOf(closer, start + 1); end >= 0; end = text.indexOf(closer, end + 1)) {
    // An apostrophe inside a word closes nothing.
    if (closer !== '`' && /[\p{L}\p{N}]/u.test(text[end + 1] ?? '')) continue
    return { raw: text.slice(start, end + 1), content: text.slice(start + 1, end) }
  }
  unclosed.add(opener)
  return undefined
}

export const restored = ({ text, quotes }: Masked): string =>
  text.replace(maskPattern, (character) => quotes[character.charCodeAt(0) - firstMask]?.raw ?? '')

export const isQuoted = (text: string): boolean => text.length === 1 && text >= '\ue000' && text <= '\uf8ff'

/** A part of a request as it was written; a quoted text without its quotes. */
export function literal(part: string, { quotes }: Masked): string {
  if (isQuoted(part)) return quotes[part.charCodeAt(0) - firstMask]?.content ?? ''
  return restored({ text: part, quotes }).trim()
}

const articles = new Set(['the', 'my', 'our', 'your', 'this', 'file', 'called', 'named', 'please'])
const vague = new Set(
  'it its that this them these those everything anything something nothing all every each any some both here there again'.split(
    ' ',
  ),
)
/** Refers to something in another message. */
export const isVague = (word: string): boolean => vague.has(word.toLowerCase())

/** Looks like a path: it has a slash, or a dot before letters. */
export const isPath = (text: string): boolean =>
  /^\S{1,1000}$/.test(text) && (/[/\\*]|\.\w/.test(text) || /^\.{1,2}$/.test(text))

/** The only name in a text, apart from articles and the given fillers; another word could change the meaning of the whole. */
export function nameIn(text: string, masked: Masked, fillers = '', whenNone?: string): string | undefined {
  const known = new Set(fillers.split(' '))
  const words = text
    .split(/\s+/)
    .map((word) => (/^[./]+$/.test(word) ? word : word.replace(/[,!?:;)]+$|(?<=[^.])\.$/g, '')))
  const names = words.filter(
    (word) => word !== '' && !articles.has(word.toLowerCase()) && !known.has(word.toLowerCase()),
  )
  if (names.length === 0) return whenNone
  const [name] = names
  return names.length > 1 || isVague(name!) ? undefined : literal(name!, masked)
}

/** A text to write or find, without words such as `the text` before it. */
export const contentOf = (text: string, masked: Masked): string =>
  exactText(text.trim(), masked) ?? literal(text.trim(), masked)

/** The text if it is quoted, or called a text. */
export function exactText(text: string, masked: Masked): string | undefined {
  const [, article, noun, rest = ''] =
    /^((?:the|a)\s+)?((?:(?:text|words?|string|phrase|line|contents?|following)\s+)*)(.*)$/is.exec(text) ?? []
  if (isQuoted(rest)) return literal(rest, masked)
  return article && noun && !maskPattern.test(rest) ? literal(rest, masked) : undefined
}
