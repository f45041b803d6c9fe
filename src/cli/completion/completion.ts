import { didYouMean } from '../../core/nearest.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { exitCodes, UsageError } from '../cli-error.ts'
import type { Command, Flags } from '../command.ts'
import type { Io } from '../io.ts'
import { helpFlag } from '../parse.ts'
import { bashScript } from './bash.ts'
import { fishScript } from './fish.ts'
import { zshScript } from './zsh.ts'

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript }

/** `libero completion <shell>`. */
export async function printCompletion(
  shell: string | undefined,
  all: () => Promise<readonly Command[]>,
  io: Io,
): Promise<number> {
  const names = Object.keys(scripts)
  if (shell === undefined) throw new UsageError(`name a shell, one of ${names.join(', ')}`)
  if (!Object.hasOwn(scripts, shell))
    throw new UsageError(
      `there are no completions for "${fullyVisible(shell)}"${didYouMean(shell, names) || `; there are for ${names.join(', ')}`}`,
    )
  io.out(scripts[shell as keyof typeof scripts](completionContexts(await all())))
  return exitCodes.done
}

/** What can follow the commands typed so far. */
export interface CompletionContext {
  /** The commands typed so far: `sessions list`; empty for `libero` itself. */
  readonly path: string
  readonly commands: readonly Suggestion[]
  readonly flags: readonly FlagSuggestion[]
  /** What its arguments are. */
  readonly words: Value
}

/** A word to suggest, and its description. */
export interface Suggestion {
  readonly name: string
  readonly says: string
}

/** A flag to suggest, and what its value is. */
export interface FlagSuggestion extends Suggestion {
  /** With its dash. */
  readonly short?: string
  /** Absent for a switch. */
  readonly value?: Value
  /** The next word may be its value or another argument. */
  readonly isOptional?: true
}

/** How to complete a value: as a path, as one of some words, or not at all. */
export type Value = 'files' | 'folders' | 'anything' | readonly string[]

/** All contexts, outer commands first. Without a command, the flags are those of `run`. */
export function completionContexts(commands: readonly Command[]): readonly CompletionContext[] {
  const run = commands.find(({ name }) => name === 'run')
  const root: CompletionContext = {
    path: '',
    commands: commands.map(suggestionOf),
    flags: [...flagsOf(run?.flags ?? {}), { name: '--version', short: '-v', says: 'Show the version' }],
    words: 'anything',
  }
  return [root, ...commands.flatMap((command) => contextsBelow(command, ''))]
}

function contextsBelow(command: Command, above: string): CompletionContext[] {
  const path = above === '' ? command.name : `${above} ${command.name}`
  const own = command.commands ?? []
  const standard = own.find(({ name }) => name === command.defaultCommand)
  const flags = { ...standard?.flags, ...command.flags }
  const words = wordsOf(command.words ?? '')
  return [
    { path, commands: own.map(suggestionOf), flags: flagsOf(flags), words },
    ...own.flatMap((one) => contextsBelow(one, path)),
  ]
}

const suggestionOf = ({ name, summary }: Command): Suggestion => ({ name, says: summary })

function flagsOf(flags: Flags): FlagSuggestion[] {
  const all: Flags = { ...flags, help: helpFlag }
  return Object.entries(all).map(([name, { type, short, says, choices, value }]) => ({
    name: `--${name}`,
    says,
    ...(short && { short: `-${short}` }),
    ...(type !== 'boolean' && { value: choices ?? valueOfName(value) }),
    ...(type === 'optional' && { isOptional: true as const }),
  }))
}

function valueOfName(name: string | undefined): Value {
  if (name === 'file' || name === 'path') return 'files'
  return name === 'folder' ? 'folders' : 'anything'
}

/** Read from the usage line: `<bash|zsh|fish>`, `[file]`, `<id> [file]`. */
function wordsOf(usage: string): Value {
  const [, choices] = /^[<[]([\w-]+(?:\|[\w-]+)+)[>\]]/.exec(usage) ?? []
  if (choices !== undefined) return choices.split('|')
  if (/\b(file|path)s?\b/.test(usage)) return 'files'
  return /\bfolder\b/.test(usage) ? 'folders' : 'anything'
}
