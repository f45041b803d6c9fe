import type { DecidedBy, Effect, Verdict } from '../../core/authority.ts'
import { type DecisionContext, decide } from '../decide.ts'
import { factsOf, type JudgedCall, shellCall } from '../judged-call.ts'
import { shellFacts } from '../shell/shell-facts.ts'
import type { ShellLocation } from '../shell/shell-location.ts'
import { type ReadLine, withReader } from '../shell/with-reader.ts'
import { patternsIn } from './patterns.ts'
import { createProtection } from './protected-paths.ts'
import { resolveSettings, type SettingsLayers } from './settings.ts'

/** The decision about a call, with its reason, as `policy explain --json` prints it. */
export interface Explanation {
  readonly verdict: Verdict
  readonly by: DecidedBy
  readonly rule: string | null
  readonly why: string
  /** Each once, sorted. */
  readonly effects: readonly Effect[]
}

/** Explains the decision about a call. */
export function explain(call: JudgedCall, context: DecisionContext): Explanation {
  const { verdict, by, rule = null, why } = decide(call, context)
  return { verdict, by, rule, why, effects: [...new Set(factsOf(call).map(({ effect }) => effect))].sort() }
}

/** Explains the decision about a shell line. Nothing runs. */
export function explainCommand(
  command: string,
  options: {
    /** The rules to apply; those of a rules file belong to `launch`. */
    readonly layers: SettingsLayers
    readonly location: ShellLocation
    /** This program's own folders; see `createProtection`. */
    readonly own?: readonly string[]
  },
): Promise<Explanation> {
  return withReader((read) => explainLine(command, options, read))
}

/** The same with a reader that serves many lines. */
export async function explainLine(
  command: string,
  { layers, location, own = [] }: Parameters<typeof explainCommand>[1],
  read: ReadLine,
): Promise<Explanation> {
  const { mode, rules, tools } = resolveSettings(layers, location.home === undefined ? {} : { home: location.home })
  const shell = shellFacts(await read(command), location)
  const call = shellCall(command, shell)
  return explain(call, {
    mode,
    rules,
    root: location.root,
    patterns: await patternsIn(call, tools.shell ?? {}),
    protect: createProtection({ ...location, own }),
  })
}
