import { hostIn } from '../../platform/host-name.ts'
import {
  createMatchBudget,
  isShellGlob,
  type MatchBudget,
  matchesWildcard,
  mayBePath,
  mayOverlap,
  searchCost,
  type Wildcard,
  wildcard,
} from '../../platform/wildcard.ts'
import { type CommandFacts, type EffectFact, factsOf, type JudgedCall, type ShellFacts } from '../judged-call.ts'
import { bothForms, canonicalPath, foldName, type PathBase } from './canonical-path.ts'
import type { Match, PossibleMatch, Rule } from './rules.ts'
import { strictCommandRules } from './strict-commands.ts'

interface StrictMatcher {
  readonly match: Match
  readonly possibleMatch: PossibleMatch
}

/** Matches rules that deny or ask. One match is enough, by key or by any effect, however it is spelled. */
export function strictMatcher(rules: readonly Rule[], base: PathBase): StrictMatcher {
  const byTool = new Map<string, Bucket>()
  const byEffect = new Map<string, Bucket>()
  for (const rule of rules) {
    if (rule.about === 'effect') add(byEffect, rule, formsOf(rule, base))
    // A tool may have the name of an effect, such as `spawn`.
    if (rule.about === 'tool' || rule.name !== 'mcp')
      add(byTool, rule, rule.pattern === undefined ? [] : [foldName(rule.pattern)])
  }
  const match = (call: JudgedCall, root?: string): Rule | undefined => {
    const own = byTool.get(call.tool)
    const found =
      own &&
      (own.all ??
        lookUp(own, [foldName(call.key)], createMatchBudget()) ??
        (call.shell ? own.commands(call.shell) : lookUpHosts(own, call)))
    if (found) return found
    if (byEffect.size === 0) return undefined
    const exec = call.shell && byEffect.get('exec')
    const run = exec && (exec.all ?? exec.commands(call.shell!))
    if (run) return run
    const from = root === undefined ? base : { ...base, root }
    const rootForm = from.root === undefined ? undefined : canonicalPath(from.root, from)
    const wanted = new Map<Bucket, Set<string>>()
    for (const fact of factsOf(call)) {
      const bucket = byEffect.get(nameOf(fact))
      if (!bucket) continue
      if (bucket.all) return bucket.all
      const texts = wanted.get(bucket) ?? new Set()
      wanted.set(bucket, texts)
      for (const text of textsOf(fact, from)) texts.add(text)
      const inside = isWholeFolder(fact) ? lookUpInside(bucket, textsOf(fact, from), rootForm) : undefined
      if (inside) return inside
    }
    const budget = createMatchBudget()
    for (const [bucket, set] of wanted) {
      const texts = [...set]
      const hit = lookUp(bucket, texts, budget) ?? (call.shell && lookUpGlobs(bucket, texts, budget))
      if (hit) return hit
    }
    return undefined
  }
  return {
    match: (call, root) => {
      const found = match(call, root)
      return found && [found]
    },
    possibleMatch: (call, besides) => {
      if (rules.length === 0) return undefined
      if (call.shell && !call.shell.isWhole) return byTool.get(call.tool)?.rules[0] ?? firstOf(byEffect)
      if (call.shell?.commands.some(hasUnknownProgram)) {
        const own = byTool.get(call.tool) ?? byEffect.get('exec')
        if (own) return own.rules[0]
      }
      // The call covers the whole workspace, so it may include what a rule names.
      for (const fact of factsOf(call)) {
        const isWhole = fact.target === '.' && isWholeFolder(fact) && fact.effect !== besides
        const bucket = isWhole ? byEffect.get(fact.effect) : undefined
        if (bucket) return bucket.rules[0]
      }
      const unnamed = call.effects.filter(
        ({ effect, target }) => target === undefined && effect !== 'exec' && effect !== besides,
      )
      for (const { effect } of unnamed) {
        const bucket = effect.startsWith('mcp:') ? undefined : byEffect.get(effect)
        if (bucket) return bucket.rules[0]
      }
      return undefined
    },
  }
}

/** Whether the program is only known when the shell runs. */
function hasUnknownProgram({ command: { words } }: CommandFacts): boolean {
  const [program = '', ...rest] = words
  const isText = /^(eval|source|\.)$/.test(program)
  return [program, ...(isText ? rest : [])].some((word) => /[$`]/.test(word))
}

interface Bucket {
  readonly rules: Rule[]
  /** Matches every key or target. */
  all?: Rule
  readonly exact: Map<string, Rule>
  /** The beginnings of its path patterns, up to the first star. Sorted on first use. */
  readonly starts: { readonly start: string; readonly rule: Rule }[]
  isSorted?: boolean
  paths?: readonly string[]
  readonly starred: { readonly rule: Rule; readonly over: Wildcard }[]
  /** The same patterns for the commands of a line, compiled on first use. */
  readonly commands: (shell: ShellFacts) => Rule | undefined
}

function add(buckets: Map<string, Bucket>, rule: Rule, patterns: readonly string[]): void {
  const bucket = buckets.get(rule.name) ?? emptyBucket()
  buckets.set(rule.name, bucket)
  bucket.rules.push(rule)
  if (rule.pattern === undefined || rule.pattern === '*') bucket.all ??= rule
  for (const pattern of patterns) {
    if (rule.name.startsWith('fs.')) bucket.starts.push({ start: pattern.split('*', 1)[0]!, rule })
    if (pattern.includes('*')) bucket.starred.push({ rule, over: wildcard(pattern) })
    else bucket.exact.set(pattern, rule)
  }
}

function emptyBucket(): Bucket {
  const rules: Rule[] = []
  let compiled: ReturnType<typeof strictCommandRules> | undefined
  const commands = (shell: ShellFacts): Rule | undefined => {
    compiled ??= strictCommandRules(rules.filter(({ pattern }) => pattern !== undefined))
    return compiled(shell)
  }
  return { rules, exact: new Map(), starred: [], starts: [], commands }
}

/** The patterns for a target. A folder with a trailing slash covers itself and everything in it. */
function formsOf({ name, pattern }: Rule, base: PathBase): string[] {
  if (pattern === undefined) return []
  if (name === 'net') return [hostIn(pattern)]
  if (!name.startsWith('fs.')) return [foldName(pattern)]
  const path = canonicalPath(pattern, base)
  return /[/\\]$/.test(pattern) && path !== '/' ? [path, `${path}/*`] : [path]
}

function lookUp({ exact, starred }: Bucket, texts: readonly string[], budget: MatchBudget): Rule | undefined {
  for (const text of texts) {
    const found = exact.get(text)
    if (found) return found
  }
  if (starred.length === 0 || texts.length === 0) return undefined
  const all = texts.join('\n')
  const cost = searchCost(all)
  return starred.find(({ over }) => {
    if (!budget.spend(cost)) return true
    if (!all.includes(over.longest)) return false
    return texts.some((text) => !budget.spend(1) || matchesWildcard(over, text))
  })?.rule
}

/** A rule about a tool may name a host. The key of a call has the host alone only if the address is short. */
function lookUpHosts({ rules }: Bucket, { effects }: JudgedCall): Rule | undefined {
  const hosts = effects.flatMap(({ effect, target }) => (effect === 'net' && target !== undefined ? [target] : []))
  if (hosts.length === 0) return undefined
  return rules.find(({ pattern }) => {
    if (pattern === undefined) return false
    const over = wildcard(hostIn(pattern))
    return hosts.some((host) => matchesWildcard(over, host))
  })
}

/** Writing or searching a folder affects everything in it. */
const isWholeFolder = ({ effect, isDeep }: EffectFact): boolean => effect === 'fs.write' || isDeep === true

/** A rule about something inside the folder; any rule, if the folder contains the workspace. */
function lookUpInside(bucket: Bucket, texts: readonly string[], root: string | undefined): Rule | undefined {
  const { starts } = bucket
  if (starts.length === 0) return undefined
  if (!bucket.isSorted) starts.sort((a, b) => (a.start < b.start ? -1 : 1))
  bucket.isSorted = true
  for (const text of texts) {
    const folder = text.endsWith('/') ? text : `${text}/`
    if (root?.startsWith(folder)) return starts[0]!.rule
    const at = lowerBound(starts, folder, ({ start }) => start)
    if (starts[at]?.start.startsWith(folder)) return starts[at].rule
  }
  return undefined
}

/** Shell globs: `.e*` may match `.env`. */
function lookUpGlobs(bucket: Bucket, texts: readonly string[], budget: MatchBudget): Rule | undefined {
  for (const text of texts.filter(isShellGlob)) {
    const { exact, starred } = bucket
    const paths = (bucket.paths ??= [...exact.keys()].sort())
    const start = text.slice(0, text.search(/[*?[]/))
    for (let at = lowerBound(paths, start); paths[at]?.startsWith(start); at++)
      if (!budget.spend(8) || mayBePath(text, paths[at]!)) return exact.get(paths[at]!)
    if (starred.length === 0) continue
    const overlapsWith = mayOverlap(text)
    const found = starred.find(({ over }) => !budget.spend(1) || overlapsWith(over))
    if (found) return found.rule
  }
  return undefined
}

/** The index of the first text in a sorted list that is not before this one. */
function lowerBound<T = string>(sorted: readonly T[], text: string, keyOf = (one: T): string => String(one)): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (keyOf(sorted[middle]!) < text) low = middle + 1
    else high = middle
  }
  return low
}

const nameOf = ({ effect }: EffectFact): string => (effect.startsWith('mcp:') ? 'mcp' : effect)

function textsOf({ effect, target }: EffectFact, base: PathBase): string[] {
  if (effect.startsWith('mcp:')) return [foldName(effect.slice(4))]
  if (target === undefined) return []
  if (effect === 'fs.read' || effect === 'fs.write') return bothForms(target, base)
  if (effect === 'net') return [hostIn(target)]
  const text = foldName(target)
  return effect === 'exec' ? [text, text.slice(text.lastIndexOf('/') + 1)] : [text]
}

/** Effects that a shell line cannot have. */
const notOfLines = ['ask', 'spawn', 'schedule.write', 'mcp']

function firstOf(buckets: ReadonlyMap<string, Bucket>): Rule | undefined {
  for (const [name, { rules }] of buckets) if (!notOfLines.includes(name)) return rules[0]
  return undefined
}
