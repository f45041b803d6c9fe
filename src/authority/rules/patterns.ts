import { CodedError, messageOf } from '../../core/errors.ts'
import { JobFailed, JobTimeout } from '../../platform/worker-threads.ts'
import { acquireThread, type ThreadReference } from '../../shell/shell-reader.ts'
import type { JudgedCall } from '../judged-call.ts'
import type { ToolRule } from './settings.ts'

/** Throws on invalid regular expressions. `where` names their origin: "denyPatterns of settings.json". */
export function checkPatterns(patterns: readonly string[], where: string): void {
  for (const pattern of patterns) {
    try {
      new RegExp(pattern, 'i')
    } catch (cause) {
      const message = `${JSON.stringify(pattern)} in ${where} is not a regular expression (${messageOf(cause)}); correct or remove it`
      throw new CodedError('Validation/InvalidPattern', message, { cause })
    }
  }
}

/** Matches the patterns of a tool's rule against a call. */
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
  /** Time limit per pattern. Default 100. */
  readonly budgetMs?: number
}

interface PatternMatches {
  readonly deny?: string
  readonly allow?: string
}

/**
 * Matches patterns against a text in a thread, ignoring case. A pattern that exceeds its time counts as a match if it
 * denies, and as no match if it allows.
 */
export async function testPatterns({ text, deny, allow, budgetMs = 100 }: PatternTest): Promise<PatternMatches> {
  if (deny.length === 0 && allow.length === 0) return {}
  const thread = acquireThread()
  try {
    const denied = await firstMatch(thread, { text, patterns: deny, budgetMs, isLateMatch: true })
    const allowed = await firstMatch(thread, { text, patterns: allow, budgetMs, isLateMatch: false })
    return { ...(denied !== undefined && { deny: denied }), ...(allowed !== undefined && { allow: allowed }) }
  } finally {
    await thread.release()
  }
}

/** `isLateMatch`: whether a pattern that exceeds its time counts as a match. */
async function firstMatch(
  thread: ThreadReference,
  search: { text: string; patterns: readonly string[]; budgetMs: number; isLateMatch: boolean },
): Promise<string | undefined> {
  const { text, patterns, budgetMs, isLateMatch } = search
  if (patterns.length === 0) return undefined
  try {
    return patterns[await thread.ask<number>({ text, patterns }, budgetMs)]
  } catch (error) {
    // A pattern that the engine fails on is treated like one that takes too long.
    if (!(error instanceof JobTimeout || error instanceof JobFailed)) throw error
  }
  if (patterns.length === 1) return isLateMatch ? patterns[0] : undefined
  // One of them takes too long. Bisecting finds it without a job per pattern.
  const half = patterns.length >> 1
  const first = await firstMatch(thread, { ...search, patterns: patterns.slice(0, half) })
  return first ?? (await firstMatch(thread, { ...search, patterns: patterns.slice(half) }))
}
