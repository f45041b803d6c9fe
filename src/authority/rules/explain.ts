import type { DecidedBy, Effect, Verdict } from '../../core/authority.ts'
import { type DecisionContext, decide } from '../decide.ts'
import { factsOf, type JudgedCall, shellCall } from '../judged-call.ts'
import { shellFacts } from '../shell/shell-facts.ts'
import type { ShellLocation } from '../shell/shell-location.ts'
import { type ReadLine, withReader } from '../shell/with-reader.ts'
import { patternsIn } from './patterns.ts'
import { createProtection } from './protected-paths.ts'
import { resolveSettings, type SettingsLayers } from './settings.ts'

/** What would be decided, and why: exactly what `policy explain --json` prints. */
export interface Explanation {
  readonly verdict: Verdict
  readonly by: DecidedBy
  readonly rule: string | null
  readonly why: string
  /** Each once, sorted. */
  readonly effects: readonly Effect[]
}

/** What a decision would be and what it was based on; decides nothing. */
export function explain(call: JudgedCall, context: DecisionContext): Explanation {
  const { verdict, by, rule = null, why } = decide(call, context)
  return { verdict, by, rule, why, effects: [...new Set(factsOf(call).map(({ effect }) => effect))].sort() }
}

export interface ExplainOptions {
  /** The rules to judge under; those of a rules file are a launch's. */
  readonly layers: SettingsLayers
  readonly location: ShellLocation
  /** Such as `createShellReader().read`, for many lines. Default: one of its own. */
  readonly read?: ReadLine
  /** This program's own folders; see `createProtection`. */
  readonly own?: readonly string[]
}

/** The same for a shell line, as if the shell tool were asked to run it. Nothing runs. */
export async function explainCommand(
  command: string,
  { layers, location, read, own = [] }: ExplainOptions,
): Promise<Explanation> {
  const { mode, rules, tools } = resolveSettings(layers, location.home === undefined ? {} : { home: location.home })
  const shell = shellFacts(await withReader(read, async (one) => one(command)), location)
  const call = shellCall(command, shell)
  return explain(call, {
    mode,
    rules,
    root: location.root,
    patterns: await patternsIn(call, tools.shell ?? {}),
    protect: createProtection({ ...location, own }),
  })
}
