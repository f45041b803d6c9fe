import { loadConfig } from '../config/config.ts'
import type { Io } from '../io.ts'
import { keyPages } from '../login/log-in.ts'
import { openCredentials, variableOf } from './credentials.ts'
import { knownProviders } from './providers.ts'

/** A provider, and whether it has a key. The key itself is nowhere in it. */
export interface ListedProvider {
  readonly name: string
  /** It has a key, or needs none. */
  readonly isUsable: boolean
  readonly needsKey: boolean
  /** Where its key comes from: an environment variable, a stored key, a login. */
  readonly key?: 'variable' | 'stored' | 'login'
  /** The variable that is set, or the one that could be. */
  readonly variable?: string
  /** When the login ends, in ms since the epoch. */
  readonly expires?: number
  /** Where to get a key. */
  readonly keyPage?: string
  /** Comes from the config. */
  readonly isConfigured?: true
}

/** All providers that can be chosen. */
export async function listProviders(io: Io): Promise<readonly ListedProvider[]> {
  const { config } = await loadConfig({ home: io.home })
  const stored = new Map((await (await openCredentials(io)).list()).map((one) => [one.name, one]))
  return [...knownProviders(config).values()].map((provider): ListedProvider => {
    const { name, env, isFree = false, isConfigured } = provider
    const variable = variableOf(provider, io)
    const kept = stored.get(name)
    const key = variable === undefined ? kept && (kept.type === 'oauth' ? 'login' : 'stored') : 'variable'
    return {
      ...{ name, isUsable: isFree || key !== undefined, needsKey: !isFree },
      ...(key && { key }),
      ...((variable ?? env[0]) !== undefined && { variable: variable ?? env[0]! }),
      ...(kept?.expires !== undefined && { expires: kept.expires }),
      ...(keyPages[name] !== undefined && { keyPage: keyPages[name] }),
      ...(isConfigured && { isConfigured }),
    }
  })
}
