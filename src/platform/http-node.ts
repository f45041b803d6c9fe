import type { Agent, ClientRequest, IncomingMessage, request as requestFunction } from 'node:http'
import type { LookupFunction } from 'node:net'
import { pipeline, type Readable } from 'node:stream'
import { type Clock, systemClock } from '../core/clock.ts'
import { messageOf } from '../core/errors.ts'
import type { HttpRequest, HttpResponse, Transport } from './http.ts'

export interface NodeTransportOptions {
  /** How long a connection may take to be made, TLS included; an answer may take as long as it likes. Default 10,000. */
  readonly connectTimeoutMs?: number
  /** Where HTTPS_PROXY, HTTP_PROXY and NO_PROXY are looked up (they need Node 24.5). Default: this process's. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Finds the addresses of a name, in place of the system; the connection is made to what it gives, and to nothing else. */
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
      return await exchange({ request, url, client, agent: client.kept })
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
  // To import `node:http` loads its WebSocket too, and with it all of fetch: ten times the time.
  const { Agent, request } = process.getBuiltinModule(secure ? 'node:https' : 'node:http')
  const proxied = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'].some((name) => env[name])

  function open(keepAlive: boolean): Agent {
    // TCP_NODELAY is what an agent sets unasked.
    const agent = new Agent({ keepAlive, ...(proxied && { proxyEnv: env }), ...(lookup && { lookup }) })
    const connect = agent.createConnection.bind(agent)
    agent.createConnection = (where, callback) => {
      const socket = connect(where, (error, stream) => {
        callOff()
        callback?.(error, stream)
      })
      const callOff = clock.timer(connectTimeoutMs, () => socket?.destroy(lateConnection(connectTimeoutMs)))
      socket?.once(secure ? 'secureConnect' : 'connect', callOff).once('close', callOff)
      return socket
    }
    return agent
  }

  try {
    return { send: request, kept: open(true), fresh: open(false) }
  } catch {
    // Node's own text quotes the proxy's address, which may hold a password.
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

async function exchange(attempt: Attempt): Promise<HttpResponse> {
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
    // Answered before it was all sent: nobody will take the rest.
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
  // An answer that nobody may take, such as an upgrade, closes without an error.
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
    if (stale && !request.isOnce && !signal?.aborted) return exchange({ ...attempt, agent: client.fresh })
    throw error
  }
}

function requestHeaders({ method, headers, body }: HttpRequest): Record<string, string> {
  // Some gateways refuse whoever does not say what he is.
  const named = { 'user-agent': 'libero', ...headers }
  if (!body && method === 'GET') return named
  const length = body?.reduce((sum, part) => sum + part.byteLength, 0) ?? 0
  return { ...named, 'content-length': String(length) }
}

/** Before it has its socket, a destroyed request would hand it back to the agent, still connecting, for others to use. */
function close(sent: ClientRequest): void {
  if (sent.socket) sent.destroy()
  else sent.once('socket', () => sent.destroy())
}

function hangUp(): Error {
  return Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' })
}

function write(sent: ClientRequest, parts: readonly Uint8Array[] = []): void {
  const length = parts.reduce((sum, part) => sum + part.byteLength, 0)
  // What is small is cheaper to copy than to hand over in pieces.
  if (length <= smallBody) sent.end(Buffer.concat(parts))
  else {
    sent.cork()
    for (const part of parts) sent.write(part)
    sent.end()
  }
}

const smallBody = 64 * 1024

/** We ask for no compression, but some gateways compress all the same. */
function decoded(message: IncomingMessage): Readable {
  const encoding = message.headers['content-encoding']?.trim().toLowerCase() || 'identity'
  const empty = message.statusCode === 204 || message.headers['content-length'] === '0'
  if (encoding === 'identity' || empty) return message
  const unzip = ['gzip', 'x-gzip', 'deflate'].includes(encoding)
  if (!unzip && encoding !== 'br') throw new Error(`its answer is encoded as ${encoding}, which was not asked for`)
  const { createBrotliDecompress, createUnzip } = process.getBuiltinModule('node:zlib')
  // An error of the message reaches the reader as one of the decoder.
  return pipeline(message, unzip ? createUnzip() : createBrotliDecompress(), () => {})
}

function responseHeaders({ headers }: IncomingMessage): Record<string, string> {
  const result: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) result[name] = typeof value === 'string' ? value : value.join(', ')
  }
  return result
}

interface Source {
  readonly stream: Readable
  readonly host: string
  readonly signal: AbortSignal | undefined
  /** Called when nothing more will come, perhaps several times. */
  finish(): void
  close(): void
}

/** Chunks that are already there come as one: a stream of many small ones costs a promise per read, not per chunk. */
function bodyOf({ stream, host, signal, finish, close }: Source): HttpResponse['body'] {
  let change: PromiseWithResolvers<void> | undefined
  let left = false

  function changed(): void {
    if (stream.readableEnded || stream.destroyed) finish()
    change?.resolve()
    change = undefined
  }
  for (const event of ['readable', 'end', 'error', 'close']) stream.on(event, changed)

  const iterator: AsyncIterator<Uint8Array> = {
    async next() {
      while (!left && !stream.readableEnded) {
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
      left = true
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
  // Only a decoder has other codes than these.
  if (cause && code && code !== 'ERR_STREAM_PREMATURE_CLOSE' && !isReset(cause))
    return Object.assign(new Error(`The answer of ${host} cannot be decoded: ${cause.message}`, { cause }), { code })
  const text = `${host} closed the connection before its answer was complete; send the request again`
  return Object.assign(new Error(text, { cause }), { code: 'ECONNRESET' })
}

function unanswered(host: string, cause: unknown): Error {
  const code = codeOf(cause)
  // Tried at several addresses, a refused connection has a code but no text.
  const reason = cause instanceof AggregateError && code ? code : messageOf(cause)
  const text = `No answer from ${host}: ${reason}; check the address, the headers and the network`
  return Object.assign(new Error(text, { cause }), code !== undefined && { code })
}

function isReset(error: unknown): boolean {
  const code = codeOf(error)
  return code === 'ECONNRESET' || code === 'EPIPE'
}

function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code
  return typeof code === 'string' ? code : undefined
}
