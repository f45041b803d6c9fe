import type { CommandFacts, ShellFacts } from '../judged-call.ts'
import type { Rule } from './rule-entry.ts'
import { matchesWildcard, type Wildcard, wildcard } from './wildcard.ts'

/**
 * Patterns that forbid or ask, over the commands of a line. On a superset: every command wherever it stands, its program
 * with and without its folder, whatever the case; and where a line could not be read to its end, every word of it.
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
    const commands = shell.commands.flatMap(readings)
    const possible = mayOccur(starred, commands)
    for (const words of commands) {
      const own = programForms(words[0]!).flatMap((form) => byProgram.get(form) ?? [])
      const found = followed(words, own) ?? matched(words, [...own.flatMap((rules) => rules.starred), ...possible])
      if (found) return found.rule
    }
    return shell.isWhole && shell.obstacles.length === 0 ? undefined : amongWords(shell, commands, byProgram, starred)
  }
}

/** The rules about one program. */
interface ProgramRules {
  readonly all: StrictRule[]
  /** Without a star, by the word that has to follow the program; '' where none has to. */
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
  /** Of patterns with a star. */
  readonly over?: readonly Wildcard[]
}

function strictRule(rule: Rule): StrictRule {
  const pattern = rule.pattern ?? '*'
  const words = pattern.trim().toLowerCase().split(/\s+/)
  if (!pattern.includes('*')) return { rule, words }
  const joined = words.join(' ')
  // "git push *" is meant to stop a bare "git push" too.
  const over = joined.endsWith(' *') ? [joined, joined.slice(0, -2)] : [joined]
  return { rule, words, over: over.map(wildcard) }
}

/** As written and without its folder. */
function programForms(program: string): string[] {
  const written = program.toLowerCase()
  const name = written.slice(Math.max(written.lastIndexOf('/'), written.lastIndexOf('\\')) + 1).replace(/\.exe$/, '')
  return name === written || name === '' ? [written] : [written, name]
}

/** A command alone and behind each of the wrappers that were taken off: `sudo curl` is both a `sudo` and a `curl`. */
function readings({ command: { words, via } }: CommandFacts): (readonly string[])[] {
  const all = via.map((_, i) => [...via.slice(i).flatMap((wrapper) => wrapper.split(' ')), ...words])
  return words.length > 0 ? [words, ...all] : all
}

function followed(words: readonly string[], own: readonly ProgramRules[]): StrictRule | undefined {
  for (const { byNext } of own) {
    for (const word of byNext.size > 0 ? ['', ...words.slice(1)] : []) {
      const found = byNext.get(word.toLowerCase())?.find((rule) => followsOptions(rule.words, words))
      if (found) return found
    }
  }
  return undefined
}

function matched(words: readonly string[], rules: readonly StrictRule[]): StrictRule | undefined {
  if (rules.length === 0) return undefined
  const texts = textsOf(words)
  if (texts) return rules.find(({ over }) => texts.some((text) => over!.some((one) => matchesWildcard(one, text))))
  const all = new Set(words.flatMap(programForms))
  return rules.find((rule) => rule.words.every((word) => word.includes('*') || all.has(word)))
}

const mostOptions = 32

/** A command as patterns with a star see it: with its options in front and without; undefined when they are too many to tell. */
function textsOf(words: readonly string[]): string[] | undefined {
  const rests = [words.slice(1)]
  for (let at = 1; at < words.length && words[at]!.startsWith('-'); at++) {
    if (rests.length > mostOptions) return undefined
    rests.push(words.slice(at + 1))
    // The next word may be the option's value.
    if (words[at + 1]?.startsWith('-') === false) rests.push(words.slice(++at + 1))
  }
  const texts = rests.map((rest) => rest.join(' ').toLowerCase())
  return programForms(words[0]!).flatMap((name) => texts.map((text) => (text === '' ? name : `${name} ${text}`)))
}

/** Whether the wanted words follow the program, with nothing but options, and a value for each, between them. */
function followsOptions(wanted: readonly string[], words: readonly string[]): boolean {
  // For each count of words found so far: whether it can be reached here, and whether a value may be skipped next.
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

/** A first look that costs one search for each rule, however many commands there are. */
function mayOccur(rules: readonly StrictRule[], commands: readonly (readonly string[])[]): readonly StrictRule[] {
  if (rules.length === 0) return rules
  const texts = commands.map(textsOf)
  if (texts.includes(undefined)) return rules
  const text = texts.flat().join('\n')
  return rules.filter(({ over }) => over!.some(({ longest }) => text.includes(longest)))
}

/** Where a line hides something, its words are all there is to go by. */
function amongWords(
  { isWhole, words, commands: facts }: ShellFacts,
  commands: readonly (readonly string[])[],
  byProgram: ReadonlyMap<string, ProgramRules>,
  starred: readonly StrictRule[],
): Rule | undefined {
  const values = facts.map(({ command }) => Object.values(command.env))
  const known = new Set([...commands, ...values].flatMap((list) => list.flatMap(programForms)))
  const isThere = (rule: StrictRule): boolean =>
    !isWhole || rule.words.every((word) => word.includes('*') || word.startsWith('-') || known.has(word))
  // Of a line that was not read there may be a hundred thousand; paths come without their folder too.
  const all = isWhole ? [...known] : [...known, ...words]
  for (const word of all) {
    const found = byProgram.get(word.toLowerCase())?.all.find(isThere)
    if (found) return found.rule
  }
  if (starred.length === 0) return undefined
  const text = all.join('\n').toLowerCase()
  for (const { rule, words } of starred) {
    const program = wildcard(words[0]!)
    if (text.includes(program.longest) && all.some((word) => matchesWildcard(program, word.toLowerCase()))) return rule
  }
  return undefined
}
