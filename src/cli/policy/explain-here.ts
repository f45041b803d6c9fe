import { placementText } from '../../authority/confinement.ts'
import { type Explanation, explainCommand } from '../../authority/rules/explain.ts'
import { checkRules, loadRulesFile } from '../../authority/rules/load-settings.ts'
import type { AuthoritySettings, SecurityMode, SettingsLayers } from '../../authority/rules/settings.ts'
import { enterProject } from '../../authority/trust/enter-project.ts'
import { createTrustList } from '../../authority/trust/trust-list.ts'
import { CodedError } from '../../core/errors.ts'
import type { SandboxSupport } from '../../core/execution.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import type { ShellLocation } from '../../shell/shell-location.ts'
import { UsageError } from '../cli-error.ts'
import { type Config, loadConfig } from '../config/config.ts'
import type { Io } from '../io.ts'
import { sandboxHere } from './sandbox-here.ts'

interface ExplainOptions {
  /** A file of rules, or rules, to use instead of the settings. */
  readonly rules?: string | AuthoritySettings
  /** Instead of the mode of the settings. */
  readonly mode?: SecurityMode
  /** Instead of that of the settings. */
  readonly sandbox?: Config['sandbox']
  /** Rules of flags. */
  readonly allow?: readonly string[]
  readonly deny?: readonly string[]
}

/** What decisions in a folder depend on. */
export interface RulesHere {
  readonly layers: SettingsLayers
  readonly location: ShellLocation
  readonly own: readonly string[]
  readonly sandbox: SandboxSupport
  readonly config: Config
}

/** The rules that count in this folder. Nothing runs, except for the trial of the sandbox. */
export async function rulesHere({ cwd, home, userHome }: Io, options: ExplainOptions): Promise<RulesHere> {
  const { rules, mode, sandbox, allow, deny } = options
  // As in a run: a file that changed since it was trusted is not used.
  const project = await enterProject(cwd, { list: createTrustList({ folder: home }) })
  project.dispose()
  const { mayRead } = project
  const loaded = rules === undefined ? await loadConfig({ home, projectRoot: cwd, mayRead }) : undefined
  const given: SettingsLayers = loaded?.layers ?? { launch: await rulesGiven(rules!).catch(asUsageError) }
  const flags = { ...(mode && { mode }), ...(allow && { allow }), ...(deny && { deny }) }
  return {
    layers: { ...given, launch: { ...given.launch, ...flags } },
    location: { root: cwd, home: userHome, isTrusted: project.isTrusted() },
    own: [home],
    sandbox: await sandboxHere(cwd, sandbox ?? loaded?.config.sandbox),
    config: loaded?.config ?? {},
  }
}

/** The rules of a file, or rules as data. Both are checked, and tested on their own examples. */
async function rulesGiven(rules: string | AuthoritySettings): Promise<AuthoritySettings> {
  return typeof rules === 'string' ? loadRulesFile(rules) : checkRules(rules, 'launch')
}

/** How a shell line would be decided in this folder. */
export async function explainHere(
  command: string,
  io: Io,
  options: ExplainOptions,
): Promise<{ readonly explanation: Explanation; readonly sandbox: SandboxSupport; readonly config: Config }> {
  const here = await rulesHere(io, options)
  return { explanation: await explainCommand(command, here), sandbox: here.sandbox, config: here.config }
}

/** The decision in words, for a person. */
export function explanationLines({ explanation, sandbox }: Awaited<ReturnType<typeof explainHere>>): readonly string[] {
  const { verdict, by, why, effects, confinement } = explanation
  const where = placeOf(confinement, sandbox)
  return [
    fullyVisible(`${verdict} (${by}): ${why}`),
    `effects: ${effects.join(', ') || 'none'}`,
    ...(verdict === 'deny' ? [] : [fullyVisible(`commands run: ${where}`)]),
  ]
}

/** Where commands would run, in words. */
export const placeOf = (
  confinement: Explanation['confinement'],
  { why = 'there is none for it' }: SandboxSupport,
): string => (confinement === null ? `${placementText('outside')}: ${why}` : placementText(confinement))

/** Rules that cannot be read are a usage error; rules that fail their own examples are a failure. */
export async function asUsageError(error: unknown): Promise<never> {
  const isFinding = error instanceof CodedError && error.code === 'RuleTestFailed'
  if (!(error instanceof CodedError) || isFinding) throw error
  throw new UsageError(error.sentence, { cause: error })
}
