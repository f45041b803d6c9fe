import { type Directories, directoriesAfterCd } from './directories.ts'
import { candidateWords } from './loose-words.ts'
import type { ReadCommand } from './reading.ts'
import { mostWrappers, stateChangingBuiltins } from './tables/wrappers.ts'
import { unwrap } from './unwrap.ts'

/** Receives what a line contains, in the order of its text. */
export interface Findings {
  command(command: ReadCommand): void
  obstacle(name: string): void
  /** A part that may contain commands which were not found. */
  unread(text: string): void
}

/** The state at a position of a line. */
export interface Position {
  /** Changed by `cd`; a subshell has its own. */
  readonly shell: { directories: Directories }
  readonly isNested: boolean
  /** The programs that run the line, if it is inside another one: `sh -c '…'`. */
  readonly via: readonly string[]
}

/** A simple command as written, before wrappers are removed. */
interface FoundCommand extends Pick<ReadCommand, 'words' | 'globs' | 'env' | 'redirects'> {
  /** The words that the shell may change: patterns and expansions. */
  readonly unsure: readonly number[]
}

/** Reports a command and everything it runs. Shell lines among its words go to `readLine`. */
export function reportCommand(found: FoundCommand, around: CommandContext, via = around.position.via): void {
  const { words, globs, unsure } = found
  const { findings } = around
  const [program = ''] = words
  if (stateChangingBuiltins.has(program)) findings.obstacle(`a built-in that changes what follows, ${program}`)
  if (unsure.includes(0) && !globs.includes(0)) {
    findings.obstacle('a program whose name only the shell knows')
    tell(found, around, via)
    const names = new Set([program, ...filled(program)].flatMap(candidateWords))
    for (const name of names) tell({ ...found, words: [name, ...words.slice(1)] }, around, via)
    // The name may expand to nothing; then the next word is the program.
    if (/^[$`]/.test(program)) tellRest(found, around, via)
    return
  }
  const wrapped = unwrap(words, (index) => unsure.includes(index))
  if (!wrapped) {
    tell(found, around, via)
    return
  }

  const within = [...via, program]
  if (via.length >= mostWrappers) {
    findings.obstacle(`more than ${mostWrappers} programs that run another`)
    tell(found, around, via)
    tellRest(found, around, within)
    for (const line of wrapped.lines) findings.unread(line)
    return
  }
  const [[from, to] = [0, 0]] = wrapped.inner
  if (wrapped.isTransparent) {
    reportCommand({ ...slice(found, from, to), env: found.env, redirects: found.redirects }, around, within)
    return
  }
  findings.obstacle(`a program that runs another, ${program}`)
  tell(found, around, via)
  // A guess already contains all candidates; unwrapping each would only repeat them.
  const tellInner = wrapped.isGuess ? tell : reportCommand
  for (const [start, end] of wrapped.inner) tellInner(slice(found, start, end), around, within)
  for (const line of wrapped.lines) around.readLine(line, within)
}

/** The position of a command and the receiver of findings. */
interface CommandContext {
  readonly position: Position
  readonly findings: Findings
  readonly readLine: (text: string, via: readonly string[]) => void
}

/** Applies the command's effect on the directory. */
export function applyDirectoryChange({ shell }: Position, { words, unsure, env }: FoundCommand): void {
  const [program = ''] = words
  const isPlain = unsure.length === 0 && Object.keys(env).length === 0
  if (program === 'cd' && isPlain) shell.directories = directoriesAfterCd(shell.directories, words)
  else if (unsure.includes(0) || movers.has(program)) shell.directories = undefined
  else if (runsBuiltins.has(program) && words.some((word) => movers.has(word))) shell.directories = undefined
}

const movers = new Set(['cd', 'pushd', 'popd', 'eval', 'source', '.'])
const runsBuiltins = new Set(['command', 'builtin'])

/** The names a word may have if its expansions are empty or one of the words in braces: `r$@m`, `r{m,}`. */
function filled(name: string): string[] {
  if (name.length > longestName) return []
  const bare = [/\$\{[^}]*\}|\$\([^)]*\)|`[^`]*`|\$(?:\w+|\W)/g, /\$\{[^}]*\}|\$\([^)]*\)|`[^`]*`|\$./g]
  const [all = '', group = ''] = /\{([^{}]*,[^{}]*)\}/.exec(name) ?? []
  return [
    ...bare.map((expansions) => name.replace(expansions, '')),
    ...(all === '' ? [] : group.split(',').map((part) => name.replace(all, () => part))),
  ]
}

/** Longer names are not examined: that takes quadratic time. */
const longestName = 256

/** Reports each word but the first as a possible program. */
function tellRest(found: FoundCommand, around: CommandContext, via: readonly string[]): void {
  const { length } = found.words
  for (let from = 1; from < length; from++) tell(slice(found, from, length), around, via)
}

/** Reports a command once per directory it may run in. */
function tell(
  { unsure: _, ...found }: FoundCommand,
  { position, findings }: CommandContext,
  via: readonly string[],
): void {
  if (found.globs.includes(0)) findings.obstacle('a program named by a pattern')
  const { shell, isNested } = position
  for (const cwd of shell.directories ?? [undefined]) findings.command({ ...found, cwd, via, isNested })
}

function slice({ words, globs, unsure }: FoundCommand, from: number, to: number): FoundCommand {
  const inside = (indices: readonly number[]): number[] =>
    indices.filter((index) => index >= from && index < to).map((index) => index - from)
  return { words: words.slice(from, to), globs: inside(globs), unsure: inside(unsure), env: {}, redirects: [] }
}
