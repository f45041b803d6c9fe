import type { ToolOrigin } from '../core/authority.ts'
import type { EffectFact, ShellFacts } from '../shell/shell-facts.ts'
import { whyNotStrict } from '../shell/strict-table.ts'

export type { CommandFacts, EffectFact, ShellFacts } from '../shell/shell-facts.ts'

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
  /** The directory at the start of the line, absolute. */
  readonly cwd?: string
  /** That directory is not the workspace itself. */
  readonly startsElsewhere?: true
  /** Whether the words of the line settle what it reads, so that no sandbox is needed; else why not. */
  readonly strict?: { readonly isStrict: boolean; readonly why?: string }
  /** It asks to run outside any sandbox. */
  readonly isOutside?: true
  /** It runs on after the call has its result. */
  readonly isBackground?: true
  /** The tool's current description, if its definition changed since it was accepted. */
  readonly changedDescription?: string
  /** SHA-256 over tool, origin, arguments, directory and kind of execution context. */
  readonly digest: string
}

/** The effects of a call and of each command of its line, declared by the tool or not. */
export function factsOf({ effects, shell }: Pick<JudgedCall, 'effects' | 'shell'>): readonly EffectFact[] {
  return shell ? [...effects, ...shell.commands.flatMap((command) => command.effects)] : effects
}

/** A line is strict unless `why` says why not. */
export function strictness(why: string | undefined): NonNullable<JudgedCall['strict']> {
  return why === undefined ? { isStrict: true } : { isStrict: false, why }
}

/** A hypothetical call of the shell tool, to find out how it would be decided. */
export function shellCall(command: string, shell: ShellFacts): JudgedCall {
  const effects: EffectFact[] = [{ effect: 'exec' }, ...shell.commands.flatMap((facts) => facts.effects)]
  const input = { command }
  const origin = { layer: 'host' } as const
  const strict = strictness(whyNotStrict(shell))
  return { tool: 'shell', origin, gated: true, input, key: command, effects, shell, strict, digest: '' }
}
