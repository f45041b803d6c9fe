import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { messageOf } from '../../core/errors.ts'
import { parseWebUrl } from '../../platform/public-web.ts'
import { createEgressRules, type EgressRules, type EgressTarget } from './egress-rules.ts'
import type { BubblewrapNetwork, EgressEvent } from './options.ts'

export interface EgressProxyOptions extends BubblewrapNetwork, EgressRules {
  /** Called when a connection has ended or was refused. */
  readonly onEgress?: (event: EgressEvent) => void
}

export interface EgressProxy {
  /** Serves a connection; `onRefusal` is called with the reason of each refusal. */
  serve(socket: Socket, onRefusal?: (reason: string) => void): void
  /** Ends all connections. */
  close(): void
}

const mostSockets = 256

/** The only network access of a sandbox: an HTTP proxy that enforces the rules and resolves names itself. */
export function createEgressProxy(options: EgressProxyOptions): EgressProxy {
  const rules = createEgressRules(options)
  const meter = egressMeter(options)
  const sockets = new Map<Duplex, (reason: string) => void>()
  const server = createServer({ maxHeaderSize: 64 * 1024, requestTimeout: 0 })

  async function find(host: string, port: number, from: Duplex): Promise<EgressTarget> {
    try {
      const problem = meter.limitError()
      if (problem) throw problem
      return await rules.find(host, port)
    } catch (error) {
      const reason = messageOf(error)
      meter.reportRefusal(host, port, reason)
      sockets.get(from)?.(`${host}:${port}: ${reason}`)
      throw error
    }
  }

  server.on('connect', async (asked: IncomingMessage, client: Socket, head: Buffer) => {
    client.on('error', () => client.destroy())
    try {
      const { host, port } = authority(asked.url ?? '')
      const target = await find(host, port, client)
      await tunnel(target, client, head, meter)
    } catch (error) {
      client.end(refusal(error))
    }
  })

  server.on('request', async (asked: IncomingMessage, answer: ServerResponse) => {
    try {
      const url = plainAddress(asked.url ?? '')
      const target = await find(url.hostname, Number(url.port) || 80, asked.socket)
      await forward(target, url, asked, answer, meter)
    } catch (error) {
      if (answer.headersSent) return void answer.destroy()
      const { status, text } = describe(meter.limitError() ?? error)
      answer.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' }).end(text)
    }
  })

  server.on('clientError', (_, client) => {
    if (client.writable) client.end(refusal(badRequest('this is not a request that can be understood')))
    else client.destroy()
  })

  return {
    serve(socket, onRefusal = () => {}) {
      if (sockets.size >= mostSockets) return void socket.destroy()
      sockets.set(socket, onRefusal)
      socket.once('close', () => sockets.delete(socket))
      socket.on('error', () => {})
      server.emit('connection', socket)
    },
    close() {
      for (const socket of sockets.keys()) socket.destroy()
    },
  }
}

/** Parses `host:port`; refuses ambiguous forms. */
function authority(text: string): { host: string; port: number } {
  const [, host, port] = /^(\[[0-9a-f:.]+\]|[^\s:/?#@\\%[\]]+):(\d{1,5})$/i.exec(text) ?? []
  const url = host === undefined ? null : URL.parse(`http://${host}/`)
  if (!url || Number(port) < 1 || Number(port) > 65_535) throw badRequest(`"${text.slice(0, 200)}" is not host:port`)
  return { host: url.hostname, port: Number(port) }
}

function plainAddress(text: string): URL {
  if (!/^[a-z][a-z0-9+.-]*:/i.test(text)) throw badRequest('this is a proxy; ask it for a whole URL')
  let url: URL
  try {
    url = parseWebUrl(text)
  } catch (error) {
    throw badRequest(messageOf(error))
  }
  if (url.protocol !== 'http:') throw badRequest(`ask for ${url.protocol}// with CONNECT`)
  return url
}

async function tunnel(target: EgressTarget, client: Socket, head: Buffer, meter: EgressMeter): Promise<void> {
  const upstream = await connected(target, meter)
  const count = meter.open(target, upstream)
  upstream.on('error', () => client.destroy())
  upstream.on('data', (chunk: Buffer) => count.received(chunk.length))
  upstream.once('close', () => client.destroy())
  client.once('close', () => upstream.destroy())
  client.write('HTTP/1.1 200 Connection established\r\n\r\n')
  if (head.length > 0) upstream.write(head)
  client.pipe(upstream)
  upstream.pipe(client)
}

async function connected(target: EgressTarget, meter: EgressMeter): Promise<Socket> {
  try {
    return await target.connect()
  } catch (error) {
    meter.reportFailure(target, `could not be reached: ${messageOf(error)}`)
    throw error
  }
}

async function forward(
  target: EgressTarget,
  url: URL,
  asked: IncomingMessage,
  answer: ServerResponse,
  meter: EgressMeter,
): Promise<void> {
  const socket = await connected(target, meter)
  const count = meter.open(target, socket)
  // Otherwise the body of a request that usually has none would be taken for a second request.
  const framing = asked.headers['transfer-encoding'] === undefined ? {} : { 'transfer-encoding': 'chunked' }
  await new Promise<void>((resolve, reject) => {
    const out = request({
      createConnection: () => socket,
      method: asked.method,
      path: `${url.pathname}${url.search}`,
      headers: { ...endToEnd(asked.headers), ...framing, host: url.host, connection: 'close' },
      setHost: false,
    })
    out.on('error', reject)
    out.on('response', (back) => {
      answer.writeHead(back.statusCode ?? 502, { ...endToEnd(back.headers), connection: 'close' })
      back.on('data', (chunk: Buffer) => count.received(chunk.length))
      back.on('error', reject)
      back.pipe(answer)
      answer.once('close', () => {
        socket.destroy()
        resolve()
      })
    })
    asked.on('error', () => socket.destroy())
    asked.pipe(out)
  })
}

/** Headers that are not forwarded. */
const hopByHop = ['connection', 'keep-alive', 'proxy-authorization', 'proxy-authenticate', 'proxy-connection', 'te']
const alsoHopByHop = ['trailer', 'transfer-encoding', 'upgrade', 'host']

function endToEnd(headers: IncomingMessage['headers']): IncomingMessage['headers'] {
  const named = (headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase())
  const dropped = new Set([...hopByHop, ...alsoHopByHop, ...named])
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !dropped.has(name)))
}

function badRequest(text: string): Error {
  return Object.assign(new Error(text), { code: 'EBADREQUEST' })
}

function describe(error: unknown): { status: number; text: string } {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const status = code === 'EBADREQUEST' ? 400 : code === 'EREFUSED' ? 403 : 502
  return { status, text: `The sandbox did not connect: ${messageOf(error)}\n` }
}

const phrases: Readonly<Record<number, string>> = { 400: 'Bad Request', 403: 'Forbidden', 502: 'Bad Gateway' }

function refusal(error: unknown): string {
  const { status, text } = describe(error)
  const head = `HTTP/1.1 ${status} ${phrases[status]}\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close`
  return `${head}\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
}

/** Counts and reports the traffic, and blocks it when the upload limit is exceeded. */
interface EgressMeter {
  /** The error if the upload limit is exceeded. */
  limitError(): Error | undefined
  reportRefusal(host: string, port: number, reason: string): void
  /** Reports an allowed host that could not be reached. */
  reportFailure(target: Target, reason: string): void
  /** Counts everything written to the socket before it is sent; destroys the socket instead of exceeding the limit. */
  open(target: Target, socket: Socket): EgressCount
}

interface Target {
  readonly host: string
  readonly port: number
}

interface EgressCount {
  received(bytes: number): void
}

function egressMeter({ maxUpload = Number.POSITIVE_INFINITY, onEgress }: EgressProxyOptions): EgressMeter {
  let uploaded = 0
  const isFull = (): boolean => uploaded > maxUpload
  const limit = `the limit of ${maxUpload} bytes to send was reached`

  function report(event: EgressEvent): void {
    try {
      onEgress?.(event)
    } catch {
      // a failing listener does not affect the connection
    }
  }

  return {
    limitError() {
      if (!isFull()) return undefined
      const reason = `more than the ${maxUpload} bytes were to be sent that this sandbox may send; nothing goes out any more`
      return Object.assign(new Error(reason), { code: 'EREFUSED' })
    },

    reportRefusal: (host, port, reason) =>
      report({ host, port, allowed: false, reason, bytesSent: 0, bytesReceived: 0 }),

    reportFailure: ({ host, port }, reason) =>
      report({ host, port, allowed: true, reason, bytesSent: 0, bytesReceived: 0 }),

    open({ host, port }, socket) {
      let bytesSent = 0
      let bytesReceived = 0
      let problem: string | undefined
      guardWrites(socket, (bytes) => {
        uploaded += bytes
        if (isFull()) return false
        bytesSent += bytes
        return true
      })
      socket.on('error', (error) => (problem = messageOf(error)))
      socket.once('close', () => {
        const reason = isFull() ? limit : problem
        report({ host, port, allowed: true, ...(reason !== undefined && { reason }), bytesSent, bytesReceived })
      })
      return {
        received(bytes) {
          bytesReceived += bytes
        },
      }
    },
  }
}

/** Wraps `write`, because request lines and headers are not visible as stream events. */
function guardWrites(socket: Socket, mayGo: (bytes: number) => boolean): void {
  const { write } = socket
  socket.write = (chunk: string | Uint8Array, ...rest: unknown[]): boolean => {
    const [encoding] = rest
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encodingOf(encoding)).length : chunk.byteLength
    if (!socket.destroyed && mayGo(bytes)) return Reflect.apply(write, socket, [chunk, ...rest])
    socket.destroy()
    return false
  }
}

function encodingOf(given: unknown): BufferEncoding {
  return typeof given === 'string' && Buffer.isEncoding(given) ? given : 'utf8'
}
