import type { Agent, ClientRequest, IncomingMessage, request as requestFunction } from 'node:http'
import type { LookupFunction } from 'node:net'
import { pipeline, type Readable } from 'node:stream'
import { type Clock, systemClock } from '../core/clock.ts'
import { codeOf, messageOf } from '../core/errors.ts'
import type { HttpRequest, HttpResponse, Transport } from './http.ts'

export interface NodeTransportOptions {
  /** Time limit for connecting, TLS included; an answer has none. Default 10,000. */
  readonly connectTimeoutMs?: number
  /** Holds HTTPS_PROXY, HTTP_PROXY and NO_PROXY (they need Node 24.5). Default: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Resolves names in place of the system; only the addresses that it returns are connected to. */
  readonly lookup?: LookupFunction
  readonly clock?: Clock
}

/** A transport on `node:http`: it keeps connections alive and writes a body part by part. */
export function nodeTransport(options: NodeTransportOptions = {}): Transport {
  const { connectTimeoutMs = 10_000, env = process.env, clock = systemClock, lookup } = options
  const clients = new Map<string, Client>()

  function clientFor(protocol: string): Client {
    let client = clients.get(protocol)
    if (!client)
      clients.set(
        protocol,
        (client = openClient(protocol, { connectTimeoutMs, env, clock, ...(lookup && { lookup }) })),
      )
    return client
  }

  return async (request) => {
    const { signal } = request
    signal?.throwIfAborted()
    const url = parsed(request.url)
    const client = clientFor(url.protocol)
    try {
      return await sendRequest({ request, url, client, agent: client.kept })
    } catch (error) {
      throw signal?.aborted ? signal.reason : unanswered(url.host, error)
    }
  }
}

interface Client {
  readonly send: typeof requestFunction
  readonly kept: Agent
  /** Never reuses a connection. */
  readonly fresh: Agent
}

function parsed(url: string): URL {
  const result = URL.parse(url)
  // The address is not quoted: its query may hold a key.
  if (!result) throw new Error('The address of a request is not a URL; check the base URL')
  if (/^https?:$/.test(result.protocol)) return result
  throw new Error(`No request is sent over ${result.protocol}; use an http: or https: address`)
}

type ClientOptions = Required<Omit<NodeTransportOptions, 'lookup'>> & Pick<NodeTransportOptions, 'lookup'>

function openClient(protocol: string, options: ClientOptions): Client {
  const { connectTimeoutMs, env, clock, lookup } = options
  const secure = protocol === 'https:'
  // `import` of `node:http` would also load WebSocket and fetch, which takes ten times as long.
  const { Agent, request } = process.getBuiltinModule(secure ? 'node:https' : 'node:http')
  const proxied = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'].some((name) => env[name])

  function open(keepAlive: boolean): Agent {
    // An agent sets TCP_NODELAY by default.
    const agent = new Agent({ keepAlive, ...(proxied && { proxyEnv: env }), ...(lookup && { lookup }) })
    const connect = agent.createConnection.bind(agent)
    agent.createConnection = (where, callback) => {
      const socket = connect(where, (error, stream) => {
        cancelTimer()
        callback?.(error, stream)
      })
      const cancelTimer = clock.timer(connectTimeoutMs, () => socket?.destroy(lateConnection(connectTimeoutMs)))
      socket?.once(secure ? 'secureConnect' : 'connect', cancelTimer).once('close', cancelTimer)
      return socket
    }
    return agent
  }

  try {
    return { send: request, kept: open(true), fresh: open(false) }
  } catch {
    // Node's error quotes the proxy's address, which may hold a password.
    throw new Error('The proxy of the environment cannot be used; check HTTPS_PROXY and HTTP_PROXY')
  }
}

function lateConnection(ms: number): Error {
  return Object.assign(new Error(`no connection within ${ms} ms`), { code: 'ETIMEDOUT' })
}

interface Attempt {
  readonly request: HttpRequest
  readonly url: URL
  readonly client: Client
  readonly agent: Agent
}

async function sendRequest(attempt: Attempt): Promise<HttpResponse> {
  const { request, url, client, agent } = attempt
  const { method, body, signal } = request
  const answer = Promise.withResolvers<IncomingMessage>()
  const sent = client.send(url, { method, headers: requestHeaders(request), agent })
  let readBefore = 0

  const abort = () => {
    answer.reject(signal?.reason)
    close(sent)
  }
  const release = () => signal?.removeEventListener('abort', abort)
  const finish = () => {
    release()
    // If the answer came before the whole body was sent, the rest is not needed.
    if (!sent.writableFinished) close(sent)
  }
  signal?.addEventListener('abort', abort)
  sent.on('socket', (socket) => (readBefore = socket.bytesRead))
  let isAnswered = false
  sent.on('response', (message) => {
    isAnswered = true
    answer.resolve(message)
  })
  sent.on('error', answer.reject)
  // An answer that cannot be used, such as an upgrade, closes without an error.
  sent.on('close', () => {
    if (!isAnswered) answer.reject(hangUp())
  })
  write(sent, body)

  try {
    const message = await answer.promise
    const stream = decoded(message)
    return {
      status: message.statusCode!,
      headers: responseHeaders(message),
      body: bodyOf({ stream, host: url.host, signal, finish, close: () => close(sent) }),
    }
  } catch (error) {
    release()
    close(sent)
    const stale = sent.reusedSocket && isReset(error) && sent.socket?.bytesRead === readBefore
    if (stale && !request.isOnce && !signal?.aborted) return sendRequest({ ...attempt, agent: client.fresh })
    throw error
  }
}

function requestHeaders({ method, headers, body }: HttpRequest): Record<string, string> {
  // Some gateways refuse requests without a user agent.
  const withAgent = { 'user-agent': 'libero', ...headers }
  if (!body && method === 'GET') return withAgent
  const length = body?.reduce((sum, part) => sum + part.byteLength, 0) ?? 0
  return { ...withAgent, 'content-length': String(length) }
}

/** A request that is destroyed before it has its socket would return the unconnected socket to the agent for reuse. */
function close(sent: ClientRequest): void {
  if (sent.socket) sent.destroy()
  else sent.once('socket', () => sent.destroy())
}

function hangUp(): Error {
  return Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })
}

function write(sent: ClientRequest, parts: readonly Uint8Array[] = []): void {
  const length = parts.reduce((sum, part) => sum + part.byteLength, 0)
  // A small body is cheaper to copy than to write in parts.
  if (length <= smallBody) sent.end(Buffer.concat(parts))
  else {
    sent.cork()
    for (const part of parts) sent.write(part)
    sent.end()
  }
}

const smallBody = 64 * 1024

/** Some gateways compress although no compression was requested. */
function decoded(message: IncomingMessage): Readable {
  const encoding = message.headers['content-encoding']?.trim().toLowerCase() || 'identity'
  const empty = message.statusCode === 204 || message.headers['content-length'] === '0'
  if (encoding === 'identity' || empty) return message
  const unzip = ['gzip', 'x-gzip', 'deflate'].includes(encoding)
  if (!unzip && encoding !== 'br') throw new Error(`its answer is encoded as ${encoding}, which was not asked for`)
  const { createBrotliDecompress, createUnzip } = process.getBuiltinModule('node:zlib')
  // An error of the message becomes an error of the decoder.
  return pipeline(message, unzip ? createUnzip() : createBrotliDecompress(), () => {})
}

function responseHeaders({ headers }: IncomingMessage): Record<string, string> {
  const result: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) result[name] = typeof value === 'string' ? value : value.join(', ')
  }
  return result
}

interface BodySource {
  readonly stream: Readable
  readonly host: string
  readonly signal: AbortSignal | undefined
  /** Called when the body has ended, possibly several times. */
  finish(): void
  close(): void
}

/** Joins chunks that are already there, so that many small chunks cost one promise for each read. */
function bodyOf({ stream, host, signal, finish, close }: BodySource): HttpResponse['body'] {
  let change: PromiseWithResolvers<void> | undefined
  let isClosed = false

  function changed(): void {
    if (stream.readableEnded || stream.destroyed) finish()
    change?.resolve()
    change = undefined
  }
  for (const event of ['readable', 'end', 'error', 'close']) stream.on(event, changed)

  const iterator: AsyncIterator<Uint8Array> = {
    async next() {
      while (!isClosed && !stream.readableEnded) {
        signal?.throwIfAborted()
        const value: Uint8Array | null = stream.read()
        if (value) return { done: false, value }
        if (stream.destroyed && !stream.readableEnded) throw brokenOff(host, stream.errored)
        change ??= Promise.withResolvers()
        await change.promise
      }
      return { done: true, value: undefined }
    },
    async return() {
      isClosed = true
      finish()
      if (!stream.readableEnded) close()
      changed()
      return { done: true, value: undefined }
    },
  }
  return { [Symbol.asyncIterator]: () => iterator }
}

function brokenOff(host: string, cause: Error | null): Error {
  const code = codeOf(cause)
  // Any other code comes from the decoder.
  if (cause && code && code !== 'ERR_STREAM_PREMATURE_CLOSE' && !isReset(cause))
    return Object.assign(new Error(`The answer of ${host} cannot be decoded: ${cause.message}`, { cause }), { code })
  const text = `${host} closed the connection before its answer was complete; send the request again`
  return Object.assign(new Error(text, { cause }), { code: 'ECONNRESET' })
}

function unanswered(host: string, cause: unknown): Error {
  const code = codeOf(cause)
  // After attempts at several addresses, the error has a code but no message.
  const reason = cause instanceof AggregateError && code ? code : messageOf(cause)
  const text = `No answer from ${host}: ${reason}; check the address, the headers and the network`
  return Object.assign(new Error(text, { cause }), code !== undefined && { code })
}

function isReset(error: unknown): boolean {
  const code = codeOf(error)
  return code === 'ECONNRESET' || code === 'EPIPE'
}
