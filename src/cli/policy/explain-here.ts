import { placementText } from '../../authority/confinement.ts'
import { type Explanation, explainCommand } from '../../authority/rules/explain.ts'
import { loadRulesFile } from '../../authority/rules/load-settings.ts'
import type { SecurityMode, SettingsLayers } from '../../authority/rules/settings.ts'
import { enterProject } from '../../authority/trust/enter-project.ts'
import { createTrustList } from '../../authority/trust/trust-list.ts'
import { CodedError } from '../../core/errors.ts'
import type { SandboxSupport } from '../../core/execution.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { UsageError } from '../cli-error.ts'
import { type Config, loadConfig } from '../config/config.ts'
import type { Io } from '../io.ts'
import { sandboxHere } from './sandbox-here.ts'

interface ExplainOptions {
  /** A file of rules to use instead of the settings. */
  readonly rules?: string
  /** Instead of the mode of the settings. */
  readonly mode?: SecurityMode
  /** Rules of flags. */
  readonly allow?: readonly string[]
  readonly deny?: readonly string[]
}

/** How a shell line would be decided in this folder. Nothing runs, except for the trial of the sandbox. */
export async function explainHere(
  command: string,
  { cwd, home, userHome }: Io,
  { rules, mode, allow, deny }: ExplainOptions,
): Promise<{ readonly explanation: Explanation; readonly sandbox: SandboxSupport; readonly config: Config }> {
  // As in a run: a file that changed since it was trusted is not used.
  const project = await enterProject(cwd, { list: createTrustList({ folder: home }) })
  project.dispose()
  const { mayRead } = project
  const loaded = rules === undefined ? await loadConfig({ home, projectRoot: cwd, mayRead }) : undefined
  const given: SettingsLayers = loaded?.layers ?? { launch: await loadRulesFile(rules!).catch(asUsageError) }
  const flags = { ...(mode && { mode }), ...(allow && { allow }), ...(deny && { deny }) }
  const layers = { ...given, launch: { ...given.launch, ...flags } }
  const sandbox = await sandboxHere(cwd, loaded?.config.sandbox)
  const location = { root: cwd, home: userHome, isTrusted: project.isTrusted() }
  const explanation = await explainCommand(command, { layers, location, own: [home], sandbox })
  return { explanation, sandbox, config: loaded?.config ?? {} }
}

/** The decision in words, for a person. */
export function explanationLines({ explanation, sandbox }: Awaited<ReturnType<typeof explainHere>>): readonly string[] {
  const { verdict, by, why, effects, confinement } = explanation
  const missing = sandbox.why ?? 'there is none for it'
  const where = confinement === null ? `${placementText('outside')}: ${missing}` : placementText(confinement)
  return [
    fullyVisible(`${verdict} (${by}): ${why}`),
    `effects: ${effects.join(', ') || 'none'}`,
    ...(verdict === 'deny' ? [] : [fullyVisible(`commands run: ${where}`)]),
  ]
}

/** Rules that cannot be read are a usage error; rules that fail their own examples are a failure. */
export async function asUsageError(error: unknown): Promise<never> {
  const isFinding = error instanceof CodedError && error.code === 'RuleTestFailed'
  if (!(error instanceof CodedError) || isFinding) throw error
  throw new UsageError(error.sentence, { cause: error })
}
