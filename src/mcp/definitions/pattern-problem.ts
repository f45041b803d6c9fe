import { cutText } from '../../core/text.ts'
import { ambiguityOf } from './pattern-ambiguity.ts'

/** The remaining steps for judging patterns. */
export interface PatternBudget {
  steps: number
}

const longestPattern = 1000

/**
 * Why a pattern must not be run: it can match one text in so many ways that backtracking does not end. A pattern that is
 * no regular expression of JavaScript (`unreadable`) is harmless, since it is never run.
 */
export function patternProblem(pattern: string, budget: PatternBudget): string | 'unreadable' | undefined {
  if (pattern.length > longestPattern)
    return `a pattern of ${pattern.length} characters, where ${longestPattern} are allowed`
  if (!isReadable(pattern)) return 'unreadable'
  const { trees, hasBackreference, ignoresCase } = parsePattern(pattern)
  if (hasBackreference) return `the pattern ${quoted(pattern)}, which refers back to what it found`
  for (const tree of trees) {
    const ambiguity = ambiguityOf(tree, ignoresCase ? 'iu' : 'u', budget)
    if (ambiguity === 'endless') return `the pattern ${quoted(pattern)}, which may take for ever on some texts`
    if (ambiguity === 'unknown') return `the pattern ${quoted(pattern)}, which is too complicated to be judged`
  }
  return undefined
}

function isReadable(pattern: string): boolean {
  try {
    new RegExp(pattern, 'u')
    return true
  } catch {
    return false
  }
}

const quoted = (pattern: string): string => JSON.stringify(cutText(pattern, 60))

/** A regular expression as a tree. Assertions match no text and are left out; the content of a lookaround is a separate tree. */
export type PatternTree =
  | { readonly kind: 'atom'; readonly source: string }
  | { readonly kind: 'sequence' | 'choice'; readonly parts: readonly PatternTree[] }
  | { readonly kind: 'repeat'; readonly body: PatternTree; readonly min: number; readonly max: number }

interface ParsedPattern {
  /** The pattern itself, then the content of each lookaround. */
  readonly trees: readonly PatternTree[]
  readonly hasBackreference: boolean
  readonly ignoresCase: boolean
}

/** Parses a pattern that `new RegExp(pattern, 'u')` accepts; the result for others is meaningless. */
function parsePattern(pattern: string): ParsedPattern {
  const lookarounds: PatternTree[] = []
  let hasBackreference = false
  let ignoresCase = false
  let at = 0

  const take = (expression: RegExp): RegExpExecArray | null => {
    expression.lastIndex = at
    const found = expression.exec(pattern)
    if (found) at += found[0].length
    return found
  }

  function choice(): PatternTree {
    const parts = [sequence()]
    while (take(/\|/y)) parts.push(sequence())
    return parts.length === 1 ? parts[0]! : { kind: 'choice', parts }
  }

  function sequence(): PatternTree {
    const parts: PatternTree[] = []
    while (at < pattern.length && pattern[at] !== '|' && pattern[at] !== ')') {
      const part = term()
      const repeated = part && quantified(part)
      if (repeated) parts.push(repeated)
    }
    return { kind: 'sequence', parts }
  }

  function term(): PatternTree | undefined {
    if (take(/[\^$]|\\[bB]/y)) return undefined
    if (take(/\(\?<?[=!]/y)) {
      lookarounds.push(group())
      return undefined
    }
    const opening = take(/\((?:\?(?:<[^>]*>|([a-z]*)(?:-[a-z]*)?:))?/y)
    if (opening) {
      if (opening[1]?.includes('i')) ignoresCase = true
      return group()
    }
    if (take(/\\(?:[1-9]|k<)/y)) hasBackreference = true
    const [source = ''] = take(oneCharacter) ?? [pattern[at++]]
    return { kind: 'atom', source }
  }

  function group(): PatternTree {
    const inside = choice()
    at++ // the closing bracket
    return inside
  }

  function quantified(body: PatternTree): PatternTree {
    const found = take(/(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/y)
    if (!found) return body
    const [, sign, least, comma, most] = found
    if (sign) return { kind: 'repeat', body, min: sign === '+' ? 1 : 0, max: sign === '?' ? 1 : Infinity }
    const min = Number(least)
    if (!comma) return { kind: 'repeat', body, min, max: min }
    return { kind: 'repeat', body, min, max: most ? Number(most) : Infinity }
  }

  const tree = choice()
  return { trees: [tree, ...lookarounds], hasBackreference, ignoresCase }
}

/** A class, an escape or a plain character: matches exactly one character. */
const oneCharacter =
  /\[(?:\\.|[^\]\\])*\]|\\(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[dD][89abAB]..\\u[dD][c-fC-F]..|u.{4}|x..|c.|.)|[^|)]/suy
