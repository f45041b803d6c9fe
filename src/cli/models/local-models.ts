import { isRecord } from '../../core/is-record.ts'
import { CliError } from '../cli-error.ts'
import type { Io } from '../io.ts'
import type { KnownProvider } from './providers.ts'

interface LocalModels {
  readonly provider: KnownProvider
  readonly models: readonly string[]
}

/** Asks all local servers in parallel; one that does not answer quickly is left out. */
export async function findLocal(providers: readonly KnownProvider[], io: Pick<Io, 'fetch'>): Promise<LocalModels[]> {
  const asked = providers.map(async (provider) => {
    const models = provider.baseURL === undefined ? undefined : await askModels(provider.baseURL, io, probeTimeoutMs)
    return models ? [{ provider, models }] : []
  })
  return (await Promise.all(asked)).flat()
}

/** The first model of a server that was named explicitly, with a longer time limit. */
export async function firstLocal({ name }: KnownProvider, baseURL: string, io: Pick<Io, 'fetch'>): Promise<string> {
  const models = await askModels(baseURL, io, namedTimeoutMs)
  if (!models)
    throw new CliError(
      `${name} does not answer at ${URL.parse(baseURL)?.host ?? 'its address'}: start it, or name the model with --model (to try without one: --provider offline)`,
    )
  const [first] = models
  if (first === undefined)
    throw new CliError(
      `${name} has no model yet: ${name === 'ollama' ? 'run: ollama pull gpt-oss:20b' : 'load one in it'}`,
    )
  return first
}

/** The models that a server lists under `/models`, without embedding models; undefined without an answer. */
export async function askModels(
  baseURL: string,
  { fetch }: Pick<Io, 'fetch'>,
  timeoutMs: number,
): Promise<readonly string[] | undefined> {
  try {
    const response = await fetch(`${baseURL.replace(/\/+$/, '')}/models`, {
      signal: AbortSignal.timeout(timeoutMs),
      redirect: 'error',
    })
    const answer: unknown = response.ok ? JSON.parse(await boundedText(response)) : undefined
    if (!isRecord(answer)) return undefined
    const entries: readonly unknown[] = Array.isArray(answer.data) ? answer.data : []
    return entries
      .map((entry) => (isRecord(entry) ? entry.id : undefined))
      .filter((id) => typeof id === 'string' && id !== '' && !/embed/i.test(id)) as string[]
  } catch {
    return undefined
  }
}

const maxBytes = 4 * 1024 * 1024

/** Any program may listen on a local port and send an endless response. */
async function boundedText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body ?? []) {
    length += chunk.byteLength
    if (length > maxBytes) throw new Error('the list of models is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

const probeTimeoutMs = 300
const namedTimeoutMs = 3000
