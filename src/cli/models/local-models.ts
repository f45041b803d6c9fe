import { isRecord } from '../../core/is-record.ts'
import { CliError } from '../cli-error.ts'
import type { Io } from '../io.ts'
import type { KnownProvider } from './providers.ts'

/** A server on this machine that answers, and the models it lists. */
interface LocalModels {
  readonly provider: KnownProvider
  readonly models: readonly string[]
}

/** Asks all of them side by side; who does not answer at once is not there. */
export async function findLocal(providers: readonly KnownProvider[], io: Pick<Io, 'fetch'>): Promise<LocalModels[]> {
  const asked = providers.map(async (provider) => {
    const models = provider.baseURL === undefined ? undefined : await askModels(provider.baseURL, io, probeTimeoutMs)
    return models ? [{ provider, models }] : []
  })
  return (await Promise.all(asked)).flat()
}

/** The first model of a server that somebody named, where it may take its time. */
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

/** What a server lists under `/models`, without those that only embed; undefined where there is no answer. */
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

/** Anybody may listen on a port of this machine, and never stop talking. */
async function boundedText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of body ?? []) {
    length += chunk.byteLength
    if (length > maxBytes) throw new Error('no list of models is so long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

const probeTimeoutMs = 300
const namedTimeoutMs = 3000
