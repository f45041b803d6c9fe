import { badPattern, newlineInPattern } from './query.ts'
import { parsePattern } from './regex-parse.ts'
import { type ClassSet, PatternProblem, type RegexNode } from './regex-reader.ts'
import { type Dialect, type TextKind, write, writeSet } from './regex-write.ts'

export interface PatternOptions {
  readonly ignoreCase: boolean
  /** A match may go over several lines, and a dot matches newlines. */
  readonly multiline: boolean
}

/** A pattern of ripgrep, compiled for JavaScript. */
interface CompiledPattern {
  /** With the flag `g`; always the same object. */
  regexFor(kind: TextKind): RegExp
  /** Every match contains this text literally. */
  readonly required: string
  /** A match may contain a newline. */
  readonly crossesLines: boolean
}

/** Translates a pattern; throws if it is invalid. */
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
  compiled.regexFor('ascii') // to fail at once if it cannot be translated
  return compiled
}

function toRegExp(node: RegexNode, dialect: Dialect): RegExp {
  const cases = casesIn(node)
  const isAllIgnored = cases.ignored && !cases.exact
  try {
    return new RegExp(write(node, dialect, cases.ignored && cases.exact), isAllIgnored ? 'giv' : 'gv')
  } catch (error) {
    if (error instanceof PatternProblem) throw error
    // Older engines do not support flags for a part of a pattern.
    if (cases.ignored && cases.exact)
      throw new PatternProblem(
        '"(?i)" for a part of a pattern needs ripgrep, which is not here; ignore case for all of it',
      )
    throw new PatternProblem(error instanceof Error ? error.message : String(error))
  }
}

/** Whether the pattern has letters that ignore case, and letters that do not. */
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

/** Whether a match may contain a newline, by the rules of ripgrep. */
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

/** Whether a part of the pattern can match only a newline. */
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

/** The longest text that every match contains. */
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
