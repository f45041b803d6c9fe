import { parallelTag, type TextCallPattern } from './text-call-pattern.ts'

/** A tag of a call or of a parallel wrapper; `end` is the index after it. */
export type Tag =
  /** Without a name if that is in the body. */
  | { readonly kind: 'open'; readonly end: number; readonly name?: string; readonly isEmpty: boolean }
  | { readonly kind: 'close' | 'wrap' | 'unwrap'; readonly end: number }

/** The position of a possible tag, and whether the text ends. */
interface TagPosition {
  readonly text: string
  /** The index of a `<`. */
  readonly at: number
  readonly isEnd: boolean
}

/** The longest tag; a stream is not held back for longer. */
const longestTag = 500

/** The tag at a position; `more` if that depends on text to come. */
export function readTag(position: TagPosition, patterns: readonly TextCallPattern[]): Tag | 'more' | undefined {
  const { text, at, isEnd } = position
  const isClosing = text[at + 1] === '/'
  const from = at + (isClosing ? 2 : 1)
  if (!/[a-z]/i.test(text[from] ?? 'a')) return undefined
  let mayFollow = false
  for (const pattern of [...patterns, wrapper]) {
    const { tag } = pattern
    const found = text.slice(from, from + tag.length).toLowerCase()
    if (!tag.toLowerCase().startsWith(found)) continue
    const next = text[from + tag.length]
    if (found.length < tag.length || next === undefined) {
      mayFollow = true
      continue
    }
    if (!/[\s/>]/.test(next)) continue
    const rest = readAttributes(text, from + tag.length, pattern.nameAttribute ?? 'name')
    if (rest === 'more') return isEnd || text.length - at > longestTag ? undefined : 'more'
    if (!rest || rest.end - at > longestTag) return undefined
    return tagOf(pattern, isClosing, rest)
  }
  return mayFollow && !isEnd ? 'more' : undefined
}

/** Whether a text is an incomplete closing tag. */
export function isCutClose(text: string, patterns: readonly TextCallPattern[]): boolean {
  const cut = text.trim().toLowerCase()
  return patterns.some(({ tag }) => `</${tag.toLowerCase()}>`.startsWith(cut))
}

const wrapper: TextCallPattern = { tag: parallelTag }

interface Attributes {
  readonly name: string
  readonly isEmpty: boolean
  readonly end: number
}

function tagOf(pattern: TextCallPattern, isClosing: boolean, { name, isEmpty, end }: Attributes): Tag | undefined {
  if (pattern === wrapper) return { kind: isClosing ? 'unwrap' : 'wrap', end }
  if (isClosing) return { kind: 'close', end }
  if (name !== '') return { kind: 'open', end, name, isEmpty }
  return pattern.nameIn === 'json' && !isEmpty ? { kind: 'open', end, isEmpty } : undefined
}

const pairs: Readonly<Record<string, string>> = { '"': '"', "'": "'", '“': '”' }

/** Reads the attributes of a tag up to its `>` outside of quotes. */
function readAttributes(text: string, from: number, wanted: string): Attributes | 'more' | undefined {
  const last = Math.min(text.length, from + longestTag)
  let name: string | undefined
  let at = from
  while (at < last) {
    const char = text[at]!
    if (char === '>') return { name: (name ?? '').trim(), isEmpty: false, end: at + 1 }
    if (text.startsWith('/>', at)) return { name: (name ?? '').trim(), isEmpty: true, end: at + 2 }
    if (char === '<') return undefined
    if (/[\s/]/.test(char)) {
      at++
      continue
    }
    attribute.lastIndex = at
    const [matched, key = ''] = attribute.exec(text) ?? ['', '']
    if (matched === '') return undefined
    at += matched.length
    if (!matched.includes('=')) continue
    if (at >= last) break
    const value = readValue(text, at)
    if (!value) break
    if (key.toLowerCase() === wanted.toLowerCase()) name ??= value.text
    at = value.end
  }
  return 'more'
}

/** A key, and its `=` if it has one. */
const attribute = /([^\s=<>/"'“”]{1,100})(?:\s{0,20}=\s{0,20})?/y
const unquoted = /[^\s<>"']*?(?=[\s<>"']|\/>)/y

function readValue(text: string, at: number): { text: string; end: number } | undefined {
  const close = pairs[text[at]!]
  if (close !== undefined) {
    const until = text.slice(at + 1, at + 1 + longestTag).indexOf(close)
    return until < 0 ? undefined : { text: text.slice(at + 1, at + 1 + until), end: at + until + 2 }
  }
  unquoted.lastIndex = at
  const found = unquoted.exec(text)?.[0]
  return found === undefined ? undefined : { text: found, end: at + found.length }
}

/** The opening or closing tag of a thought; `end` is the index after it. */
export interface ThoughtTag {
  readonly kind: 'thought opens' | 'thought ends'
  readonly name: string
  readonly end: number
}

/** The names of the tags of thoughts. */
const thoughtNames = ['think', 'thinking', 'thought', 'reasoning'] as const

/** The tag of a thought at a position; `more` if that depends on text to come. */
export function thoughtTagAt({ text, at, isEnd }: TagPosition): ThoughtTag | 'more' | undefined {
  let mayFollow = false
  for (const { tag, kind, name } of tags) {
    const found = text.slice(at, at + tag.length).toLowerCase()
    if (found === tag) return { kind, name, end: at + tag.length }
    if (at + found.length === text.length && tag.startsWith(found)) mayFollow = true
  }
  return mayFollow && !isEnd ? 'more' : undefined
}

const tags = thoughtNames.flatMap((name) => [
  { tag: `<${name}>`, kind: 'thought opens', name } as const,
  { tag: `</${name}>`, kind: 'thought ends', name } as const,
])

export const longestThoughtTag = Math.max(...tags.map(({ tag }) => tag.length))

/** A part of the text in which calls do not count: a thought, a quoted result, a comment. */
export interface NonCallSpan {
  readonly open: string
  readonly close: RegExp
  /** The length of the longest incomplete closing tag. */
  readonly longestPartialClose: number
}

/** The span that begins at a position; `more` if that depends on text to come. */
export function nonCallSpanAt({ text, at, isEnd }: TagPosition): NonCallSpan | 'more' | undefined {
  let mayFollow = false
  for (const span of spans) {
    const found = text.slice(at, at + span.open.length).toLowerCase()
    if (found === span.open) return span
    if (at + found.length === text.length && span.open.startsWith(found)) mayFollow = true
  }
  return mayFollow && !isEnd ? 'more' : undefined
}

const spans: readonly NonCallSpan[] = [
  ...thoughtNames.map((name) => ({
    open: `<${name}>`,
    close: new RegExp(`</${name}>`, 'gi'),
    longestPartialClose: name.length + 2,
  })),
  // A result that the model wrote is made up, or a quote.
  { open: '<functions_result>', close: /<\/functions_result>/gi, longestPartialClose: 18 },
  { open: '<!--', close: /-->/g, longestPartialClose: 2 },
]

/** The index after the end of a span; undefined if the end is not there yet. */
export function endOfSpan({ close }: NonCallSpan, text: string, from: number): number | undefined {
  close.lastIndex = from
  const found = close.exec(text)
  return found ? found.index + found[0].length : undefined
}
