import type { CommandFacts } from '../judged-call.ts'
import type { Rule } from './rule-entry.ts'
import { matchesWildcard, type Wildcard, wildcard } from './wildcard.ts'

/** Patterns that allow, over one command at a time; `isExact` when the pattern spells every word of it. */
export function allowingCommandRules(
  rules: readonly Rule[],
): (facts: CommandFacts) => { readonly rule: Rule; readonly isExact: boolean } | undefined {
  const all = rules.find(({ pattern }) => pattern === undefined)
  const compiled = rules.flatMap((rule) => (rule.pattern === undefined ? [] : [allowRule(rule, rule.pattern)]))
  const starred = compiled.filter(({ leading }) => leading.length === 0)
  const byProgram = Map.groupBy(compiled, ({ leading }) => leading[0])
  return (facts) => {
    const { words, cwd } = facts.command
    const isTable = facts.table === 'passes'
    if (words.length === 0 || !(isTable || facts.table === 'none')) return undefined
    // What a program without a table does depends on where it runs, and a rule is about the workspace.
    if (!isTable && (cwd === undefined || leaves.test(cwd))) return undefined
    for (const own of byProgram.get(words[0]!) ?? []) {
      const isExact = !own.rest && own.leading.length === words.length
      if (covers(own, words) && (isTable || isExact || (own.rest && facts.mayRemember)))
        return { rule: own.rule, isExact }
    }
    if (!isTable) return undefined
    const rule = all ?? starred.find((one) => covers(one, words))?.rule
    return rule && { rule, isExact: false }
  }
}

const leaves = /^[/~]|(^|\/)\.\.(\/|$)/

interface AllowRule {
  readonly rule: Rule
  /** Words without a star; compared one by one, so that `git log` is not the beginning of `git logout`. */
  readonly leading: readonly string[]
  /** From the first word with a star. */
  readonly rest?: Wildcard
}

function allowRule(rule: Rule, pattern: string): AllowRule {
  const words = pattern.trim().split(/\s+/)
  const star = words.findIndex((word) => word.includes('*'))
  if (star < 0) return { rule, leading: words }
  return { rule, leading: words.slice(0, star), rest: wildcard(words.slice(star).join(' ')) }
}

function covers({ leading, rest }: AllowRule, words: readonly string[]): boolean {
  if (!leading.every((word, i) => words[i] === word)) return false
  return !rest || (words.length > leading.length && matchesWildcard(rest, words.slice(leading.length).join(' ')))
}
