import { type ClassSet, PatternProblem, type RegexFlags, type RegexReader } from './regex-reader.ts'

type Flags = Pick<RegexFlags, 'x'>

/** A bracketed class, after its opening bracket: items, classes in classes, and the operators `&&`, `--` and `~~`. */
export function readClass(reader: RegexReader, flags: Flags): ClassSet {
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
