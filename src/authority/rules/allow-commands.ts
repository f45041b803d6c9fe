import type { CommandFacts } from '../judged-call.ts'
import { type MatchBudget, searchCost } from './effort.ts'
import type { Rule } from './rule-entry.ts'
import { matchesWildcard, type Wildcard, wildcard } from './wildcard.ts'

/** Patterns that allow, over one command at a time; `isExact` when the pattern spells every word of it. */
export function allowingCommandRules(
  rules: readonly Rule[],
): (facts: CommandFacts, budget: MatchBudget) => { readonly rule: Rule; readonly isExact: boolean } | undefined {
  const all = rules.find(({ pattern }) => pattern === undefined)
  const compiled = rules.flatMap((rule) => (rule.pattern === undefined ? [] : [allowRule(rule, rule.pattern)]))
  const starred = compiled.filter(({ leading }) => leading.length === 0)
  const byProgram = Map.groupBy(compiled, ({ leading }) => leading[0])
  return (facts, budget) => {
    const { words, cwd } = facts.command
    const isTable = facts.table === 'passes'
    if (words.length === 0 || !(isTable || facts.table === 'none')) return undefined
    // What a program without a table does depends on where it runs, and a rule is about the workspace.
    if (!isTable && (cwd === undefined || leaves.test(cwd))) return undefined
    const covers = coverer(words, budget)
    for (const own of byProgram.get(words[0]!) ?? []) {
      const isExact = !own.rest && own.leading.length === words.length
      if (covers(own) && (isTable || isExact || (own.rest && facts.mayRemember))) return { rule: own.rule, isExact }
    }
    if (!isTable) return undefined
    const plain = plainly(words)
    const others = plain === words ? starred : [...(byProgram.get(plain[0]!) ?? []), ...starred]
    const rule = all ?? others.find(plain === words ? covers : coverer(plain, budget))?.rule
    return rule && { rule, isExact: false }
  }
}

const leaves = /^[/~]|(^|\/)\.\.(\/|$)/

/** As a rule would spell it: `[ … ]` is test, and without a pager git does no more than with one. */
function plainly(words: readonly string[]): readonly string[] {
  if (words[0] === '[') return ['test', ...words.slice(1, -1)]
  return words[0] === 'git' && words[1] === '--no-pager' ? ['git', ...words.slice(2)] : words
}

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

/** Whether rules cover a command; they do not once there is no effort left. */
function coverer(words: readonly string[], budget: MatchBudget): (rule: AllowRule) => boolean {
  // Ten thousand rules would join the same words again and again.
  const texts: string[] = []
  return ({ leading, rest }) => {
    if (!leading.every((word, i) => words[i] === word)) return false
    if (!rest) return true
    if (words.length <= leading.length) return false
    const text = (texts[leading.length] ??= words.slice(leading.length).join(' '))
    return budget.spend(searchCost(text)) && matchesWildcard(rest, text)
  }
}
