import type { Effect } from '../core/authority.ts'
import type { ReadCommand, ShellReading } from './reading.ts'
import { redirectEffects } from './redirects.ts'
import { isPattern, locate, locator, type ShellLocation } from './shell-location.ts'
import { catastrophic } from './tables/catastrophe.ts'
import { isCheck } from './tables/checking-programs.ts'
import { environmentProblem } from './tables/environment.ts'
import { readArguments } from './tables/flags.ts'
import { gitVerb, isGitReading } from './tables/git.ts'
import { hostsIn } from './tables/hosts.ts'
import { lookLikeFiles, type Program, type ReadArguments, type Word } from './tables/program.ts'
import { mayRemember, programNamed } from './tables/programs.ts'
import { unwrap } from './unwrap.ts'

/** A parsed shell line with the facts about each command. */
export interface ShellFacts {
  readonly isWhole: boolean
  readonly obstacles: readonly string[]
  readonly commands: readonly CommandFacts[]
  /** All words of the line, if it could not be parsed whole. */
  readonly words: readonly string[]
  /** The irreparable damage it could do, in words: "removes the home folder". Needs an approval in every mode. */
  readonly catastrophe?: string
  /** A sandbox prevents all of that damage: the workspace and the caches at home stay as they are. */
  readonly isHarmlessInside?: true
}

/** What the list of programs knows about one command. */
export interface CommandFacts {
  readonly command: ReadCommand
  /** `neutral`: needs no permission (`true`, `pwd`, `cd src`). `passes`/`refuses`: by its flag table. `none`: no table. */
  readonly table: 'neutral' | 'passes' | 'refuses' | 'none'
  /** Why the table refuses: the word and what it can do. */
  readonly why?: string
  readonly effects: readonly EffectFact[]
  /** What it is known to do in a sandbox that can change and reach nothing. */
  readonly inside?: UseInside
  /** The command writes, runs and sends nothing. `plan` allows it. */
  readonly isReadOnly: boolean
  /**
   * The program with its verb (`touch`, `git commit`), if all words are known and it only reads, or changes only what they
   * name. A grant may cover every command of a kind. Shells, interpreters, package managers and `rm` have none.
   */
  readonly kind?: string
  /** Whether a grant may outlive this call. Never for shells, interpreters, package runners, `sudo` and the like. */
  readonly mayRemember: boolean
}

/** One effect of a call and its target. */
export interface EffectFact {
  readonly effect: Effect
  /** A path relative to the workspace (`.` for itself) or absolute where it lies outside; a host; a program. */
  readonly target?: string
  readonly isOutside?: boolean
  /** The call reads everything in the folder. */
  readonly isDeep?: boolean
  /** The path is the target of a link, not written in the call. */
  readonly isLinked?: boolean
}

/** The facts about a line, by its words alone. Pure. */
export function shellFacts({ isWhole, obstacles, commands, words }: ShellReading, location: ShellLocation): ShellFacts {
  const facts = { isWhole, obstacles, commands: commands.map((command) => commandFacts(command, location)), words }
  const damage = catastrophic(facts, location)
  if (!damage) return facts
  const { why: catastrophe, isHarmlessInside } = damage
  return { ...facts, catastrophe, ...(isHarmlessInside && { isHarmlessInside }) }
}

/** The facts about one command. */
export function commandFacts(command: ReadCommand, location: ShellLocation): CommandFacts {
  const { runs, effects: own, ...found } = judge(command, location)
  const effects = [...executed(command), ...own, ...redirectEffects(command, location)]
  const isClean = found.table === 'passes' || found.table === 'neutral'
  const name = programOf(command)
  const inside = useInside(command, name)
  const isKept = isClean || (found.table === 'none' && name !== undefined && mayRemember(name, command.words.slice(1)))
  const kind = isKept && !runs ? kindOf(command, found.table) : undefined
  return {
    command,
    ...found,
    effects,
    ...(inside && { inside }),
    isReadOnly: isClean && !runs && !effects.some(({ effect }) => /^(fs\.write|net|unknown)$/.test(effect)),
    ...(kind !== undefined && { kind }),
    mayRemember: isKept,
  }
}

interface Judgement extends Pick<CommandFacts, 'table' | 'why' | 'effects'> {
  /** It passes, but runs scripts of the project. */
  readonly runs?: true
}

function judge(command: ReadCommand, location: ShellLocation): Judgement {
  const name = programOf(command)
  const given = wordsOf(command)
  const program = name === undefined ? undefined : programNamed(name)
  const known = (): EffectFact[] => (program ? effectsOf(program, command, location) : [{ effect: 'unknown' }])
  const refused = (why: string): Judgement => ({ table: 'refuses', why, effects: known() })
  const surroundings = environmentProblem(command)
  if (surroundings !== undefined) return refused(surroundings)
  if (command.words.length === 0) return { table: 'neutral', effects: [] }
  if (name === undefined || program === undefined) return { table: 'none', effects: known() }
  if (typeof readArguments(program.neutral, given) === 'object') return { table: 'neutral', effects: [] }
  const distrust = whyUntrusted(name, program, command, location)
  const args: Pick<ReadArguments, 'reads' | 'runs'> | string | undefined = isVersionQuery(program, given)
    ? { reads: [] }
    : readArguments(program.reads, given)
  if (distrust !== undefined && typeof args !== 'object') return refused(distrust)
  if (args === undefined) return { table: 'none', effects: known() }
  if (typeof args === 'string') return refused(`${name}: ${args}`)
  const { reads, runs } = args
  const where = locator(command.cwd, location)
  const deep = isDeep(program, given) && { isDeep: true }
  const effects = reads
    .filter((path) => path !== '-')
    .map((path): EffectFact => ({ effect: 'fs.read', ...where(path), ...deep }))
  if (distrust !== undefined) return { table: 'refuses', why: distrust, effects: [...effects, { effect: 'unknown' }] }
  return { table: 'passes', effects, ...(runs && { runs }) }
}

/** The program's name in the list; undefined for a program outside the system's folders. */
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

function isVersionQuery(
  { reads, version = reads ? '--version --help' : '' }: Program,
  given: readonly Word[],
): boolean {
  const [only] = given
  return given.length === 1 && !only!.isGlob && version.split(' ').includes(only!.text)
}

/** Whether it reads everything in a folder. */
function isDeep({ isDeep: deep }: Program, given: readonly Word[]): boolean {
  return deep instanceof RegExp ? given.some(({ text }) => deep.test(text)) : deep === true
}

function executed({ words, via }: ReadCommand): EffectFact[] {
  const names = [...via.map((wrapper) => wrapper.split(' ')[0]!), ...words.slice(0, 1)]
  return names.map((name) => ({ effect: 'exec', target: name.slice(name.lastIndexOf('/') + 1) }))
}

/** Programs that obey files of the project, some of which may lie in any parent folder. */
function whyUntrusted(
  name: string,
  { obeys }: Program,
  { words, cwd }: ReadCommand,
  location: ShellLocation,
): string | undefined {
  const isVersion = /^(--version|-v|version)$/.test(words.slice(1).join(' '))
  if (obeys === undefined || (isVersion && obeys !== 'toolchain')) return undefined
  const what = obeys === 'repository' ? 'repository' : 'project'
  // A rule for `npm test` means the project's scripts; of the other programs people expect that they are read-only.
  const isTest = name === 'npm' && /^(test|t|tst)$/.test(words[1] ?? '')
  if (!location.isTrusted && !isTest)
    return `this ${what} is not trusted: its configuration can make ${name} run programs`
  if (locate('.', cwd, location).target === '.') return undefined
  return `another ${what} than that of the workspace may lie here: its configuration can make ${name} run programs`
}

function kindOf(command: ReadCommand, table: CommandFacts['table']): string | undefined {
  const { words, globs, redirects, env, via, isNested } = command
  const name = programOf(command)
  const isPlain = redirects.length === 0 && Object.keys(env).length === 0 && via.length === 0 && !isNested
  if (name === undefined || !isPlain) return undefined
  const { changes, reads } = programNamed(name)
  // A program without a table passes only because it was asked for its version.
  const isRead = table === 'passes' && reads !== undefined
  const isChange = globs.length === 0 && typeof readArguments(changes, wordsOf(command)) === 'object'
  if (!isRead && !isChange) return undefined
  return name === 'git' ? `git ${gitVerb(words.slice(1)).verb}` : name
}

/** The effects of a command that no table passed: what it reads and writes, whether it sends. `unknown` if there may be more. */
function effectsOf(program: Program, { words, cwd, env }: ReadCommand, location: ShellLocation): EffectFact[] {
  const texts = words.slice(1)
  const where = locator(cwd, location)
  const { opens = lookLikeFiles, writes, sends, hosts = hostsIn, startsNothing } = program
  const written = writes?.(texts)
  const isSending = sends?.(texts) ?? false
  const effects: EffectFact[] = [...new Set(opens(texts))].map((path) => ({ effect: 'fs.read', ...where(path) }))
  for (const path of new Set(written))
    effects.push({ effect: 'fs.write', ...where(path), ...(isPattern(path) && { isOutside: true }) })
  if (written?.length === 0) effects.push({ effect: 'fs.write', isOutside: true })
  // A proxy of the environment is asked in place of every host.
  const proxied = Object.keys(env).some((name) => /proxy$/i.test(name)) ? [undefined] : []
  if (isSending)
    for (const target of new Set([...hosts(texts), ...proxied]))
      effects.push({ effect: 'net', ...(target !== undefined && { target }) })
  if (!(written || isSending) || !startsNothing) effects.push({ effect: 'unknown' })
  return effects
}

/**
 * What a command is known to do in a sandbox that can change and reach nothing. `reads`: it shows what it reads. `checks`:
 * it also runs code of the project or the line. Patterns, variables and configuration files do not matter there: at worst
 * they make it fail.
 */
type UseInside = 'reads' | 'checks'

/** The use of a command in such a sandbox; undefined if it is not known. The commands that it runs are judged by themselves. */
function useInside(command: ReadCommand, program: string | undefined): UseInside | undefined {
  const { words, env, via } = command
  const texts = words.slice(1)
  if (via.some((wrapper) => !starters.test(wrapper))) return undefined
  if (words.length === 0) return areOwnNames(Object.keys(env)) ? 'reads' : undefined
  const check = program ?? localProgram.exec(words[0]!)?.[1]
  if (check !== undefined && isCheck(check, texts)) return 'checks'
  if (program === undefined || environmentProblem({ env, via: [] }) !== undefined) return undefined
  if (isReadingBuiltin(program, texts) || isStarter(words) || (program === 'git' && isGitReading(texts))) return 'reads'
  const { neutral, reads, version = '' } = programNamed(program)
  const given = inFolder(program, texts).map((text): Word => ({ text, isGlob: false }))
  if (texts.length === 1 && version.split(' ').includes(texts[0]!)) return 'reads'
  if (typeof readArguments(neutral, given) === 'object') return 'reads'
  const isScript = program === 'npm' && /^t/.test(texts[0] ?? '')
  if (typeof readArguments(reads, given) === 'object' && !isScript) return 'reads'
  return texts.join() === '--version' ? 'checks' : undefined
}

/** Programs that run others and do nothing else. */
const starters = /^(env|nice|ionice|timeout|stdbuf|time|command|xargs|find|fd|sh|bash|dash|npx|npm|pnpm)$/

/** Whether it runs other commands, which are judged by themselves: `xargs grep x`, `sh -c 'ls'`, `npx tsc`. */
function isStarter([program = '', first = '', ...rest]: readonly string[]): boolean {
  if (/^p?npm$/.test(program) && first !== 'exec') return false
  if (/^(ba|da)?sh$/.test(program) && (!/^-[lc]*c$/.test(first) || rest.length !== 1)) return false
  return program !== 'env' && starters.test(program) && unwrap([program, first, ...rest], () => false) !== undefined
}

/** Another folder is one more file to read, and judged as such. */
const inFolder = (program: string, texts: readonly string[]): readonly string[] =>
  program === 'git' && texts[0] === '-C' ? texts.slice(2) : texts

/** A program that the project installed. It is found by its name, which says what people mean by it. */
const localProgram = /^(?:\.\/)?(?:node_modules\/\.bin|\.?venv\/bin)\/([\w.-]+)$/

/** Names in lower case belong to the line: programs obey variables in upper case, such as PATH. */
const areOwnNames = (names: readonly string[]): boolean => names.every((name) => /^[a-z_][a-z0-9_]*$/.test(name))

/** Built-ins that change nothing but the variables and the course of the line. */
function isReadingBuiltin(program: string, words: readonly string[]): boolean {
  if (program === 'read') return areOwnNames(words.filter((word) => !/^-[rs]*$/.test(word)))
  if (program === 'set') return words.every((word) => /^[-+][eux]*o?$|^(pipefail|errexit|nounset)$/.test(word))
  if (program === 'command') return /^-[vV]$/.test(words[0] ?? '')
  return /^(type|exit|return|break|continue|shift|wait)$/.test(program)
}
