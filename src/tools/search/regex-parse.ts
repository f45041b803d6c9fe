import {
  type Assertion,
  type ClassSet,
  PatternProblem,
  type RegexFlags,
  type RegexNode,
  RegexReader,
} from './regex-reader.ts'

/** Parses a pattern; errors have the words of ripgrep if they are short. */
export function parsePattern(pattern: string, flags: Pick<RegexFlags, 'i' | 's'>): RegexNode {
  const reader = new RegexReader(pattern)
  const { node } = readEither(reader, { ...flags, m: true, U: false, x: false })
  if (!reader.isAtEnd()) throw new PatternProblem('unopened group')
  return node
}

/** Reads up to a closing parenthesis or the end. Flags set in an alternative apply to later ones too. */
function readEither(reader: RegexReader, outer: RegexFlags): { node: RegexNode; flags: RegexFlags } {
  let flags = outer
  const options: RegexNode[] = []
  do {
    const read = readSequence(reader, flags)
    options.push(read.node)
    flags = read.flags
  } while (reader.take('|'))
  return { node: options.length === 1 ? options[0]! : { kind: 'either', options }, flags }
}

function readSequence(reader: RegexReader, outer: RegexFlags): { node: RegexNode; flags: RegexFlags } {
  let flags = outer
  const nodes: RegexNode[] = []
  for (;;) {
    if (flags.x) reader.skipBlanks()
    if (reader.isAtEnd() || reader.peek() === '|' || reader.peek() === ')') return { node: sequence(nodes), flags }
    const read = readOne(reader, flags)
    if ('flags' in read) flags = read.flags
    else nodes.push(withRepeats(reader, read.node, flags))
  }
}

function sequence(nodes: readonly RegexNode[]): RegexNode {
  return nodes.length === 1 ? nodes[0]! : { kind: 'sequence', nodes }
}

type One = { readonly node: RegexNode } | { readonly flags: RegexFlags }

function readOne(reader: RegexReader, flags: RegexFlags): One {
  const character = reader.next()
  switch (character) {
    case '(':
      return readGroup(reader, flags)
    case '[':
      return { node: { kind: 'class', set: readClass(reader, flags), ignoreCase: flags.i } }
    case '.':
      return { node: { kind: 'any', crossesLines: flags.s } }
    case '^':
      return { node: { kind: 'assertion', what: flags.m ? 'lineStart' : 'textStart' } }
    case '$':
      return { node: { kind: 'assertion', what: flags.m ? 'lineEnd' : 'textEnd' } }
    case '\\':
      return { node: readEscape(reader, flags) }
    case '*':
    case '+':
    case '?':
    case '{':
      throw new PatternProblem(
        `repetition operator missing expression (before "${character}"; write "\\${character}" for the character itself)`,
      )
    default:
      return { node: { kind: 'literal', character, ignoreCase: flags.i } }
  }
}

function readGroup(reader: RegexReader, flags: RegexFlags): One {
  if (!reader.take('?')) return { node: readUntilClosed(reader, flags) }
  if (reader.takeOne(['=', '!', '<=', '<!']))
    throw new PatternProblem('look-around, including look-ahead and look-behind, is not supported')
  if (reader.takeOne(['P<', '<'])) {
    const name = reader.takeUntil('>')
    if (!name || !/^[\p{Alphabetic}_][\p{Alphabetic}\p{Nd}_.[\]]*$/u.test(name))
      throw new PatternProblem('invalid capture group name')
    return { node: readUntilClosed(reader, flags) }
  }
  const inner = readFlags(reader, flags)
  if (reader.take(')')) return { flags: inner }
  if (!reader.take(':')) throw new PatternProblem('unrecognized flag')
  return { node: readUntilClosed(reader, inner) }
}

function readUntilClosed(reader: RegexReader, flags: RegexFlags): RegexNode {
  const { node } = readEither(reader, flags)
  if (!reader.take(')')) throw new PatternProblem('unclosed group')
  return node
}

function readFlags(reader: RegexReader, flags: RegexFlags): RegexFlags {
  const changed = { ...flags }
  let isOn = true
  while (!reader.isAtEnd() && reader.peek() !== ')' && reader.peek() !== ':') {
    const flag = reader.next()
    if (flag === '-' && isOn) isOn = false
    else if (flag === 'i' || flag === 'm' || flag === 's' || flag === 'U' || flag === 'x') changed[flag] = isOn
    else if (flag === 'u' && isOn) continue
    else if (flag === 'u' || flag === 'R')
      throw new PatternProblem(`the flag "${flag}" needs ripgrep, which is not here`)
    else throw new PatternProblem('unrecognized flag')
  }
  return changed
}

function readEscape(reader: RegexReader, flags: RegexFlags): RegexNode {
  const set = reader.readClassEscape()
  if (set) return { kind: 'class', set, ignoreCase: flags.i }
  const what = readAssertion(reader)
  if (what) return { kind: 'assertion', what }
  return { kind: 'literal', character: reader.readCharacterEscape(), ignoreCase: flags.i }
}

function readAssertion(reader: RegexReader): Assertion | undefined {
  for (const [text, what] of assertions) if (reader.take(text)) return what
  return undefined
}

/** Longer ones first. */
const assertions: readonly (readonly [string, Assertion])[] = [
  ['b{start-half}', 'wordStartHalf'],
  ['b{end-half}', 'wordEndHalf'],
  ['b{start}', 'wordStart'],
  ['b{end}', 'wordEnd'],
  ['b', 'wordEdge'],
  ['B', 'noWordEdge'],
  ['<', 'wordStart'],
  ['>', 'wordEnd'],
  ['A', 'textStart'],
  ['z', 'textEnd'],
]

function withRepeats(reader: RegexReader, node: RegexNode, flags: RegexFlags): RegexNode {
  let repeated = node
  for (;;) {
    if (flags.x) reader.skipBlanks()
    const times = readTimes(reader)
    if (times === undefined) return repeated
    const isLazy = reader.take('?') !== flags.U
    const least = times === '+' ? 1 : times === '*' || times === '?' ? 0 : Number.parseInt(times.slice(1), 10)
    repeated = { kind: 'repeat', node: repeated, times: isLazy ? `${times}?` : times, least }
  }
}

const maxRepetitions = 1000

function readTimes(reader: RegexReader): string | undefined {
  const sign = reader.takeOne(['*', '+', '?'])
  if (sign || !reader.take('{')) return sign
  const inside = reader.takeUntil('}')
  if (inside === undefined) throw new PatternProblem('unclosed counted repetition')
  const [, least, comma, most] = /^\s*(\d*)\s*(?:(,)\s*(\d*)\s*)?$/.exec(inside) ?? []
  if (least === undefined || (least === '' && !most))
    throw new PatternProblem('repetition quantifier expects a valid decimal (write "\\{" for a brace)')
  const [from, to] = [Number(least || 0), comma ? Number(most || 0) : Number(least)]
  if (comma && most && to < from)
    throw new PatternProblem('invalid repetition count range, the start must be <= the end')
  if (Math.max(from, to) > maxRepetitions) throw new PatternProblem(`more than ${maxRepetitions} repetitions`)
  if (!comma) return `{${from}}`
  return most ? `{${from},${to}}` : `{${from},}`
}

type Flags = Pick<RegexFlags, 'x'>

/** A bracketed class, after its opening bracket: items, classes in classes, and the operators `&&`, `--` and `~~`. */
function readClass(reader: RegexReader, flags: Flags): ClassSet {
  const isNegated = reader.take('^')
  let set = readUnion(reader, flags, true)
  for (;;) {
    const operator = reader.takeOne(['&&', '--', '~~'])
    if (operator) set = { kind: kinds[operator], left: set, right: readUnion(reader, flags, false) }
    else if (reader.take(']')) return isNegated ? { kind: 'not', set } : set
    else throw new PatternProblem('unclosed character class')
  }
}

const kinds = { '&&': 'and', '--': 'minus', '~~': 'xor' } as const

/** Reads items up to an operator or the closing bracket. A bracket or dashes at the beginning are literal. */
function readUnion(reader: RegexReader, flags: Flags, isStart: boolean): ClassSet {
  const sets: ClassSet[] = []
  if (isStart) {
    while (reader.take('-')) sets.push(one('-'))
    if (sets.length === 0 && reader.take(']')) sets.push(one(']'))
  }
  for (;;) {
    if (flags.x) reader.skipBlanks()
    if (reader.isAtEnd()) throw new PatternProblem('unclosed character class')
    if (reader.peek() === ']' || isOperator(reader)) return { kind: 'union', sets }
    sets.push(readItem(reader, flags))
  }
}

function isOperator(reader: RegexReader): boolean {
  const first = reader.peek()
  return (first === '&' || first === '-' || first === '~') && reader.peek(1) === first
}

function readItem(reader: RegexReader, flags: Flags): ClassSet {
  if (reader.peek() === '[') return readPosix(reader) ?? readNested(reader, flags)
  const from = readEnd(reader)
  if (typeof from !== 'string') return from
  // A dash before the end of the class, or before another dash, is literal.
  if (reader.peek() !== '-' || reader.peek(1) === ']' || reader.peek(1) === '-') return one(from)
  reader.next()
  if (flags.x) reader.skipBlanks()
  const to = readEnd(reader)
  if (typeof to !== 'string') throw new PatternProblem('invalid range boundary, must be a literal')
  if (to.codePointAt(0)! < from.codePointAt(0)!)
    throw new PatternProblem('invalid character class range, the start must be <= the end')
  return { kind: 'range', from, to }
}

/** Reads an end of a range, or a class. */
function readEnd(reader: RegexReader): string | ClassSet {
  if (!reader.take('\\')) return reader.next()
  return reader.readClassEscape() ?? reader.readCharacterEscape()
}

function readNested(reader: RegexReader, flags: Flags): ClassSet {
  reader.next()
  return readClass(reader, flags)
}

/** `[:alpha:]` or `[:^alpha:]`; anything else is a class in a class. */
function readPosix(reader: RegexReader): ClassSet | undefined {
  for (const [name, ranges] of Object.entries(posix)) {
    const isNegated = reader.take(`[:^${name}:]`)
    if (!isNegated && !reader.take(`[:${name}:]`)) continue
    const set = union(ranges)
    return isNegated ? { kind: 'not', set } : set
  }
  return undefined
}

/** Pairs of characters: the first and the last of each range. */
const posix: Readonly<Record<string, string>> = {
  alnum: '09AZaz',
  alpha: 'AZaz',
  ascii: '\x00\x7f',
  blank: '\t\t  ',
  cntrl: '\x00\x1f\x7f\x7f',
  digit: '09',
  graph: '!~',
  lower: 'az',
  print: ' ~',
  punct: '!/:@[`{~',
  space: '\t\r  ',
  upper: 'AZ',
  word: '09AZaz__',
  xdigit: '09AFaf',
}

function union(ranges: string): ClassSet {
  const sets: ClassSet[] = []
  for (let i = 0; i < ranges.length; i += 2) sets.push({ kind: 'range', from: ranges[i]!, to: ranges[i + 1]! })
  return { kind: 'union', sets }
}

const one = (character: string): ClassSet => ({ kind: 'range', from: character, to: character })
