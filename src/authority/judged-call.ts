import type { Effect, ToolOrigin } from '../core/authority.ts'
import type { ReadCommand } from './shell/reading.ts'

/** A call with all facts a decision may depend on. Frozen: what is judged is what runs. */
export interface JudgedCall {
  readonly tool: string
  readonly origin: ToolOrigin
  /** Whether the call needs a decision. Always true for tools of a project or a server. */
  readonly gated: boolean
  readonly input: Readonly<Record<string, unknown>>
  /** The key of a grant, together with tool and origin. */
  readonly key: string
  readonly effects: readonly EffectFact[]
  /** Only for tools that run a shell line. */
  readonly shell?: ShellFacts
  /** The tool's current description, if its definition changed since it was accepted. */
  readonly changedDescription?: string
  /** SHA-256 over tool, origin, arguments, directory and kind of execution context. */
  readonly digest: string
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

/** The effects of a call and of each command of its line, declared by the tool or not. */
export function factsOf({ effects, shell }: Pick<JudgedCall, 'effects' | 'shell'>): readonly EffectFact[] {
  return shell ? [...effects, ...shell.commands.flatMap((command) => command.effects)] : effects
}

/** A hypothetical call of the shell tool, to find out how it would be decided. */
export function shellCall(command: string, shell: ShellFacts): JudgedCall {
  const effects: EffectFact[] = [{ effect: 'exec' }, ...shell.commands.flatMap((facts) => facts.effects)]
  const input = { command }
  return { tool: 'shell', origin: { layer: 'host' }, gated: true, input, key: command, effects, shell, digest: '' }
}

/** A parsed shell line with the facts about each command. */
export interface ShellFacts {
  readonly isWhole: boolean
  readonly obstacles: readonly string[]
  readonly commands: readonly CommandFacts[]
  /** All words of the line, if it could not be parsed whole. */
  readonly words: readonly string[]
  /** The irreparable damage it could do, in words: "removes the home folder". Needs an approval in every mode. */
  readonly catastrophe?: string
}

/** What the flag tables know about one command. */
export interface CommandFacts {
  readonly command: ReadCommand
  /** `neutral`: needs no permission (`true`, `pwd`, `cd src`). `passes`/`refuses`: by its flag table. `none`: no table. */
  readonly table: 'neutral' | 'passes' | 'refuses' | 'none'
  /** Why the table refuses: the word and what it can do. */
  readonly why?: string
  readonly effects: readonly EffectFact[]
  /** The command writes, runs and sends nothing. `plan` allows it. */
  readonly isReadOnly: boolean
  /** Whether a grant may outlive this call. Never for shells, interpreters, package runners, `sudo` and the like. */
  readonly mayRemember: boolean
}
