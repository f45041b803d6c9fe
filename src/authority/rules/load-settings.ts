import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { CodedError, messageOf } from '../../core/errors.ts'
import { codeOf } from '../../platform/files.ts'
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
    throw refused(path, error.message.slice(`${error.class}/${error.code}: `.length), error.code)
  }
}

const mostBytes = 1_000_000

/** Undefined when there is no such file. A link could make the settings of one place those of another. */
async function readBounded(path: string): Promise<string | undefined> {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants
  const handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((error: unknown) => {
    const code = codeOf(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    if (code === 'ELOOP') throw refused(path, 'it is a link; put the file itself there', 'InvalidSettingsFile')
    throw refused(path, messageOf(error), 'InvalidSettingsFile')
  })
  if (!handle) return undefined
  try {
    const info = await handle.stat()
    if (!info.isFile()) throw refused(path, 'it is not a regular file', 'InvalidSettingsFile')
    const buffer = Buffer.alloc(mostBytes + 1)
    let length = 0
    for (let read = 1; read > 0 && length < buffer.length; length += read)
      read = (await handle.read(buffer, length, buffer.length - length)).bytesRead
    if (length > mostBytes) throw refused(path, `it has more than ${mostBytes} bytes`, 'InvalidSettingsFile')
    return textOf(buffer.subarray(0, length), path)
  } finally {
    await handle.close()
  }
}

/** A rule with another letter in it would be another rule. */
function textOf(bytes: Uint8Array, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw refused(path, 'it is not UTF-8; save it as that', 'InvalidSettingsFile')
  }
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
