import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** What the server does for one request. Left out: 200, a stream of events, whole, and then the end. */
export interface Answer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Sent in this order. A promise is waited for. */
  readonly body?: string | Uint8Array | readonly Part[]
  /** So many bytes go out at a time. */
  readonly every?: number
  /** `close`: the body has no length, so that a cut looks like its end. */
  readonly framing?: 'chunked' | 'close'
}

/** Bytes, something to wait for, or what to do with the connection. */
export type Part = string | Uint8Array | Promise<unknown> | typeof cut | typeof reset | typeof stall

/** Hangs up. */
export const cut: unique symbol = Symbol('cut')
/** Hangs up rudely: the other side is told that the connection is broken. */
export const reset: unique symbol = Symbol('reset')
/** Says nothing more, and does not hang up either. */
export const stall: unique symbol = Symbol('stall')

export interface SeenRequest {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of four families
  readonly body: any
  /** Whether the connection it came over is still there. */
  readonly isOpen: () => boolean
}

export interface FaultServer {
  readonly url: string
  readonly requests: SeenRequest[]
  /** Connections that are open now. */
  readonly open: number
  /** Connections there ever were. */
  readonly connections: number
  /** Answers in this order; the last one again and again. */
  play(...answers: readonly (Answer | ((request: SeenRequest) => Answer))[]): void
  /** Hangs up on everybody who is not being answered. */
  closeIdle(): void
  close(): Promise<void>
}

/** A server on this machine that fails in every way it is told to. */
export async function startFaultServer(): Promise<FaultServer> {
  const sockets = new Set<Socket>()
  const requests: SeenRequest[] = []
  let script: readonly (Answer | ((request: SeenRequest) => Answer))[] = [{}]
  let played = 0
  let connections = 0

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = await textOf(incoming)
    const { url: path = '', headers, socket } = incoming
    const seen = { path, headers, text, body: parsed(text), isOpen: () => sockets.has(socket) }
    requests.push(seen)
    const answer = script[Math.min(played++, script.length - 1)]!
    await give(typeof answer === 'function' ? answer(seen) : answer, response)
  }
  const server = createServer((incoming, response) => {
    serve(incoming, response).catch(() => {}) // the client has gone
  })
  server.keepAliveTimeout = 60_000
  server.on('connection', (socket) => {
    connections++
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    get open() {
      return sockets.size
    },
    get connections() {
      return connections
    },
    play(...answers) {
      script = answers
      played = 0
      requests.length = 0
    },
    closeIdle: () => server.closeIdleConnections(),
    async close() {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

async function give(answer: Answer, response: ServerResponse): Promise<void> {
  const { status = 200, headers, body = [], every, framing = 'chunked' } = answer
  const socket = response.socket
  response.on('error', () => {})
  if (framing === 'close') {
    response.useChunkedEncodingByDefault = false
    response.shouldKeepAlive = false
  }
  const parts: readonly Part[] = typeof body === 'string' || body instanceof Uint8Array ? [body] : body
  const type = status === 200 ? 'text/event-stream' : 'application/json'
  response.writeHead(status, { 'content-type': type, ...headers })
  if (parts.some((part) => typeof part === 'symbol' || part instanceof Promise)) response.flushHeaders()
  for (const part of parts) {
    if (part === stall) return
    if (part === cut) return void socket?.destroy()
    if (part === reset) return void socket?.resetAndDestroy()
    if (part instanceof Promise) await part
    else if (typeof part !== 'symbol') await write(response, part, every)
    if (socket?.destroyed) return
  }
  response.end()
}

async function write(response: ServerResponse, part: string | Uint8Array, every = Number.POSITIVE_INFINITY) {
  const bytes = Buffer.from(part)
  for (let at = 0; at < bytes.length; at += every) {
    await new Promise((resolve) => response.write(bytes.subarray(at, at + every), resolve))
    if (at + every < bytes.length) await new Promise((resolve) => setImmediate(resolve))
  }
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Waits, a moment at a time, until something is so. */
export async function until(isSo: () => boolean, what = 'what was waited for'): Promise<void> {
  for (let i = 0; i < 5000; i++) {
    if (isSo()) return
    await new Promise((resolve) => setTimeout(resolve, i < 50 ? 0 : 1))
  }
  throw new Error(`${what} did not come about`)
}
