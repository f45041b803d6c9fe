import { messageOf } from '../../core/errors.ts'
import { CliError } from '../cli-error.ts'
import type { Io } from '../io.ts'
import type { KnownProvider } from '../models/providers.ts'

/** Asks a service for its models, which costs nothing; throws unless it accepts the key. */
export async function checkKey(provider: KnownProvider, key: string, { fetch }: Pick<Io, 'fetch'>): Promise<void> {
  const { name } = provider
  const [address, headers] = requestFor(provider, key)
  let status: number
  try {
    const response = await fetch(address, { headers, redirect: 'error', signal: AbortSignal.timeout(patienceMs) })
    status = response.status
    await response.body?.cancel()
  } catch (error) {
    throw new CliError(
      `${name} could not be asked about the key (${causeOf(error)}), and nothing was stored: check the network, or leave out --check`,
    )
  }
  if (status === 401 || status === 403 || (status === 400 && provider.dialect === 'google'))
    throw new CliError(`${name} does not accept this key (HTTP ${status}), and nothing was stored: copy it anew`)
  if (status >= 400)
    throw new CliError(
      `${name} could not be asked about the key (HTTP ${status}), and nothing was stored: try again, or leave out --check`,
    )
}

const patienceMs = 10_000

function requestFor({ name, baseURL = '', dialect }: KnownProvider, key: string): [string, Record<string, string>] {
  const base = baseURL.replace(/\/+$/, '')
  if (dialect === 'anthropic')
    return [`${base}/models?limit=1`, { 'x-api-key': key, 'anthropic-version': '2023-06-01' }]
  if (dialect === 'google') return [`${base}/models?pageSize=1`, { 'x-goog-api-key': key }]
  // Its list of models is for everybody.
  return [`${base}/${name === 'openrouter' ? 'key' : 'models'}`, { authorization: `Bearer ${key}` }]
}

/** The code of what happened; the message of fetch only says that it failed. */
function causeOf(error: unknown): string {
  const { code } = ((error as { cause?: unknown } | null)?.cause ?? {}) as { code?: unknown }
  return typeof code === 'string' ? code : messageOf(error)
}
