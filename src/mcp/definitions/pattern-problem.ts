import { ambiguityOf } from './pattern-ambiguity.ts'
import { parsePattern } from './pattern-tree.ts'

/** What is left to spend on judging the patterns of one schema. */
export interface PatternBudget {
  steps: number
}

export const longestPattern = 1000

/**
 * Why a pattern must not be run: it can match one text in so many ways that trying them all does not end. One that is no
 * regular expression here (`unreadable`) is harmless, since it is never run; other languages have others.
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

const quoted = (pattern: string): string => JSON.stringify(pattern.length > 60 ? `${pattern.slice(0, 60)}…` : pattern)
