import { badPattern, newlineInPattern } from './problems.ts'
import { casesIn, hasNewline, mayCrossLines, requiredText } from './regex-facts.ts'
import { parsePattern } from './regex-parse.ts'
import { PatternProblem, type RegexNode } from './regex-syntax.ts'
import { type Dialect, type TextKind, write } from './regex-write.ts'

export interface PatternOptions {
  readonly ignoreCase: boolean
  /** A match may go over several lines, and a dot matches newlines. */
  readonly multiline: boolean
}

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

function toRegExp(node: RegexNode, dialect: Dialect): RegExp {
  const cases = casesIn(node)
  const isAllIgnored = cases.ignored && !cases.exact
  try {
    return new RegExp(write(node, dialect, cases.ignored && cases.exact), isAllIgnored ? 'giv' : 'gv')
  } catch (error) {
    if (error instanceof PatternProblem) throw error
    // Older engines know no flags for a part of a pattern.
    if (cases.ignored && cases.exact)
      throw new PatternProblem(
        '"(?i)" for a part of a pattern needs ripgrep, which is not here; ignore case for all of it',
      )
    throw new PatternProblem(error instanceof Error ? error.message : String(error))
  }
}
