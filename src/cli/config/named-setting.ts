import { didYouMean } from '../../core/nearest.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { UsageError } from '../cli-error.ts'
import type { Config } from './config.ts'
import { configFields } from './config-schema.ts'

/** The name of a setting. */
type ConfigKey = keyof Config

/** The names of all settings, in the order they are shown. */
export const configKeys = Object.keys(configFields) as ConfigKey[]

/** A setting by name: `maxTurns`, or `providers.mine`, `mcpServers.fs` and `wikis.notes` for one of several. */
export interface NamedSetting {
  readonly key: ConfigKey
  readonly member?: string
}

const withMembers: ReadonlySet<ConfigKey> = new Set<ConfigKey>(['providers', 'mcpServers', 'wikis'])

/** What a person named, or a sentence with what was probably meant. */
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
