import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../core/errors.ts'
import { isRecord } from '../../core/is-record.ts'
import { parsedJson } from '../../core/plain-json.ts'
import { writeFileAtomic } from '../../platform/files.ts'
import { withLock } from '../../platform/lock.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { CliError, exitCodes, UsageError } from '../cli-error.ts'
import type { Io } from '../io.ts'
import { checkConfig } from './check-config.ts'
import type { Config } from './config.ts'
import { joinRules } from './config-rules.ts'
import { configFields } from './config-schema.ts'
import { readJson } from './read-config.ts'
import { entryWithoutSecrets, type NamedSetting, namedSetting, withoutSecrets } from './settings.ts'

/** `libero config set`: checks the whole file before it is written. */
export async function setSetting([name, ...words]: readonly string[], io: Io): Promise<number> {
  const setting = namedSetting(name)
  if (words.length === 0) throw new UsageError(`${name} needs a value: libero config set ${name} <value>`)
  const value = valueFrom(setting, words)
  await changeSettings([{ setting, value }], io)
  const shown = shownSetting(setting, value)
  io.err(`${fullyVisible(name!)} is now ${fullyVisible(JSON.stringify(shown))}`)
  return exitCodes.done
}

/** Changes settings together, or none if one is invalid. `null` removes a setting. */
export async function changeSettings(
  changes: readonly { readonly setting: NamedSetting; readonly value: unknown }[],
  io: Pick<Io, 'home'>,
): Promise<void> {
  const alone: Settings = {}
  for (const { setting, value } of changes) if (value !== null) setValue(alone, setting, value)
  checkConfig(alone, 'config set')
  await editConfig(io, async (settings, path) => {
    for (const { setting, value } of changes) setValue(settings, setting, value)
    checkConfig(settings, path)
    for (const { setting } of changes) await checkMeaning(setting, settings, { path, home: io.home })
    return true
  })
}

/** The value without secrets, for the screen. */
function shownSetting({ key, member }: NamedSetting, value: unknown): unknown {
  if (key !== 'mcpServers') return value
  return member === undefined ? withoutSecrets(key, value) : entryWithoutSecrets(value)
}

/** `libero config unset`: also removes an unknown key, which makes the file invalid. */
export async function unsetSetting(name: string | undefined, io: Io): Promise<number> {
  let isKnown = false
  await editConfig(io, async (settings) => {
    isKnown = name !== undefined && Object.hasOwn(settings, name)
    if (isKnown) return delete settings[name!]
    const { key, member } = namedSetting(name)
    const members = settings[key]
    isKnown = member !== undefined && isRecord(members) && Object.hasOwn(members, member)
    if (isKnown) delete (members as Record<string, unknown>)[member!]
    return isKnown
  })
  io.err(`${fullyVisible(name!)} ${isKnown ? 'is no longer set' : 'was not set'}`)
  return exitCodes.done
}

/** The content of the user's `config.json`. */
type Settings = Record<string, unknown>

/** Writes the settings that `edit` changed, if it returns true. If the file is a link, its target is written. */
export async function editConfig(
  io: Pick<Io, 'home'>,
  edit: (settings: Settings, path: string) => Promise<boolean>,
): Promise<void> {
  const named = join(io.home, 'config.json')
  const path = await realpath(named).catch(() => named)
  const work = async (): Promise<void> => {
    const settings = (await readJson(named, { links: 'followed' })) ?? {}
    if (!isRecord(settings)) checkConfig(settings, named)
    else if (await edit(settings, named)) await writeFileAtomic(path, `${JSON.stringify(settings, null, 2)}\n`)
  }
  await withLock(`${path}.lock`, work).catch((error: unknown) => {
    if (error instanceof CliError) throw error
    const said = error instanceof Error ? error.message : String(error)
    throw new CliError(`The setting was not changed: ${said}`, exitCodes.error, { cause: error })
  })
}

function setValue(settings: Settings, { key, member }: NamedSetting, value: unknown): void {
  const members = settings[key]
  if (value === null && member === undefined) delete settings[key]
  else if (value === null) isRecord(members) && delete members[member!]
  else if (member === undefined) settings[key] = value
  else settings[key] = { ...(isRecord(settings[key]) && settings[key]), [member]: value }
}

/** A text is taken literally, other values are JSON, and a list may be several words. */
function valueFrom({ key, member }: NamedSetting, words: readonly string[]): unknown {
  const { type, enum: choices } = member === undefined ? configFields[key] : { type: 'object', enum: undefined }
  const [first = ''] = words
  const json = words.length === 1 ? parsedJson(first) : undefined
  if (type === 'array') return Array.isArray(json) ? json : words
  if (words.length > 1) throw new UsageError(`${key} takes one value, got ${words.length} words; put it in quotes`)
  if (type === 'string' || choices) return typeof json === 'string' ? json : first
  return json === undefined ? first : json
}

/** Checks what the schema does not: that rules compile, MCP servers can be read, and the provider is known. */
async function checkMeaning(
  { key }: NamedSetting,
  config: Config,
  { path, home }: { path: string; home: string },
): Promise<void> {
  if (key === 'mode' || key === 'allow' || key === 'ask' || key === 'deny') {
    const { loadSettings } = await import('../../authority/rules/load-settings.ts')
    await joinRules('global', { path, config }, (await loadSettings({ home })).global, home)
  }
  if (key === 'mcpServers') {
    const { checkEntry } = await import('../mcp/server-entry.ts')
    for (const [name, entry] of Object.entries(config.mcpServers ?? {})) checkEntry(name, entry, { file: path })
  }
  if (key === 'agents' && config.agents) {
    const { checkSettings } = await import('../../workflow/check-options.ts')
    await checkSettings(config.agents).catch((error: unknown) => {
      throw new CliError(`the agents' settings in ${path} are wrong: ${fullyVisible(messageOf(error))}`)
    })
  }
  if (key === 'provider' && config.provider !== undefined) {
    const { requireKnown } = await import('../models/choose-model.ts')
    const { knownProviders } = await import('../models/providers.ts')
    requireKnown(config.provider, knownProviders(config))
  }
}
