import { CodedError, messageOf } from '../../core/errors.ts'
import { JobFailed, OutOfTime } from '../../platform/standing-worker.ts'
import type { JudgedCall } from '../judged-call.ts'
import { holdThread, type ThreadHold } from '../shell/hold-thread.ts'
import type { ToolRule } from './settings.ts'

/** Refuses regular expressions that are none. `where` says whose they are: "denyPatterns of settings.json". */
export function compilePatterns(patterns: readonly string[], where: string): void {
  for (const pattern of patterns) {
    try {
      new RegExp(pattern, 'i')
    } catch (cause) {
      const message = `${JSON.stringify(pattern)} in ${where} is not a regular expression (${messageOf(cause)}); correct or remove it`
      throw new CodedError('Validation/InvalidPattern', message, { cause })
    }
  }
}

/** What the patterns of a tool's rule find in a call of it. */
export function patternsIn(
  { tool, input }: Pick<JudgedCall, 'tool' | 'input'>,
  rule: ToolRule,
): Promise<PatternMatches> {
  const { denyPatterns: deny = [], allowPatterns: allow = [] } = rule
  return testPatterns({ text: JSON.stringify({ tool, parameters: input }), deny, allow })
}

interface PatternTest {
  readonly text: string
  readonly deny: readonly string[]
  readonly allow: readonly string[]
  /** For one pattern. Default 100. */
  readonly budgetMs?: number
}

/** The first pattern of each list that was found. */
interface PatternMatches {
  readonly deny?: string
  readonly allow?: string
}

/**
 * Looks for patterns in a text, ignoring case, off the event loop. One that does not come to an end counts as found if
 * it denies, and as not found if it allows.
 */
export async function testPatterns({ text, deny, allow, budgetMs = 100 }: PatternTest): Promise<PatternMatches> {
  if (deny.length === 0 && allow.length === 0) return {}
  const hold = holdThread()
  try {
    const denied = await firstMatch(hold, { text, patterns: deny, budgetMs, whenLate: true })
    const allowed = await firstMatch(hold, { text, patterns: allow, budgetMs, whenLate: false })
    return { ...(denied !== undefined && { deny: denied }), ...(allowed !== undefined && { allow: allowed }) }
  } finally {
    await hold.release()
  }
}

interface Search {
  readonly text: string
  readonly patterns: readonly string[]
  readonly budgetMs: number
  readonly whenLate: boolean
}

async function firstMatch(hold: ThreadHold, search: Search): Promise<string | undefined> {
  const { text, patterns, budgetMs, whenLate } = search
  if (patterns.length === 0) return undefined
  try {
    return patterns[await hold.ask<number>({ text, patterns }, budgetMs)]
  } catch (error) {
    // A pattern may also be too much for the engine; that is no better than one that does not end.
    if (!(error instanceof OutOfTime || error instanceof JobFailed)) throw error
  }
  if (patterns.length === 1) return whenLate ? patterns[0] : undefined
  // One of them does not end. Halves of halves find it without a job for each of thousands.
  const half = patterns.length >> 1
  const first = await firstMatch(hold, { ...search, patterns: patterns.slice(0, half) })
  return first ?? (await firstMatch(hold, { ...search, patterns: patterns.slice(half) }))
}
