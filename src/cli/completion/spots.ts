import type { Command, Flags } from '../command.ts'
import { helpFlag } from '../parse.ts'

/** A place on the command line, by the commands before it, and what may come there. */
export interface Spot {
  /** `sessions list`; empty for `libero` itself. */
  readonly path: string
  readonly commands: readonly Offer[]
  readonly flags: readonly FlagOffer[]
  /** What words of its own are. */
  readonly words: Value
}

/** A word that may come, and what it is for. */
export interface Offer {
  readonly name: string
  readonly says: string
}

/** A flag that may come, and what follows it. */
export interface FlagOffer extends Offer {
  /** With its dash. */
  readonly short?: string
  /** Absent for a switch. */
  readonly value?: Value
  /** The next word may be its value, or something else. */
  readonly isOptional?: true
}

/** What a value can be: something on the disk, one of a few words, or whatever one likes. */
export type Value = 'files' | 'folders' | 'anything' | readonly string[]

/** Every place there is, from the commands themselves, outer ones first. A line without a command is one for `run`. */
export function spotsOf(commands: readonly Command[]): readonly Spot[] {
  const run = commands.find(({ name }) => name === 'run')
  const root: Spot = {
    path: '',
    commands: commands.map(offerOf),
    flags: [...flagsOf(run?.flags ?? {}), { name: '--version', short: '-v', says: 'Show the version' }],
    words: 'anything',
  }
  return [root, ...commands.flatMap((command) => spotsBelow(command, ''))]
}

function spotsBelow(command: Command, above: string): Spot[] {
  const path = above === '' ? command.name : `${above} ${command.name}`
  const own = command.commands ?? []
  const standard = own.find(({ name }) => name === command.defaultCommand)
  const flags = { ...standard?.flags, ...command.flags }
  const words = wordsOf(command.words ?? '')
  return [
    { path, commands: own.map(offerOf), flags: flagsOf(flags), words },
    ...own.flatMap((one) => spotsBelow(one, path)),
  ]
}

const offerOf = ({ name, summary }: Command): Offer => ({ name, says: summary })

function flagsOf(flags: Flags): FlagOffer[] {
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

/** From the usage line: `<bash|zsh|fish>`, `[file]`, `<id> [file]`. */
function wordsOf(usage: string): Value {
  const [, choices] = /^[<[]([\w-]+(?:\|[\w-]+)+)[>\]]/.exec(usage) ?? []
  if (choices !== undefined) return choices.split('|')
  if (/\b(file|path)s?\b/.test(usage)) return 'files'
  return /\bfolder\b/.test(usage) ? 'folders' : 'anything'
}
