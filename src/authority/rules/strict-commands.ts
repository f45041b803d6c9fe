import {
  createMatchBudget,
  type MatchBudget,
  matchesWildcard,
  mayBeName,
  searchCost,
  type Wildcard,
  wildcard,
} from '../../platform/wildcard.ts'
import { candidateWords } from '../../shell/loose-words.ts'
import { stateChangingBuiltins } from '../../shell/tables/wrappers.ts'
import { runsText } from '../../shell/unwrap.ts'
import type { CommandFacts, ShellFacts } from '../judged-call.ts'
import type { Rule } from './rules.ts'

/**
 * Matches patterns that deny or ask against the commands of a line. It matches a superset: every command at any depth,
 * its program with and without its folder, ignoring case; and every word of a line that could not be parsed.
 */
export function strictCommandRules(rules: readonly Rule[]): (shell: ShellFacts) => Rule | undefined {
  const byProgram = new Map<string, ProgramRules>()
  const starred: StrictRule[] = []
  for (const rule of rules) {
    const compiled = strictRule(rule)
    if (compiled.words[0]!.includes('*')) starred.push(compiled)
    else for (const form of programForms(compiled.words[0]!)) addTo(byProgram, form, compiled)
  }
  return (shell) => {
    if (rules.length === 0) return undefined
    const budget = createMatchBudget()
    const commands = distinct(shell.commands.flatMap(wrappedForms))
    const possible = prefilter(commands, budget)
    for (const words of commands) {
      const own = programForms(words[0]!).flatMap((form) => byProgram.get(form) ?? [])
      const found =
        matchWords(words, own) ??
        matchPatterns(words, [...own.flatMap((rules) => possible(rules.starred)), ...possible(starred)], budget)
      if (found) return found.rule
    }
    const isPlain = shell.isWhole && shell.obstacles.length === 0 && !mayRunText(shell)
    return isPlain
      ? undefined
      : (matchGlobs(shell, byProgram) ?? matchSingleWords(shell, commands, byProgram, starred, budget))
  }
}

function distinct(commands: readonly (readonly string[])[]): (readonly string[])[] {
  return [...new Map(commands.map((words) => [words.join('\0'), words])).values()]
}

interface ProgramRules {
  readonly all: StrictRule[]
  /** Rules without a star, by the word after the program; '' if there is none. */
  readonly byNext: Map<string, StrictRule[]>
  readonly starred: StrictRule[]
}

function addTo(byProgram: Map<string, ProgramRules>, program: string, rule: StrictRule): void {
  const own: ProgramRules = byProgram.get(program) ?? { all: [], byNext: new Map(), starred: [] }
  byProgram.set(program, own)
  own.all.push(rule)
  if (rule.over) {
    own.starred.push(rule)
    return
  }
  const next = rule.words[1] ?? ''
  const beside = own.byNext.get(next)
  if (beside) beside.push(rule)
  else own.byNext.set(next, [rule])
}

interface StrictRule {
  readonly rule: Rule
  readonly words: readonly string[]
  readonly over?: readonly Wildcard[]
}

function strictRule(rule: Rule): StrictRule {
  const pattern = rule.pattern ?? '*'
  const words = pattern.trim().toLowerCase().split(/\s+/)
  if (!pattern.includes('*')) return { rule, words }
  const joined = words.join(' ')
  // "git push *" also matches a bare "git push".
  const over = joined.endsWith(' *') ? [joined, joined.slice(0, -2)] : [joined]
  return { rule, words, over: over.map(wildcard) }
}

/** The program as written, and without its folder. */
function programForms(program: string): string[] {
  const written = program.toLowerCase()
  const name = written.slice(Math.max(written.lastIndexOf('/'), written.lastIndexOf('\\')) + 1).replace(/\.exe$/, '')
  if (name === '[') return [written, 'test']
  return name === written || name === '' ? [written] : [written, name]
}

/** A command alone and with each wrapper around it: `sudo curl` matches rules for `sudo` and for `curl`. */
function wrappedForms({ command: { words, via } }: CommandFacts): (readonly string[])[] {
  const all = via.map((_, i) => [...via.slice(i).flatMap((wrapper) => wrapper.split(' ')), ...words])
  return words.length > 0 ? [words, ...startedCommands(words), ...all] : all
}

/** The commands that `uv run`, `bundle exec` and the like start. They are not wrappers: people allow them by name. */
function startedCommands(words: readonly string[]): (readonly string[])[] {
  const [program = '', verb = '', next = ''] = words
  if (program === 'git') {
    const isStart = /^(bisect run|submodule foreach)$/.test(`${verb} ${next}`)
    return isStart ? [words.slice(3).join(' ').split(/\s+/)] : []
  }
  const isStart = verb === 'run' ? runs.test(program) : verb === 'exec' && executes.test(program)
  return isStart ? words.slice(2, 20).flatMap((word, at) => (word.startsWith('-') ? [] : [words.slice(at + 2)])) : []
}

const runs = /^(poetry|pipenv|uv|rye|pdm|hatch|conda|mamba|micromamba|devbox|docker|podman)$/
const executes = /^(bundle|mise|asdf|direnv|rbenv|pyenv|nodenv|opam|yarn|docker|podman|kubectl)$/

function matchWords(words: readonly string[], own: readonly ProgramRules[]): StrictRule | undefined {
  for (const { byNext } of own) {
    for (const word of byNext.size > 0 ? ['', ...words.slice(1)] : []) {
      const found = byNext.get(word.toLowerCase())?.find((rule) => followsOptions(rule.words, words))
      if (found) return found
    }
  }
  return undefined
}

function matchPatterns(
  words: readonly string[],
  rules: readonly StrictRule[],
  budget: MatchBudget,
): StrictRule | undefined {
  if (rules.length === 0) return undefined
  const texts = textsOf(words)
  if (texts) {
    const cost = texts.reduce((sum, text) => sum + 4 * searchCost(text), 0)
    const isHit = (over: readonly Wildcard[]): boolean =>
      texts.some((text) => over.some((one) => matchesWildcard(one, text)))
    return rules.find(({ over }) => !budget.spend(cost) || isHit(over!))
  }
  const all = new Set(words.flatMap(programForms))
  return rules.find((rule) => rule.words.every((word) => word.includes('*') || all.has(word)))
}

const mostOptions = 32

/** The texts that patterns with a star match: with leading options and without; undefined if there are too many options. */
function textsOf(words: readonly string[]): string[] | undefined {
  const rests = [words.slice(1)]
  for (let at = 1; at < words.length && words[at]!.startsWith('-'); at++) {
    if (rests.length > mostOptions) return undefined
    rests.push(words.slice(at + 1))
    // The next word may be the value of the option.
    if (words[at + 1]?.startsWith('-') === false) rests.push(words.slice(++at + 1))
  }
  const texts = rests.map((rest) => rest.join(' ').toLowerCase())
  return programForms(words[0]!).flatMap((name) => texts.map((text) => (text === '' ? name : `${name} ${text}`)))
}

/** Whether the wanted words follow the program, with only options and their values in between. */
function followsOptions(wanted: readonly string[], words: readonly string[]): boolean {
  // By count of matched words: whether the next word may be skipped as an option's value.
  let reached = new Map<number, boolean>([[1, false]])
  for (let i = 1; i < words.length && reached.size > 0; i++) {
    if (reached.has(wanted.length)) return true
    const word = words[i]!.toLowerCase()
    const next = new Map<number, boolean>()
    for (const [count, mayBeValue] of reached) {
      if (wanted[count] === word) next.set(count + 1, next.get(count + 1) ?? false)
      if (word.startsWith('-')) next.set(count, true)
      else if (mayBeValue) next.set(count, next.get(count) ?? false)
    }
    reached = next
  }
  return reached.has(wanted.length)
}

/** A cheap filter: one search per rule, independent of the number of commands. */
function prefilter(
  commands: readonly (readonly string[])[],
  budget: MatchBudget,
): (rules: readonly StrictRule[]) => readonly StrictRule[] {
  const found = new Map<readonly StrictRule[], readonly StrictRule[]>()
  let text: string | undefined
  const filter = (rules: readonly StrictRule[]): readonly StrictRule[] => {
    if (text === undefined) {
      const texts = commands.map(textsOf)
      if (texts.includes(undefined)) return rules
      text = texts.flat().join('\n')
    }
    const all = text
    const cost = searchCost(all)
    return rules.filter(({ over }) => !budget.spend(cost) || over!.some(({ longest }) => all.includes(longest)))
  }
  return (rules) => {
    if (rules.length === 0) return rules
    const known = found.get(rules) ?? filter(rules)
    found.set(rules, known)
    return known
  }
}

/** Whether a line may run text that it wrote, or evaluates the name of a variable. */
function mayRunText({ commands }: ShellFacts): boolean {
  const evaluates = ([program = '', ...words]: readonly string[]): boolean =>
    /^(test|\[|printf)$/.test(program) && words.some((word) => /^-[vR]/.test(word))
  const writes = commands.some(({ command }) => command.redirects.some(({ operator }) => operator.includes('>')))
  return commands.some(({ command: { words } }) => evaluates(words) || (writes && runsText(words)))
}

/** Programs named by a glob: `/bin/r?` may be rm. */
function matchGlobs({ commands }: ShellFacts, byProgram: ReadonlyMap<string, ProgramRules>): Rule | undefined {
  const globs = new Set(commands.flatMap(({ command: { globs, words } }) => (globs.includes(0) ? [words[0]!] : [])))
  for (const glob of [...globs].slice(0, mostGlobs)) {
    const name = glob.slice(glob.lastIndexOf('/') + 1).toLowerCase()
    for (const [program, { all }] of byProgram)
      if (name === program || (name !== '' && mayBeName(name, program))) return all[0]!.rule
  }
  const [first] = globs.size > mostGlobs ? byProgram.values() : []
  return first?.all[0]?.rule
}

/** A bound: every rule is tested against each glob. */
const mostGlobs = 8

/** For lines that could not be fully parsed: matches rules against single words. */
function matchSingleWords(
  shell: ShellFacts,
  commands: readonly (readonly string[])[],
  byProgram: ReadonlyMap<string, ProgramRules>,
  starred: readonly StrictRule[],
  budget: MatchBudget,
): Rule | undefined {
  const { isWhole, words, commands: facts } = shell
  const values = facts.flatMap(({ command }) => Object.values(command.env))
  // If the line may run text, quoted text may be a command too.
  const isText =
    mayRunText(shell) ||
    facts.some(({ command }) => runsText(command.words) || stateChangingBuiltins.has(command.words[0] ?? ''))
  const whole = new Set([...commands.flat(), ...values])
  const texts = [...(isText ? whole : values)].filter((text) => !/^[\w./-]*$/.test(text))
  const known = new Set([...whole, ...candidateWords(texts.join('\n'))].flatMap(programForms))
  const isThere = (rule: StrictRule): boolean =>
    !isWhole || rule.words.every((word) => word.includes('*') || word.startsWith('-') || known.has(word))
  // An unparsed line may have a hundred thousand words; paths are included without their folder too.
  const all = isWhole ? [...known] : [...known, ...words]
  for (const word of all) {
    const found = byProgram.get(word.toLowerCase())?.all.find(isThere)
    if (found) return found.rule
  }
  if (starred.length === 0) return undefined
  const text = all.join('\n').toLowerCase()
  for (const { rule, words } of starred) {
    const program = wildcard(words[0]!)
    if (!budget.spend(searchCost(text))) return rule
    if (!text.includes(program.longest)) continue
    if (!budget.spend(4 * all.length) || all.some((word) => matchesWildcard(program, word.toLowerCase()))) return rule
  }
  return undefined
}
