/** A word of a request, or a quoted text, which is one word whatever stands in it. */
export interface Word {
  /** Without its quotes. */
  readonly text: string
  /** Small letters without punctuation around them, to compare with; empty for what is quoted. */
  readonly plain: string
  readonly isQuoted: boolean
  readonly start: number
  readonly end: number
}

/** A request, taken apart into words. */
export interface Phrase {
  readonly source: string
  readonly words: readonly Word[]
}

/** Takes a text apart, in one pass: quotes of any kind hold words together, one that is never closed is a letter. */
export function phraseOf(source: string): Phrase {
  const words: Word[] = []
  const quotes = createQuotes(source)
  for (let at = skipBlanks(source, 0); at < source.length; at = skipBlanks(source, at)) {
    const quoted = quotes.at(at)
    const word = quoted ?? bareWord(source, at)
    words.push(word)
    at = quoted ? skipPunctuation(source, word.end) : word.end
  }
  return { source, words }
}

/** What stands between two words: a quoted text without its quotes, anything else as it was written. */
export function textBetween({ source, words }: Phrase, from: number, to: number = words.length): string {
  const first = words[from]
  const last = words[to - 1]
  if (!first || !last || from >= to) return ''
  if (to - from === 1 && first.isQuoted) return first.text
  return source.slice(first.start, last.end).trim()
}

/** The same phrase with only some of its words. */
export function part({ source, words }: Phrase, from: number, to: number = words.length): Phrase {
  return { source, words: words.slice(from, to) }
}

/** The words to compare with, in one line. */
export function plainly({ words }: Phrase): string {
  return words.map(({ plain, isQuoted }) => (isQuoted ? '…' : plain)).join(' ')
}

/** Whether one of these words is in it, unquoted. */
export const has = ({ words }: Phrase, ...plains: string[]): boolean =>
  words.some(({ plain }) => plains.includes(plain))

/** Its first word: mostly the verb. */
export const first = ({ words }: Phrase): string => words[0]?.plain ?? ''

const closers: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  '`': '`',
  '“': '”',
  '‘': '’',
  '«': '»',
  '„': '“',
}

/** Looks for quoted texts. A closing mark that was not found once is not looked for again, which keeps it linear. */
function createQuotes(source: string) {
  const missing = new Set<string>()
  return {
    at(start: number): Word | undefined {
      if (source.startsWith('```', start)) {
        const fenced = missing.has('```') ? undefined : fencedAt(source, start)
        if (fenced) return fenced
        missing.add('```')
      }
      const opener = source[start]!
      const closer = Object.hasOwn(closers, opener) ? closers[opener]! : undefined
      if (closer === undefined || missing.has(opener)) return undefined
      const end = closing(source, closer, start + 1)
      if (end < 0) missing.add(opener)
      return end < 0 ? undefined : quotedWord(source.slice(start + 1, end), start, end + 1)
    },
  }
}

function fencedAt(source: string, start: number): Word | undefined {
  const end = source.indexOf('```', start + 3)
  if (end < 0) return undefined
  const inside = source.slice(start + 3, end)
  const newline = inside.indexOf('\n')
  // What stands behind the fence on its line is the name of a language.
  const text = newline >= 0 && newline <= 20 ? inside.slice(newline + 1) : inside
  return quotedWord(text, start, end + 3)
}

/** An apostrophe inside a word closes nothing. */
function closing(source: string, closer: string, from: number): number {
  for (let at = source.indexOf(closer, from); at >= 0; at = source.indexOf(closer, at + 1))
    if (closer === '`' || !/[\p{L}\p{N}]/u.test(source[at + 1] ?? '')) return at
  return -1
}

const quotedWord = (text: string, start: number, end: number): Word => ({ text, plain: '', isQuoted: true, start, end })

function bareWord(source: string, start: number): Word {
  let end = start
  while (end < source.length && !isBlank(source, end)) end++
  const text = source.slice(start, end)
  return { text, plain: plainWord(text), isQuoted: false, start, end }
}

function plainWord(text: string): string {
  let from = 0
  let to = text.length
  while (from < to && '([{'.includes(text[from]!)) from++
  while (to > from && '.,!?:;)]}…'.includes(text[to - 1]!)) to--
  return text.slice(from, to).toLowerCase().replaceAll('’', "'")
}

const isBlank = (text: string, at: number): boolean => text.charCodeAt(at) <= 32 || text[at] === '\u00a0'

function skipBlanks(text: string, from: number): number {
  let at = from
  while (at < text.length && isBlank(text, at)) at++
  return at
}

function skipPunctuation(text: string, from: number): number {
  let at = from
  while (at < text.length && '.,!?:;)]}'.includes(text[at]!)) at++
  return at
}
