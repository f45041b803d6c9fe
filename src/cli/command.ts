import type { Io } from './io.ts'

/** A flag as it is parsed, shown in the help, completed by shells and written into docs/cli.md. */
export interface Flag {
  /** `optional` takes the next word only where it can be meant: neither a flag nor a sentence. */
  readonly type: 'boolean' | 'string' | 'optional'
  readonly short?: string
  /** May be given several times. */
  readonly multiple?: true
  /** What the value is, as the help calls it: `file`, `id`. */
  readonly value?: string
  /** The only values there are. */
  readonly choices?: readonly string[]
  /** It is a whole number of at least so much. */
  readonly min?: number
  /** One sentence without a full stop. */
  readonly says: string
}

export type Flags = Readonly<Record<string, Flag>>

/** What was given; an `optional` flag without a value is `true`. */
export type Values<F extends Flags> = {
  readonly [Name in keyof F]?: F[Name] extends { multiple: true } ? readonly string[] : ValueOf<F[Name]>
}

type ValueOf<F extends Flag> = F['type'] extends 'boolean'
  ? boolean
  : F extends { choices: readonly (infer Choice)[] }
    ? Choice
    : F['type'] extends 'optional'
      ? string | true
      : string

export interface ParsedArgs<F extends Flags = Flags> {
  readonly values: Values<F>
  readonly words: readonly string[]
}

/** One command: what the help says of it, and what it does. Heavy things are imported inside `run`. */
export interface Command<F extends Flags = Flags> {
  readonly name: string
  /** One line in the list of commands, without a full stop. */
  readonly summary: string
  /** What the words after it are, as the usage line shows them: `[task]`, `<id> [file]`. */
  readonly words?: string
  /** At most so many words; default as many as one likes, 0 where `words` is absent. */
  readonly maxWords?: number
  /** Further paragraphs of the help. */
  readonly details?: readonly string[]
  readonly flags?: F
  readonly examples?: readonly Example[]
  /** A mistake in how it was called prints its help too. */
  readonly helpOnUsageError?: true
  /** Commands of its own: `libero sessions list`. */
  readonly commands?: readonly Command[]
  /** Which of them it is where none is named. */
  readonly defaultCommand?: string
  /** Returns the exit code. Throws `CliError` and `UsageError` for people; anything else is named by `explainFailure`. */
  run?(given: ParsedArgs<F>, io: Io): Promise<number>
}

interface Example {
  readonly line: string
  readonly says: string
}

/** Says of an object that it is a command, and lets TypeScript read its flags. */
export function defineCommand<const F extends Flags>(command: Command<F>): Command {
  return command as unknown as Command
}
