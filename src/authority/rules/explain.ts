import type { DecidedBy, Effect, Verdict } from '../../core/authority.ts'
import type { Confinement, SandboxSupport } from '../../core/execution.ts'
import { effectsOf } from '../../core/prepared-call.ts'
import type { ToolDef } from '../../core/tool.ts'
import type { FileLocation } from '../../platform/files-of.ts'
import { shellFacts } from '../../shell/shell-facts.ts'
import { type ReadLine, withReader } from '../../shell/shell-reader.ts'
import { decide } from '../decide.ts'
import type { DecisionContext } from '../decision-context.ts'
import { factsOf, type JudgedCall, shellCall } from '../judged-call.ts'
import { prepareCall } from '../prepare-call.ts'
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
    readonly location: {
      /** The workspace, as an absolute POSIX path. */
      readonly root: string
      /** The directory at the start of the line, absolute. Default: the root. */
      readonly cwd?: string
      readonly home?: string
      readonly isTrusted: boolean
    }
    /** This program's own folders; see `createProtection`. */
    readonly own?: readonly string[]
    /** The sandboxes in which it could run. Default: none. */
    readonly sandbox?: SandboxSupport
  },
): Promise<Explanation> {
  return withReader((read) => explainLine(command, options, read))
}

type ExplainOptions = Parameters<typeof explainCommand>[1]

/** The same with a reader that serves many lines. */
export async function explainLine(command: string, options: ExplainOptions, read: ReadLine): Promise<Explanation> {
  return explainIn(shellCall(command, shellFacts(await read(command), options.location)), options)
}

/** Explains the decision about a call of any tool, and gives the key that its rules are matched with. Nothing runs. */
export async function explainCall(
  { tool, input }: { readonly tool: ToolDef; readonly input: Readonly<Record<string, unknown>> },
  options: ExplainOptions & {
    /** Where links of files that the tool touches are followed. Default: paths are judged by name. */
    readonly files?: FileLocation
  },
  read: ReadLine,
): Promise<Explanation & { readonly key: string }> {
  const { root, isTrusted } = options.location
  const { files } = options
  const sandbox = async (): Promise<SandboxSupport> => options.sandbox ?? { profiles: [] }
  const workspace = { root, isTrusted, sandbox, ...(files && { location: files }) }
  const call = await prepareCall({ tool, input, effects: effectsOf(tool, input) }, workspace, async (line) =>
    read(line),
  )
  return { ...(await explainIn(call, options)), key: call.key }
}

async function explainIn(
  call: JudgedCall,
  { layers, location, own = [], sandbox }: ExplainOptions,
): Promise<Explanation> {
  const { mode, rules, tools } = resolveSettings(layers, location.home === undefined ? {} : { home: location.home })
  return explain(call, {
    mode,
    rules,
    root: location.root,
    patterns: await patternsIn(call, tools[call.tool] ?? {}),
    protect: createProtection({ ...location, own }),
    own,
    ...(sandbox && { sandbox }),
  })
}
