import { isRecord } from '../../core/is-record.ts'
import { didYouMean } from '../../core/nearest.ts'
import { createRedactor } from '../../platform/redact.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { UsageError } from '../cli-error.ts'
import type { Config } from './config.ts'
import { configFields } from './config-schema.ts'

type ConfigKey = keyof Config

/** The names of all settings, in display order. */
export const configKeys = Object.keys(configFields) as ConfigKey[]

/** A setting by name: `maxTurns`, or one entry of several: `providers.mine`, `mcpServers.fs`, `wikis.notes`, `retention.maxAgeDays`. */
export interface NamedSetting {
  readonly key: ConfigKey
  readonly member?: string
}

const withMembers: ReadonlySet<ConfigKey> = new Set<ConfigKey>([
  'providers',
  'mcpServers',
  'wikis',
  'agents',
  'retention',
  'snapshots',
])

/** Parses the name of a setting; the error for an unknown one suggests what was probably meant. */
export function namedSetting(name: string | undefined): NamedSetting {
  if (name === undefined) throw new UsageError(`name a setting: ${configKeys.join(', ')}`)
  const [first = '', ...rest] = name.split('.')
  const several = configKeys.find((key) => key === first && withMembers.has(key))
  if (several && rest.length > 0) return { key: several, member: rest.join('.') }
  const key = configKeys.find((one) => one === name)
  if (key) return { key }
  const hint = didYouMean(name, configKeys) || `; there are ${configKeys.join(', ')}`
  throw new UsageError(`there is no setting "${fullyVisible(name)}"${hint}`)
}

/** A setting for display: environments and headers of MCP servers without values, addresses without keys. */
export function withoutSecrets(key: keyof Config, value: unknown): unknown {
  if (key !== 'mcpServers' || !isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, entryWithoutSecrets(entry)]))
}

/** The same for one MCP server. */
export function entryWithoutSecrets(entry: unknown): unknown {
  if (!isRecord(entry)) return entry
  return Object.fromEntries(Object.entries(entry).map(([field, value]) => [field, shownField(field, value)]))
}

const secret: ReadonlySet<string> = new Set(['env', 'headers'])
const addresses: ReadonlySet<string> = new Set(['url', 'serverUrl', 'httpUrl'])

function shownField(field: string, value: unknown): unknown {
  if (secret.has(field)) return masked(value)
  return addresses.has(field) ? createRedactor().json(value) : value
}

/** A reference such as `${TOKEN}` is not a secret and is kept. */
function masked(value: unknown): unknown {
  if (!isRecord(value)) return '…'
  return Object.fromEntries(
    Object.entries(value).map(([name, text]) => [
      name,
      /^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/.test(String(text)) ? text : '…',
    ]),
  )
}
