import type { Client, ClientOptions, Transport } from '@modelcontextprotocol/client'
import { AgentError, messageOf } from '../core/errors.ts'
import { version } from '../core/version.ts'
import { atMost } from '../platform/at-most.ts'
import { defaultBootstrapTimeout, type McpServerConfig } from './config.ts'
import { createSdkValidator } from './definitions/schema-check.ts'
import { createHttpTransport, createSseTransport, isWrongTransport } from './http/http-transport.ts'
import { loadSdk } from './load-sdk.ts'
import type { RememberedEra } from './memory.ts'
import type { McpAuthProvider } from './oauth/mcp-oauth-provider.ts'
import { createStdioTransport, type StdioTransport } from './stdio/stdio-transport.ts'

/** An open connection. */
export interface OpenedClient {
  readonly client: Client
  readonly transport: Transport
  /** Set if the transport is stdio. */
  readonly stdio?: StdioTransport
  readonly era: RememberedEra
}

interface OpenClientOptions {
  /** The protocol era remembered from an earlier connection. The first request shows whether it is still right. */
  readonly era?: RememberedEra | undefined
  readonly authProvider?: McpAuthProvider | undefined
  readonly fetch?: typeof globalThis.fetch | undefined
  readonly signal: AbortSignal
  readonly now: () => number
  /** Capabilities and notifications of the client. */
  readonly client: Pick<ClientOptions, 'capabilities' | 'listChanged'>
  /** Called before anything is sent. */
  prepare(client: Client): void
}

type Kind = 'stdio' | 'http' | 'sse'

/** Connects to a server in one of the two protocols. A failed attempt leaves nothing behind. */
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

/** The one further attempt, if another transport or era may work. */
function nextAttempt(
  kind: Kind,
  known: RememberedEra | undefined,
  error: unknown,
): { kind: Kind; era?: RememberedEra } | undefined {
  if (kind === 'http' && isWrongTransport(error)) return { kind: 'sse' }
  // Some old servers exit on a request before `initialize`.
  if (kind === 'stdio' && !known && isProbeClosed(error)) return { kind, era: { kind: 'legacy', at: 0 } }
  return undefined
}

const isProbeClosed = (error: unknown): boolean => /closed during the .*probe/.test(messageOf(error))

/** The server program ended before the connection was made. */
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
  if (kind === 'http') failLostAnswers(transport)
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
        // No answer over stdio means an old server, which still needs time for `initialize`.
        probe: { timeoutMs: stdio ? Math.min(3000, Math.ceil(bootstrapTimeout / 3)) : bootstrapTimeout },
      },
    },
  )
  options.prepare(client)
  // The SDK ignores the signal while it negotiates the protocol.
  const stop = (): void => void transport.close().catch(() => {})
  signal.addEventListener('abort', stop, { once: true })
  try {
    signal.throwIfAborted()
    const prior = era && priorOf(era)
    await client.connect(transport, { signal, timeout: bootstrapTimeout, ...(prior && { prior }) })
    if (prior?.kind === 'modern') await subscribe(client, { signal, timeout: bootstrapTimeout })
  } catch (error) {
    await Promise.allSettled([client.close(), transport.close()])
    throw withExitReason(error, stdio)
  } finally {
    signal.removeEventListener('abort', stop)
  }
  return { client, transport, ...(stdio && { stdio }), era: eraOf(client, now()) }
}

/** With a remembered era the SDK does not subscribe to changes of the tool list. */
async function subscribe(client: Client, options: { signal: AbortSignal; timeout: number }): Promise<void> {
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

/** Adds how the server program ended, and the last line of its stderr. */
export function withExitReason(error: unknown, stdio: StdioTransport | undefined): unknown {
  if (stdio?.ending === undefined) return error
  const last = stdio.stderr.trim().split('\n').at(-1) ?? ''
  const words = last === '' ? '' : `, and wrote last: ${last.slice(0, 300)}`
  return new ServerEndedError(`${messageOf(error)}; ${stdio.ending}${words}`, { cause: error })
}

/** Closes a connection completely. Never rejects. */
export async function closeClient({ client, transport, stdio }: OpenedClient): Promise<void> {
  // Old HTTP servers keep a session until it is terminated. The wait for that is short.
  if (!stdio && 'terminateSession' in transport) {
    const { terminateSession } = transport as { terminateSession(): Promise<void> }
    await atMost(
      terminateMs,
      terminateSession.call(transport).catch(() => {}),
    )
  }
  await Promise.allSettled([client.close(), transport.close()])
}

const terminateMs = 1000

/** Fails a request whose stream ends before its answer. The SDK does not report that, and the caller would wait forever. */
function failLostAnswers(transport: Transport): void {
  const send = transport.send.bind(transport)
  const waiting = new Set<string | number>()
  // The SDK calls a handler that was set before `connect` first.
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
    return lost // the SDK waits for it only to learn of a failure
  }
}
