import { literal } from './glob-pattern.ts'
import { badPattern, newlineInPattern } from './problems.ts'
import { parsePattern } from './regex-parse.ts'
import { type Assertion, type ClassSet, PatternProblem, type RegexNode } from './regex-syntax.ts'

export interface PatternOptions {
  readonly ignoreCase: boolean
  /** A match may go over several lines, and a dot matches newlines. */
  readonly multiline: boolean
}

/** Which texts a regular expression is for: the stricter one is quicker. */
export type TextKind = 'ascii' | 'unicode' | 'lossy'

/** A pattern of ripgrep's dialect that JavaScript can search with. */
export interface CompiledPattern {
  /** With the flag `g`, the same one each time. */
  regexFor(kind: TextKind): RegExp
  /** Every match contains this text, as it is. */
  readonly required: string
  /** A match may contain a newline. */
  readonly crossesLines: boolean
}

/** Translates a pattern, or says what is wrong with it. */
export function compilePattern(pattern: string, options: PatternOptions): CompiledPattern {
  try {
    return compile(pattern, options)
  } catch (error) {
    if (!(error instanceof PatternProblem)) throw error
    throw new Error(badPattern(pattern, error.message), { cause: error })
  }
}

function compile(pattern: string, { ignoreCase, multiline }: PatternOptions): CompiledPattern {
  const node = parsePattern(pattern, { i: ignoreCase, s: multiline })
  if (!multiline && hasNewline(node)) throw new PatternProblem(newlineInPattern)
  const regexes = new Map<TextKind, RegExp>()
  const compiled: CompiledPattern = {
    crossesLines: multiline && mayCrossLines(node),
    required: requiredText(node),
    regexFor(kind) {
      let regex = regexes.get(kind)
      if (!regex) regexes.set(kind, (regex = toRegExp(node, { kind, multiline })))
      return regex
    },
  }
  compiled.regexFor('ascii') // so that what cannot be translated is known at once
  return compiled
}

interface Dialect {
  readonly kind: TextKind
  readonly multiline: boolean
}

function toRegExp(node: RegexNode, dialect: Dialect): RegExp {
  const cases = casesIn(node)
  const isAllIgnored = cases.ignored && !cases.exact
  try {
    return new RegExp(write(node, dialect, cases.ignored && cases.exact), isAllIgnored ? 'giv' : 'gv')
  } catch (error) {
    // Older engines know no flags for a part of a pattern.
    if (cases.ignored && cases.exact)
      throw new PatternProblem(
        '"(?i)" for a part of a pattern needs ripgrep, which is not here; ignore case for all of it',
      )
    throw new PatternProblem(error instanceof Error ? error.message : String(error))
  }
}

function write(node: RegexNode, dialect: Dialect, isMixed: boolean): string {
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

/** Without what no class matches: the newline when lines are searched one by one, and what is no valid text. */
function writeClass(set: ClassSet, { kind, multiline }: Dialect): string {
  const source = writeSet(set, kind)
  const never = (multiline ? '' : '\\n') + (kind === 'lossy' ? '\\ufffd' : '')
  return never && isOpenEnded(set) ? `[${source}--[${never}]]` : source
}

function writeSet(set: ClassSet, kind: TextKind): string {
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

/** The name may be a category, a property or a script, written in any way. */
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
    // A line is all the text there is when lines are searched one by one.
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

/** Not by the flag `m`, which knows more kinds of newlines. */
const lineStart = '(?:^|(?<=\\n))'
const lineEnd = '(?:$|(?=\\n))'
/** Where only something is denied, V8 finds it between the halves of a surrogate pair too. */
const notInside = '(?<![\\ud800-\\udbff])'

/** Which letters, of those that have two cases, are meant in any case and which as they are. */
function casesIn(node: RegexNode): { ignored: boolean; exact: boolean } {
  switch (node.kind) {
    case 'literal':
    case 'class':
      if (node.kind === 'literal' && node.character.toLowerCase() === node.character.toUpperCase())
        return { ignored: false, exact: false }
      return { ignored: node.ignoreCase, exact: !node.ignoreCase }
    case 'repeat':
      return casesIn(node.node)
    case 'sequence':
    case 'either': {
      const all = (node.kind === 'sequence' ? node.nodes : node.options).map(casesIn)
      return { ignored: all.some(({ ignored }) => ignored), exact: all.some(({ exact }) => exact) }
    }
    default:
      return { ignored: false, exact: false }
  }
}

function mayCrossLines(node: RegexNode): boolean {
  switch (node.kind) {
    case 'literal':
      return node.character === '\n'
    case 'any':
      return node.crossesLines
    case 'assertion':
      return /^(line|text)/.test(node.what) // to ripgrep these are about newlines
    case 'class':
      return new RegExp(`^${writeSet(node.set, 'unicode')}`, 'v').test('\n')
    case 'repeat':
      return mayCrossLines(node.node)
    case 'sequence':
      return node.nodes.some(mayCrossLines)
    case 'either':
      return node.options.some(mayCrossLines)
    default:
      return false
  }
}

function hasNewline(node: RegexNode): boolean {
  switch (node.kind) {
    case 'literal':
      return node.character === '\n'
    case 'class':
      return isOnlyNewline(node.set)
    case 'repeat':
      return hasNewline(node.node)
    case 'sequence':
      return node.nodes.some(hasNewline)
    case 'either':
      return node.options.some(hasNewline)
    default:
      return false
  }
}

function isOnlyNewline(set: ClassSet): boolean {
  if (set.kind === 'range') return set.from === '\n' && set.to === '\n'
  return set.kind === 'union' && set.sets.length > 0 && set.sets.every(isOnlyNewline)
}

/** Whether a set may hold characters that nobody named. */
function isOpenEnded(set: ClassSet): boolean {
  if (set.kind === 'range') return set.from <= '\n' || set.to >= '\ufffd'
  return set.kind === 'union' ? set.sets.some(isOpenEnded) : set.kind !== 'perl' || set.name === 's'
}

/** The longest text that stands in every match. */
function requiredText(node: RegexNode): string {
  switch (node.kind) {
    case 'literal':
      return node.ignoreCase ? '' : node.character
    case 'repeat':
      return node.least > 0 ? requiredText(node.node) : ''
    case 'sequence':
      return requiredOf(node.nodes)
    default:
      return ''
  }
}

function requiredOf(nodes: readonly RegexNode[]): string {
  let longest = ''
  let run = ''
  for (const node of nodes) {
    run = node.kind === 'literal' && !node.ignoreCase ? run + node.character : ''
    for (const text of run === '' ? [requiredText(node)] : [run]) if (text.length > longest.length) longest = text
  }
  return longest
}
