import { literal } from './glob-pattern.ts'
import { type Assertion, type ClassSet, PatternProblem, type RegexNode } from './regex-reader.ts'

/** The kind of text to search; a regular expression for `ascii` is faster. `lossy`: some bytes were invalid UTF-8. */
export type TextKind = 'ascii' | 'unicode' | 'lossy'

export interface Dialect {
  readonly kind: TextKind
  /** False: lines are searched one by one, and nothing matches a newline. */
  readonly multiline: boolean
}

/** The source of a JavaScript regular expression for the flag `v`. `isMixed`: only parts of it ignore case. */
export function write(node: RegexNode, dialect: Dialect, isMixed: boolean): string {
  switch (node.kind) {
    case 'literal':
      return inCase(literal(node.character), node.ignoreCase && isMixed)
    case 'class':
      return inCase(writeClass(node.set, dialect), node.ignoreCase && isMixed)
    case 'any':
      return writeAny(dialect, node.crossesLines)
    case 'assertion':
      return writeAssertion(node.what, dialect)
    case 'repeat':
      return `(?:${write(node.node, dialect, isMixed)})${node.times}`
    case 'sequence':
      return node.nodes.map((part) => write(part, dialect, isMixed)).join('')
    case 'either':
      return `(?:${node.options.map((option) => write(option, dialect, isMixed)).join('|')})`
  }
}

const inCase = (source: string, isIgnored: boolean): string => (isIgnored ? `(?i:${source})` : source)

function writeAny({ kind, multiline }: Dialect, crossesLines: boolean): string {
  const newline = multiline && crossesLines ? '' : '\\n'
  const invalid = kind === 'lossy' ? '\\ufffd' : ''
  return newline || invalid ? `[^${newline}${invalid}]` : '[^]'
}

/** Excludes what no class matches: the newline in single lines, and invalid bytes. */
function writeClass(set: ClassSet, { kind, multiline }: Dialect): string {
  const source = writeSet(set, kind)
  const never = (multiline ? '' : '\\n') + (kind === 'lossy' ? '\\ufffd' : '')
  return never && isOpenEnded(set) ? `[${source}--[${never}]]` : source
}

/** A class including newlines. */
export function writeSet(set: ClassSet, kind: TextKind): string {
  switch (set.kind) {
    case 'range':
      return set.from === set.to ? `[${literal(set.from)}]` : `[${literal(set.from)}-${literal(set.to)}]`
    case 'perl':
      return kind === 'ascii' ? asciiPerl[set.name] : unicodePerl[set.name]
    case 'property':
      return writeProperty(set.name)
    case 'not':
      return `[^${writeSet(set.set, kind)}]`
    case 'union':
      return `[${set.sets.map((part) => writeSet(part, kind)).join('')}]`
    case 'and':
      return `[${writeSet(set.left, kind)}&&${writeSet(set.right, kind)}]`
    case 'minus':
      return `[${writeSet(set.left, kind)}--${writeSet(set.right, kind)}]`
    case 'xor': {
      const [left, right] = [writeSet(set.left, kind), writeSet(set.right, kind)]
      return `[[${left}--${right}][${right}--${left}]]`
    }
  }
}

const asciiPerl = { d: '[0-9]', s: '[\\t-\\r ]', w: '[0-9A-Za-z_]' } as const
const unicodePerl = {
  d: '[\\p{Nd}]',
  s: '[\\p{White_Space}]',
  w: '[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}]',
} as const

/** The name may be a category, a property or a script, in any spelling. */
function writeProperty(name: string): string {
  const [key, value] = name.split(/[=:]/)
  const bare = (value ?? key ?? '').trim()
  const spelled = [bare, bare.toUpperCase(), capitals(bare)]
  const kinds = value === undefined ? ['', 'Script='] : [scriptKeys.test(key!) ? 'Script=' : '', `${key}=`]
  for (const text of kinds.flatMap((kind) => spelled.map((one) => `\\p{${kind}${one}}`)))
    if (isClass(text)) return `[${text}]`
  throw new PatternProblem(`Unicode property not found: ${name}`)
}

const scriptKeys = /^sc(ript)?$/i
const capitals = (name: string): string =>
  name
    .split(/[\s_-]+/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1).toLowerCase())
    .join('_')

function isClass(source: string): boolean {
  try {
    new RegExp(source, 'v')
    return true
  } catch {
    return false
  }
}

function writeAssertion(what: Assertion, { kind, multiline }: Dialect): string {
  const word = kind === 'ascii' ? asciiPerl.w : unicodePerl.w
  const [start, end] = [`(?<!${word})(?=${word})`, `(?<=${word})(?!${word})`]
  switch (what) {
    // In single lines the line is the whole text.
    case 'textStart':
      return multiline ? '^' : lineStart
    case 'textEnd':
      return multiline ? '$' : lineEnd
    case 'lineStart':
      return lineStart
    case 'lineEnd':
      return lineEnd
    case 'wordEdge':
      return kind === 'ascii' ? '\\b' : `(?:${start}|${end})`
    case 'noWordEdge':
      return kind === 'ascii' ? '\\B' : `${notInside}(?!${start}|${end})`
    case 'wordStart':
      return start
    case 'wordEnd':
      return end
    case 'wordStartHalf':
      return `${notInside}(?<!${word})`
    case 'wordEndHalf':
      return `${notInside}(?!${word})`
  }
}

/** Not by the flag `m`, which accepts more kinds of newlines. */
const lineStart = '(?:^|(?<=\\n))'
const lineEnd = '(?:$|(?=\\n))'
/** V8 also matches a negated assertion inside a surrogate pair. */
const notInside = '(?<![\\ud800-\\udbff])'

/** Whether a set may contain characters that are not listed in it. */
function isOpenEnded(set: ClassSet): boolean {
  if (set.kind === 'range') return set.from <= '\n' || set.to >= '\ufffd'
  return set.kind === 'union' ? set.sets.some(isOpenEnded) : set.kind !== 'perl' || set.name === 's'
}
