import { join } from 'node:path'
import type { CredentialStore } from '../../auth/credentials.ts'
import { CliError } from '../cli-error.ts'
import type { Io } from '../io.ts'
import type { KnownProvider } from './providers.ts'

/** The file with the user's keys and logins. */
export const credentialsPathOf = ({ home }: Pick<Io, 'home'>): string => join(home, 'credentials.json')

/** Opens the user's keys and logins. */
export async function openCredentials(io: Pick<Io, 'home'>): Promise<CredentialStore> {
  const { createCredentialStore } = await import('../../auth/credentials.ts')
  return createCredentialStore({ path: credentialsPathOf(io) })
}

/** The environment variable with a provider's key, if one is set. */
export function variableOf({ env }: Pick<KnownProvider, 'env'>, io: Pick<Io, 'env'>): string | undefined {
  return env.find((name) => io.env[name]?.trim())
}

/** The providers whose keys or logins are stored. */
export async function storedNames(io: Pick<Io, 'home'>): Promise<ReadonlySet<string>> {
  return new Set((await (await openCredentials(io)).list()).map(({ name }) => name))
}

/** Whether a key is set or stored. */
export async function hasCredentials(provider: KnownProvider, io: Pick<Io, 'env' | 'home'>): Promise<boolean> {
  return variableOf(provider, io) !== undefined || (await (await openCredentials(io)).get(provider.name)) !== undefined
}

/** The error for a provider that needs a key. */
export function missingKeyError({ name, env }: Pick<KnownProvider, 'name' | 'env'>): CliError {
  return new CliError(
    `${name} needs a key: set ${env[0]}, or run: libero login ${name} (to try without one: --provider offline)`,
  )
}
