import type { DecidedBy, Effect, Verdict } from '../../core/authority.ts'
import type { Confinement, SandboxSupport } from '../../core/execution.ts'
import { shellFacts } from '../../shell/shell-facts.ts'
import type { ShellLocation } from '../../shell/shell-location.ts'
import { type ReadLine, withReader } from '../../shell/shell-reader.ts'
import { decide } from '../decide.ts'
import type { DecisionContext } from '../decision-context.ts'
import { factsOf, type JudgedCall, shellCall } from '../judged-call.ts'
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
  /** What its commands could reach; null if it runs none, or there is no sandbox for them. */
  readonly confinement: Confinement | 'outside' | null
}

/** Explains the decision about a call. */
export function explain(call: JudgedCall, context: DecisionContext): Explanation {
  const { verdict, by, rule = null, why, confinement = null } = decide(call, context)
  const effects = [...new Set(factsOf(call).map(({ effect }) => effect))].sort()
  return { verdict, by, rule, why, effects, confinement }
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
    /** The sandboxes in which it could run. Default: none. */
    readonly sandbox?: SandboxSupport
  },
): Promise<Explanation> {
  return withReader((read) => explainLine(command, options, read))
}

/** The same with a reader that serves many lines. */
export async function explainLine(
  command: string,
  { layers, location, own = [], sandbox }: Parameters<typeof explainCommand>[1],
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
    own,
    ...(sandbox && { sandbox }),
  })
}
