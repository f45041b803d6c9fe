import { join } from 'node:path'
import { CodedError, messageOf } from '../../core/errors.ts'
import { readSmallText } from '../../platform/read-small-text.ts'
import { checkSettings } from './check-settings.ts'
import { describeFailure, type FactsOfLine, testPolicy } from './policy-test.ts'
import type { RuleLayer } from './rule-entry.ts'
import { type AuthoritySettings, resolveSettings, type SettingsLayers } from './settings.ts'

export interface SettingsSources {
  /** The user's own folder, such as `~/.libero`. */
  readonly home?: string
  /** Absolute. Nothing in it is read unless it is trusted. */
  readonly projectRoot?: string
  readonly isTrusted?: boolean
  /** Reads a shell line, for rules that bring examples of commands. */
  readonly facts?: FactsOfLine
}

/** What the user and a trusted project have written down, in `authority.json`. One mistake refuses a file whole. */
export async function loadSettings(sources: SettingsSources): Promise<Pick<SettingsLayers, 'global' | 'project'>> {
  const { home, projectRoot, isTrusted = false, facts } = sources
  const global = home === undefined ? undefined : await loadIfThere(join(home, file), 'global', facts)
  const project =
    projectRoot === undefined || !isTrusted
      ? undefined
      : await loadIfThere(join(projectRoot, '.libero', file), 'project', facts)
  return { ...(global && { global }), ...(project && { project }) }
}

const file = 'authority.json'

/** One file of rules, such as `policy explain --rules` takes. */
export async function loadRulesFile(path: string, facts?: FactsOfLine): Promise<AuthoritySettings> {
  const settings = await loadIfThere(path, 'launch', facts)
  if (!settings) throw refused(path, 'there is no such file', 'InvalidSettingsFile')
  return settings
}

async function loadIfThere(
  path: string,
  layer: RuleLayer,
  facts: FactsOfLine | undefined,
): Promise<AuthoritySettings | undefined> {
  const text = await readBounded(path)
  if (text === undefined) return undefined
  const settings = parseJson(text, path)
  try {
    checkSettings(settings, layer)
    // As the only layer, for its rules and patterns; whether an allowlist has its mode depends on the others.
    resolveSettings({ [layer]: { ...settings, mode: 'allowlist' } })
    const failures = await testPolicy(settings, facts, layer)
    if (failures.length > 0) throw new CodedError('Validation/RuleTestFailed', failures.map(describeFailure).join('; '))
    return settings
  } catch (error) {
    // A list in a list in a list, and so on: what looks into it does not come back.
    if (error instanceof RangeError) throw refused(path, 'it is nested too deeply', 'InvalidSettingsFile')
    if (!(error instanceof CodedError)) throw error
    throw refused(path, error.sentence, error.code)
  }
}

const mostBytes = 1_000_000

function readBounded(path: string): Promise<string | undefined> {
  const refuse = (code: string, error: unknown): CodedError =>
    refused(path, problems[code] ?? messageOf(error), 'InvalidSettingsFile')
  return readSmallText(path, { mostBytes, links: 'refused', refuse })
}

const problems: Readonly<Record<string, string>> = {
  ELOOP: 'it is a link; put the file itself there',
  EISDIR: 'it is not a regular file',
  EFTYPE: 'it is not a regular file',
  EFBIG: `it has more than ${mostBytes} bytes`,
  EILSEQ: 'it is not UTF-8; save it as that',
}

function parseJson(text: string, path: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw refused(path, `it is not JSON: ${messageOf(error)}`, 'InvalidSettingsFile')
  }
}

function refused(path: string, why: string, code: string): CodedError {
  return new CodedError(`Validation/${code}`, `${path} is not used: ${why}`)
}
