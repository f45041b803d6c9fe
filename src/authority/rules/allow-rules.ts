import { domainToUnicode } from 'node:url'
import { hostIn } from '../../platform/host-name.ts'
import {
  createMatchBudget,
  type MatchBudget,
  matchesWildcard,
  searchCost,
  type Wildcard,
  wildcard,
} from '../../platform/wildcard.ts'
import type { CommandFacts, EffectFact, JudgedCall, ShellFacts } from '../judged-call.ts'
import type { PathBase } from './canonical-path.ts'
import type { Match, Rule } from './rules.ts'

/**
 * Matches rules that allow. The key covers a whole call; otherwise each effect needs a rule, and each command of a shell
 * line does. Everything is compared exactly as written.
 */
export function allowMatcher(rules: readonly Rule[], base: PathBase): Match {
  const byTool = group(rules.filter(({ about, name }) => about === 'tool' || name === 'spawn'))
  const tools = new Map([...byTool].map(([name, own]) => [name, patterns(own, (pattern) => pattern)]))
  const commandRules = new Map<string, ReturnType<typeof allowingCommandRules>>()
  const effects = new Map(
    [...group(rules.filter(({ about }) => about === 'effect'))].map(([name, own]) => [
      name,
      patterns(own, (pattern) => spelledFor(name, pattern, base)),
    ]),
  )
  return (call) => {
    if (rules.length === 0) return undefined
    const budget = createMatchBudget()
    const coverOf: CoverFact = (fact) => {
      const isServer = fact.effect.startsWith('mcp:')
      return effects.get(isServer ? 'mcp' : fact.effect)?.(isServer ? fact.effect.slice(4) : fact.target, budget)
    }
    if (!call.shell) {
      const byKey = tools.get(call.tool)
      const own =
        byKey?.(call.key, budget) ??
        (/(^|\.)xn--/.test(call.key) ? byKey?.(domainToUnicode(call.key), budget) : undefined)
      if (own) return [own]
      return call.effects.length > 0 ? coverAll(call.effects, coverOf) : undefined
    }
    let byCommand = commandRules.get(call.tool)
    if (!byCommand) commandRules.set(call.tool, (byCommand = allowingCommandRules(byTool.get(call.tool) ?? [])))
    return coverLine(call, call.shell, (facts) => byCommand(facts, budget), coverOf)
  }
}

type CoverFact = (fact: EffectFact) => Rule | undefined
type CoverCommand = (facts: CommandFacts) => { readonly rule: Rule; readonly isExact: boolean } | undefined

function group(rules: readonly Rule[]): Map<string, Rule[]> {
  return Map.groupBy(rules, ({ name }) => name)
}

/** Finds the rule for a key or a target. An unknown target is covered only by a rule without a pattern. */
function patterns(
  rules: readonly Rule[],
  spelled: (pattern: string) => string,
): (text: string | undefined, budget: MatchBudget) => Rule | undefined {
  const all = rules.find(({ pattern }) => pattern === undefined)
  const exact = new Map<string, Rule>()
  const starred: { readonly rule: Rule; readonly over: Wildcard }[] = []
  for (const rule of rules) {
    if (rule.pattern === undefined) continue
    const pattern = spelled(rule.pattern)
    if (pattern.includes('*')) starred.push({ rule, over: wildcard(pattern) })
    else exact.set(pattern, rule)
  }
  return (text, budget) => {
    if (all || text === undefined) return all
    // Callers resolve paths beforehand, so a remaining ".." leads to an unknown place.
    if (hasParentSegment.test(text)) return undefined
    return exact.get(text) ?? starred.find(({ over }) => budget.spend(1) && matchesWildcard(over, text))?.rule
  }
}

const hasParentSegment = /(^|\/)\.\.(\/|$)/

/** A host with a port or a path stays as it is: no call is known to keep to it. */
function spelledFor(effect: string, pattern: string, base: PathBase): string {
  if (effect === 'net') return /[/@?#]|:\d+$/.test(pattern) ? pattern : hostIn(pattern)
  return effect.startsWith('fs.') ? withHome(pattern, base) : pattern
}

function withHome(pattern: string, { home }: PathBase): string {
  return home !== undefined && pattern.startsWith('~/') ? home + pattern.slice(1) : pattern
}

function coverAll(facts: readonly EffectFact[], coverOf: CoverFact): Rule[] | undefined {
  const found = new Set<Rule>()
  for (const fact of facts) {
    const rule = coverOf(fact)
    if (!rule) return undefined
    found.add(rule)
  }
  return [...found]
}

function coverLine(
  { effects }: JudgedCall,
  { isWhole, obstacles, commands }: ShellFacts,
  byCommand: CoverCommand,
  coverOf: CoverFact,
): Rule[] | undefined {
  if (!isWhole || obstacles.length > 0 || commands.length === 0) return undefined
  const found = new Set<Rule>()
  for (const facts of commands) {
    const rules = coverCommand(facts, byCommand, coverOf)
    if (!rules) return undefined
    for (const rule of rules) found.add(rule)
  }
  // Effects of the tool besides running the line.
  const known = new Set(commands.flatMap((facts) => facts.effects.map(identity)))
  const others = effects.filter((fact) => fact.effect !== 'exec' && !known.has(identity(fact)) && !isQuietLink(fact))
  const rest = coverAll(others, coverOf)
  const all = rest && [...new Set([...found, ...rest])]
  return all && all.length > 0 ? all : undefined
}

/** A link inside the workspace matters only to rules that deny. */
const isQuietLink = ({ effect, isLinked, isOutside }: EffectFact): boolean =>
  isLinked === true && effect === 'fs.read' && isOutside !== true

const identity = ({ effect, target = '' }: EffectFact): string => `${effect} ${target}`

/** A neutral command needs no rule, but its redirections may. */
const needsCover = ({ effect, isOutside }: EffectFact): boolean =>
  effect !== 'exec' && !(effect === 'fs.read' && isOutside !== true)

function coverCommand(facts: CommandFacts, byCommand: CoverCommand, coverOf: CoverFact): readonly Rule[] | undefined {
  const { command, table, effects } = facts
  if (command.isNested) return undefined
  const writesTo = command.redirects.filter(({ operator }) => operator.includes('>'))
  if (writesTo.some(({ target }) => target === undefined)) return undefined
  const writes = effects.filter(({ effect }) => effect === 'fs.write')
  if (table === 'neutral') return coverAll(effects.filter(needsCover), coverOf)
  const found = byCommand(facts)
  // An exact pattern covers what its words write, but not a redirection.
  if (found?.isExact && writesTo.length === 0) return [found.rule]
  const rules = found && coverAll(writes, coverOf)
  if (rules) return [found.rule, ...rules]
  if (table !== 'passes') return undefined
  return coverAll([{ effect: 'exec', target: command.words[0] ?? '' }, ...effects], coverOf)
}

/** Matches patterns that allow against one command. `isExact`: the pattern spells every word of it. */
function allowingCommandRules(
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
    // Without a table the effect depends on the directory, and a rule is about the workspace.
    if (!isTable && (cwd === undefined || outsideWorkspace.test(cwd))) return undefined
    const covers = coverTest(words, budget)
    for (const own of byProgram.get(words[0]!) ?? []) {
      const isExact = !own.rest && own.leading.length === words.length
      if (covers(own) && (isTable || isExact || (own.rest && facts.mayRemember))) return { rule: own.rule, isExact }
    }
    if (!isTable) return undefined
    const plain = canonicalWords(words)
    const others = plain === words ? starred : [...(byProgram.get(plain[0]!) ?? []), ...starred]
    const rule = all ?? others.find(plain === words ? covers : coverTest(plain, budget))?.rule
    return rule && { rule, isExact: false }
  }
}

const outsideWorkspace = /^[/~]|(^|\/)\.\.(\/|$)/

/** The spelling of rules: `[ … ]` is `test`, and `git --no-pager` is `git`. */
function canonicalWords(words: readonly string[]): readonly string[] {
  if (words[0] === '[') return ['test', ...words.slice(1, -1)]
  return words[0] === 'git' && words[1] === '--no-pager' ? ['git', ...words.slice(2)] : words
}

interface AllowRule extends WordPattern {
  readonly rule: Rule
}

interface WordPattern {
  /** The words before the first star, compared one by one, so that `git log` does not match `git logout`. */
  readonly leading: readonly string[]
  readonly rest?: Wildcard
}

const allowRule = (rule: Rule, pattern: string): AllowRule => ({ rule, ...wordPattern(pattern) })

function wordPattern(pattern: string): WordPattern {
  const words = pattern.trim().split(/\s+/)
  const star = words.findIndex((word) => word.includes('*'))
  if (star < 0) return { leading: words }
  return { leading: words.slice(0, star), rest: wildcard(words.slice(star).join(' ')) }
}

/** Tests whether rules cover a command. None does once the budget is spent. */
function coverTest(words: readonly string[], budget: MatchBudget): (rule: WordPattern) => boolean {
  // Joined once: there may be thousands of rules.
  const texts: string[] = []
  return ({ leading, rest }) => {
    if (!leading.every((word, i) => words[i] === word)) return false
    if (!rest) return true
    if (words.length <= leading.length) return false
    const text = (texts[leading.length] ??= words.slice(leading.length).join(' '))
    return budget.spend(searchCost(text)) && matchesWildcard(rest, text)
  }
}
