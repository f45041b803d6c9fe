import type { Io } from './io.ts'

/** A flag of a command, for the parser, the help, the shell completions and docs/cli.md. */
export interface Flag {
  /** `optional`: the value may be missing; the next word is the value unless it is a flag or has blanks. */
  readonly type: 'boolean' | 'string' | 'optional'
  readonly short?: string
  /** May be given several times. */
  readonly multiple?: true
  /** The placeholder of the value in the help: `file`, `id`. */
  readonly value?: string
  /** The allowed values. */
  readonly choices?: readonly string[]
  /** The value is a whole number of at least this. */
  readonly min?: number
  /** One sentence without a full stop. */
  readonly says: string
}

export type Flags = Readonly<Record<string, Flag>>

/** The values of parsed flags; an `optional` flag without a value is `true`. */
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

/** The arguments that a command passes to the function that does its work. */
export interface Args<V = object> {
  readonly values: V
  readonly words: readonly string[]
}

/** One command. Its dependencies are imported lazily, inside `run`. */
export interface Command<F extends Flags = Flags> {
  readonly name: string
  /** One line for the list of commands, without a full stop. */
  readonly summary: string
  /** Its arguments, as the usage line shows them: `[task]`, `<id> [file]`. */
  readonly words?: string
  /** The maximum number of arguments; default unlimited, 0 if `words` is absent. */
  readonly maxWords?: number
  /** Further paragraphs of the help. */
  readonly details?: readonly string[]
  readonly flags?: F
  readonly examples?: readonly Example[]
  /** A usage error prints the whole help. */
  readonly helpOnUsageError?: true
  /** Subcommands: `libero sessions list`. */
  readonly commands?: readonly Command[]
  /** The subcommand to run if none is named. */
  readonly defaultCommand?: string
  /** Returns the exit code. Throws `CliError` and `UsageError` with messages for people; `explainFailure` describes other errors. */
  run?(given: ParsedArgs<F>, io: Io): Promise<number>
}

interface Example {
  readonly line: string
  readonly says: string
}

/** Types `run` by the flags of the command. */
export function defineCommand<const F extends Flags>(command: Command<F>): Command
export function defineCommand(command: Command): Command {
  return command
}

/** The flag `--edits` of the commands that answer a call. */
export const editsFlag = {
  type: 'string',
  value: 'numbers',
  says: 'Allow only these edits of the call, such as 1,3; the others are denied, with the note',
} as const
