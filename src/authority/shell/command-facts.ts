import type { CommandFacts, EffectFact } from '../judged-call.ts'
import type { ReadCommand } from './reading.ts'
import { redirectEffects } from './redirect-effects.ts'
import { locate, locator, type ShellLocation } from './shell-location.ts'
import { environmentProblem } from './tables/environment.ts'
import type { Word } from './tables/flags.ts'
import { knownEffects } from './tables/known-effects.ts'
import { mayStoreGrant } from './tables/never-kept.ts'
import { isNeutral, lookUp } from './tables/programs.ts'

/** The facts about one command from the flag tables, by its words alone. Pure. */
export function commandFacts(command: ReadCommand, location: ShellLocation): CommandFacts {
  const found = judge(command, location)
  const effects = [...executed(command), ...found.effects, ...redirectEffects(command, location)]
  const isClean = found.table === 'passes' || found.table === 'neutral'
  const program = programOf(command)
  return {
    command,
    table: found.table,
    ...(found.why !== undefined && { why: found.why }),
    effects,
    isReadOnly:
      isClean && found.runs !== true && !effects.some(({ effect }) => /^(fs\.write|net|unknown)$/.test(effect)),
    mayRemember:
      isClean || (found.table === 'none' && program !== undefined && mayStoreGrant(program, command.words.slice(1))),
  }
}

interface Found {
  readonly table: CommandFacts['table']
  readonly why?: string
  readonly effects: readonly EffectFact[]
  /** It passes, but runs scripts of the project. */
  readonly runs?: true
}

function judge(command: ReadCommand, location: ShellLocation): Found {
  const program = programOf(command)
  const given = wordsOf(command)
  const known = (): EffectFact[] =>
    program === undefined ? [{ effect: 'unknown' }] : knownEffects(program, given, command, location)
  const surroundings = environmentProblem(command)
  if (surroundings !== undefined)
    return {
      table: 'refuses',
      why: surroundings,
      effects: command.words.length === 0 ? [{ effect: 'unknown' }] : known(),
    }
  if (command.words.length === 0) return { table: 'neutral', effects: [] }
  if (program === undefined) return { table: 'none', effects: known() }
  if (isNeutral(program, given)) return { table: 'neutral', effects: [] }
  const distrust = whyUntrusted(program, command, location)
  if (distrust !== undefined) return { table: 'refuses', why: distrust, effects: known() }
  const args = lookUp(program, given)
  if (args === undefined) return { table: 'none', effects: known() }
  if (typeof args === 'string') return { table: 'refuses', why: `${program}: ${args}`, effects: known() }
  const where = locator(command.cwd, location)
  const paths = args.reads.filter((path) => path !== '-')
  const deep = isDeep(program, given) && { isDeep: true }
  const reads = paths.map((path): EffectFact => ({ effect: 'fs.read', ...where(path), ...deep }))
  return { table: 'passes', effects: reads, ...(program === 'npm' && !/^-/.test(given[0]!.text) && { runs: true }) }
}

/** Whether it reads everything in a folder. */
function isDeep(program: string, words: readonly Word[]): boolean {
  if (program === 'rg' || program === 'git') return true
  const isRecursive = words.some(({ text }) => /^(-[^-]*[rR]|--(dereference-)?recursive$)/.test(text))
  return isRecursive && /^([ef]?grep|diff)$/.test(program)
}

/** The program's name in the tables; undefined for a program outside the system's folders. */
function programOf({ words, globs }: ReadCommand): string | undefined {
  const name = words[0]
  if (name === undefined || globs.includes(0) || /[$`~\s]/.test(name)) return undefined
  const standard = /^\/(?:usr\/(?:local\/)?)?bin\/([^/]+)$/.exec(name)
  return standard?.[1] ?? (name.includes('/') || name === '' ? undefined : name)
}

function wordsOf({ words, globs }: ReadCommand): Word[] {
  const matched = new Set(globs)
  return words.slice(1).map((text, at) => ({ text, isGlob: matched.has(at + 1) }))
}

function executed({ words, via }: ReadCommand): EffectFact[] {
  const names = [...via.map((wrapper) => wrapper.split(' ')[0]!), ...words.slice(0, 1)]
  return names.map((name) => ({ effect: 'exec', target: name.slice(name.lastIndexOf('/') + 1) }))
}

/** Programs that obey files of the project, some of which may lie in any parent folder. */
function whyUntrusted(program: string, command: ReadCommand, location: ShellLocation): string | undefined {
  const isVersion = /^(--version|-v|version)$/.test(command.words.slice(1).join(' '))
  if (!/^(git|npm|cargo|rustc|go)$/.test(program) || (isVersion && /^(git|npm)$/.test(program))) return undefined
  const what = program === 'git' ? 'repository' : 'project'
  // A rule for `npm test` means the project's scripts; of the other programs people expect that they are read-only.
  const isTest = program === 'npm' && /^(test|t|tst)$/.test(command.words[1] ?? '')
  if (!location.isTrusted && !isTest)
    return `this ${what} is not trusted: its configuration can make ${program} run programs`
  if (locate('.', command.cwd, location).target === '.') return undefined
  return `another ${what} than that of the workspace may lie here: its configuration can make ${program} run programs`
}
