import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { onTestFinished } from 'vitest'
import { toNodeListener } from '../src/sessions/remote/node-listener.ts'

export type Handler = (request: Request) => Promise<Response>
/** Looks at a request before the handler does; may answer in its place, or cut the connection. */
export type Tap = (incoming: IncomingMessage, outgoing: ServerResponse, serve: Serve) => unknown
/** Lets the handler do it, and answer there. */
type NodeResponse = Parameters<ReturnType<typeof toNodeListener>>[1]

export type Serve = (into?: NodeResponse) => Promise<void>

export interface StoreServer {
  readonly url: string
  readonly server: Server
  /** Every request that came, as `METHOD path`. */
  readonly asked: readonly string[]
  /** What comes between the next requests and the handler. */
  tap: Tap | undefined
  stop(): Promise<void>
  /** Goes on at the same port. */
  start(): Promise<void>
}

/** A web handler behind `node:http` on a port of this machine, closed when the test is over. */
export async function storeServer(handler: Handler): Promise<StoreServer> {
  const asked: string[] = []
  const listener = toNodeListener(handler)
  let port = 0
  const server = createServer(async (incoming, outgoing) => {
    asked.push(`${incoming.method} ${incoming.url}`)
    const serve: Serve = (into = outgoing) => listener(incoming, into)
    await (served.tap ? served.tap(incoming, outgoing, serve) : serve())
  })
  const served: StoreServer = {
    server,
    asked,
    tap: undefined,
    get url() {
      return `http://127.0.0.1:${port}`
    },
    async stop() {
      if (!server.listening) return
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
    async start() {
      await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
      port = (server.address() as AddressInfo).port
    },
  }
  await served.start()
  onTestFinished(served.stop)
  return served
}

/** `fetch` to this machine only, over real sockets: the global one is taken away in tests. */
export const socketFetch: typeof globalThis.fetch = async (input, init) => {
  const { method, headers, body, signal } = init as RequestInit & { headers: Record<string, string> }
  return new Promise((resolve, reject) => {
    const outgoing = request(
      String(input),
      { method: method ?? 'GET', headers, agent: false, ...(signal && { signal }) },
      (incoming) => {
        const answered = { status: incoming.statusCode ?? 0, headers: incoming.headers as Record<string, string> }
        const isEmpty = answered.status === 204 || answered.status === 304
        resolve(new Response(isEmpty ? null : (Readable.toWeb(incoming) as ReadableStream), answered))
      },
    )
    outgoing.on('error', reject)
    outgoing.end(body as string | Uint8Array | undefined)
  })
}

/** The response object of an answer that is not sent. */
export const nowhere: NodeResponse = { writeHead: () => {}, end: () => {}, on: () => {} }
