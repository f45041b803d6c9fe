import type { Effect, ToolOrigin } from '../core/authority.ts'
import type { ReadCommand } from './shell/reading.ts'

/** Everything that a decision may depend on, put together before anybody decides. Frozen: what is judged is what runs. */
export interface JudgedCall {
  readonly tool: string
  readonly origin: ToolOrigin
  /** Whether the stack has a say. A tool of a project or of a server is gated whatever it says. */
  readonly gated: boolean
  readonly input: Readonly<Record<string, unknown>>
  /** What an approval is remembered under, together with tool and origin. */
  readonly key: string
  readonly effects: readonly EffectFact[]
  /** Only for tools that run a shell line. */
  readonly shell?: ShellFacts
  /** Only of a tool that is not what it was when it was accepted: what it says about itself now. */
  readonly changedDescription?: string
  /** SHA-256 over tool, origin, arguments, directory and place. */
  readonly digest: string
}

/** One thing a call does, and to what. */
export interface EffectFact {
  readonly effect: Effect
  /** A path relative to the workspace (`.` for itself) or absolute where it lies outside; a host; a program. */
  readonly target?: string
  /** Of a path: it lies outside the workspace. */
  readonly isOutside?: boolean
  /** Of a folder: all that is in it is read. */
  readonly isDeep?: boolean
  /** Nobody named it: a link leads there. */
  readonly isLinked?: boolean
}

/** What a call does, and what each command of its line does: that counts also where a tool does not declare it. */
export function factsOf({ effects, shell }: Pick<JudgedCall, 'effects' | 'shell'>): readonly EffectFact[] {
  return shell ? [...effects, ...shell.commands.flatMap((command) => command.effects)] : effects
}

/** A call of the shell tool that nobody made, to find out what would be decided about it. */
export function shellCall(command: string, shell: ShellFacts): JudgedCall {
  const effects: EffectFact[] = [{ effect: 'exec' }, ...shell.commands.flatMap((facts) => facts.effects)]
  const input = { command }
  return { tool: 'shell', origin: { layer: 'host' }, gated: true, input, key: command, effects, shell, digest: '' }
}

/** A shell line after it was read and each of its commands was looked up. */
export interface ShellFacts {
  readonly isWhole: boolean
  readonly obstacles: readonly string[]
  readonly commands: readonly CommandFacts[]
  /** Only where the line could not be read whole. */
  readonly words: readonly string[]
  /** What it can hurt beyond repair, in words: "removes the home folder". Asked about in every mode. */
  readonly catastrophe?: string
}

/** What the tables know of one command. */
export interface CommandFacts {
  readonly command: ReadCommand
  /** `neutral`: needs no permission (`true`, `pwd`, `cd src`); `passes`/`refuses`: what its flag table says; `none`: there is none. */
  readonly table: 'neutral' | 'passes' | 'refuses' | 'none'
  /** Why the table refuses: which word, and what it can do. */
  readonly why?: string
  readonly effects: readonly EffectFact[]
  /** It only looks: nothing is written, run or sent. What `plan` lets through. */
  readonly isReadOnly: boolean
  /** Whether an approval may be kept for longer than this once. Never for shells, interpreters, package runners, `sudo` and the like. */
  readonly mayRemember: boolean
}
