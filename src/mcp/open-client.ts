import type { Client, ClientOptions, Transport } from '@modelcontextprotocol/client'
import { AgentError, messageOf } from '../core/errors.ts'
import { version } from '../core/version.ts'
import { defaultBootstrapTimeout, type McpServerConfig } from './config.ts'
import { createSdkValidator } from './definitions/schema-check.ts'
import { createHttpTransport, createSseTransport, isWrongTransport } from './http/http-transport.ts'
import { loadSdk } from './load-sdk.ts'
import type { RememberedEra } from './memory.ts'
import type { McpAuthProvider } from './oauth/mcp-oauth-provider.ts'
import { createStdioTransport, type StdioTransport } from './stdio/stdio-transport.ts'

/** A connection that was made. */
export interface OpenedClient {
  readonly client: Client
  readonly transport: Transport
  /** Only with that transport. */
  readonly stdio?: StdioTransport
  readonly era: RememberedEra
}

export interface OpenClientOptions {
  /** What was found out about this server before. Whether it still holds shows in the first request. */
  readonly era?: RememberedEra | undefined
  readonly authProvider?: McpAuthProvider | undefined
  readonly fetch?: typeof globalThis.fetch | undefined
  readonly signal: AbortSignal
  readonly now: () => number
  /** What the client can do, and what it wants to hear of. */
  readonly client: Pick<ClientOptions, 'capabilities' | 'listChanged'>
  /** Before anything is sent. */
  prepare(client: Client): void
}

type Kind = 'stdio' | 'http' | 'sse'

/** Connects to a server in whichever of the two protocols it speaks. Of each attempt that fails nothing is left behind. */
export async function openClient(config: McpServerConfig, options: OpenClientOptions): Promise<OpenedClient> {
  const kind = kindOf(config)
  try {
    return await attempt(config, kind, options.era, options)
  } catch (error) {
    options.signal.throwIfAborted()
    const next = nextAttempt(kind, options.era, error)
    if (!next) throw error
    return attempt(config, next.kind, next.era, options)
  }
}

const kindOf = ({ transport }: McpServerConfig): Kind => (transport === 'streamable-http' ? 'http' : transport)

/** What may be otherwise than it was assumed to be. One more attempt, no more. */
function nextAttempt(
  kind: Kind,
  known: RememberedEra | undefined,
  error: unknown,
): { kind: Kind; era?: RememberedEra } | undefined {
  if (kind === 'http' && isWrongTransport(error)) return { kind: 'sse' }
  // Servers of old libraries end themselves when they are asked something before they are greeted.
  if (kind === 'stdio' && !known && isProbeClosed(error)) return { kind, era: { kind: 'legacy', at: 0 } }
  return undefined
}

const isProbeClosed = (error: unknown): boolean => /closed during the .*probe/.test(messageOf(error))

/** A program ended before it had become a server. */
export class ServerEndedError extends AgentError {}

async function attempt(
  config: McpServerConfig,
  kind: Kind,
  era: RememberedEra | undefined,
  options: OpenClientOptions,
): Promise<OpenedClient> {
  const { signal, now } = options
  const sdk = await loadSdk()
  const stdio = kind === 'stdio' ? createStdioTransport(config) : undefined
  const transport = stdio ?? (await httpTransport(config, kind, options))
  if (kind === 'http') noticeLostAnswers(transport)
  const { bootstrapTimeout = defaultBootstrapTimeout } = config
  const client = new sdk.Client(
    { name: 'libero', version },
    {
      ...options.client,
      jsonSchemaValidator: createSdkValidator(),
      inputRequired: { maxRounds: mostRounds },
      listMaxPages: mostPages,
      versionNegotiation: {
        mode: kind === 'sse' ? 'legacy' : 'auto',
        // On a pipe silence means an old server; it still has to be greeted within the time that is left.
        probe: { timeoutMs: stdio ? Math.min(3000, Math.ceil(bootstrapTimeout / 3)) : bootstrapTimeout },
      },
    },
  )
  options.prepare(client)
  // The library does not look at the signal while it finds out which protocol is spoken.
  const stop = (): void => void transport.close().catch(() => {})
  signal.addEventListener('abort', stop, { once: true })
  try {
    signal.throwIfAborted()
    const prior = era && priorOf(era)
    await client.connect(transport, { signal, timeout: bootstrapTimeout, ...(prior && { prior }) })
    if (prior?.kind === 'modern') await listenFor(client, { signal, timeout: bootstrapTimeout })
  } catch (error) {
    await Promise.allSettled([client.close(), transport.close()])
    throw withExitReason(error, stdio)
  } finally {
    signal.removeEventListener('abort', stop)
  }
  return { client, transport, ...(stdio && { stdio }), era: eraOf(client, now()) }
}

/** Who is known is not asked again, and so not told to say when its tools change either. */
async function listenFor(client: Client, options: { signal: AbortSignal; timeout: number }): Promise<void> {
  if (!client.getServerCapabilities()?.tools?.listChanged) return
  await client.listen({ toolsListChanged: true }, options).catch(() => options.signal.throwIfAborted())
}

const mostRounds = 5
const mostPages = 64

function httpTransport(
  config: McpServerConfig,
  kind: Kind,
  { authProvider, fetch }: OpenClientOptions,
): Promise<Transport> {
  const create = kind === 'sse' ? createSseTransport : createHttpTransport
  return create(config, { ...(authProvider && { authProvider }), ...(fetch && { fetch }) })
}

type Prior = NonNullable<NonNullable<Parameters<Client['connect']>[1]>['prior']>

function priorOf({ kind, discover }: RememberedEra): Prior | undefined {
  if (kind === 'legacy') return { kind }
  return discover === undefined ? undefined : ({ kind, discover } as Prior)
}

function eraOf(client: Client, at: number): RememberedEra {
  const discover = client.getDiscoverResult()
  return client.getProtocolEra() === 'modern' ? { kind: 'modern', discover, at } : { kind: 'legacy', at }
}

/** Why a program did not become a server says its end better than the silence that followed. */
export function withExitReason(error: unknown, stdio: StdioTransport | undefined): unknown {
  if (stdio?.ending === undefined) return error
  const last = stdio.stderr.trim().split('\n').at(-1) ?? ''
  const words = last === '' ? '' : `, and wrote last: ${last.slice(0, 300)}`
  return new ServerEndedError(`${messageOf(error)}; ${stdio.ending}${words}`, { cause: error })
}

/** Ends a connection. Nothing of it is left when it resolves; it never fails. */
export async function closeClient({ client, transport, stdio }: OpenedClient): Promise<void> {
  // Old HTTP servers keep a session until they are told otherwise; one that does not listen is not waited for.
  if (!stdio && 'terminateSession' in transport) {
    const { terminateSession } = transport as { terminateSession(): Promise<void> }
    await Promise.race([terminateSession.call(transport).catch(() => {}), pause(goodbyeMs)])
  }
  await Promise.allSettled([client.close(), transport.close()])
}

const goodbyeMs = 1000
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms).unref())

/** A stream that ends before the answer it was opened for: the library says so to nobody, and whoever asked would wait in vain. */
export function noticeLostAnswers(transport: Transport): void {
  const send = transport.send.bind(transport)
  const waiting = new Set<string | number>()
  // Set before it is connected, it is called before whatever the library sets.
  transport.onmessage = (message) => {
    if (!('method' in message) && message.id !== undefined) waiting.delete(message.id)
  }
  transport.send = async (message, options) => {
    if (!('method' in message && 'id' in message) || options?.onRequestStreamEnd) return send(message, options)
    const { id } = message
    const { promise: lost, reject } = Promise.withResolvers<never>()
    waiting.add(id)
    const onRequestStreamEnd = (): void => {
      if (waiting.delete(id)) reject(new Error('the connection was closed before the answer came'))
    }
    try {
      await send(message, { ...options, onRequestStreamEnd })
    } catch (error) {
      waiting.delete(id)
      throw error
    }
    // Nobody waits for more than a failure of this.
    return lost
  }
}
