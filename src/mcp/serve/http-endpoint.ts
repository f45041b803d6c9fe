import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { Server, WebStandardStreamableHTTPServerTransport as Transport } from '@modelcontextprotocol/server'
import { admitBody, checkHttpOptions, type McpHttpOptions, problem, refuse } from './http-guard.ts'
import type { ServerSdk } from './load-server-sdk.ts'
import { makeServer, type ServerParts } from './make-server.ts'

/** An agent server over HTTP, for clients of both protocol eras. */
export interface HttpEndpoint {
  fetch(request: Request, options: McpHttpOptions): Promise<Response>
  close(): Promise<void>
}

/** Every request needs the token. */
export function openHttpEndpoint(parts: ServerParts, report: (error: Error) => void): HttpEndpoint {
  const { sdk } = parts.loaded
  const handler = sdk.createMcpHandler(() => makeServer(parts, 'modern'), { legacy: 'reject', onerror: report })
  const legacy = new LegacyConnections(sdk, () => makeServer(parts, 'legacy'))
  return {
    async fetch(request, options) {
      checkHttpOptions(options)
      const refused = await refuse(request, options)
      if (refused) return refused
      const admitted = await admitBody(request, options.maxBodyBytes)
      if (admitted instanceof Response) return admitted
      return (await sdk.isLegacyRequest(admitted)) ? legacy.handle(admitted) : handler.fetch(admitted)
    },
    async close() {
      await Promise.allSettled([handler.close(), legacy.close()])
    },
  }
}

/** Clients of the protocol before 2026. They keep a connection over many requests, over which the server can ask them questions. */
class LegacyConnections {
  readonly #sdk: ServerSdk['sdk']
  readonly #make: () => Server
  /** Least recently used first. */
  readonly #open = new Map<string, Connection>()

  constructor(sdk: ServerSdk['sdk'], make: () => Server) {
    this.#sdk = sdk
    this.#make = make
  }

  async handle(request: Request): Promise<Response> {
    const id = request.headers.get('mcp-session-id')
    if (id === null)
      return request.method === 'POST'
        ? this.#begin(request)
        : problem(405, 'there is no connection yet; initialize one')
    const known = this.#open.get(id)
    if (!known) return problem(404, 'this connection is over; initialize another one')
    this.#open.delete(id)
    this.#open.set(id, known)
    return known.transport.handleRequest(request)
  }

  async close(): Promise<void> {
    const all = [...this.#open.values()]
    this.#open.clear()
    await Promise.allSettled(all.map(({ server }) => server.close()))
  }

  async #begin(request: Request): Promise<Response> {
    const server = this.#make()
    const transport: Transport = new this.#sdk.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id) => this.#add(id, { server, transport }),
      onsessionclosed: (id) => void this.#open.delete(id),
    })
    await server.connect(transport)
    const response = await transport.handleRequest(request)
    if (transport.sessionId === undefined) await server.close() // it was no `initialize`
    return response
  }

  async #add(id: string, connection: Connection): Promise<void> {
    this.#open.set(id, connection)
    if (this.#open.size <= mostOpen) return
    const [oldest, { server }] = this.#open.entries().next().value!
    this.#open.delete(oldest)
    await server.close()
  }
}

interface Connection {
  readonly server: Server
  readonly transport: Transport
}

const mostOpen = 64

/** Answers a request to Node's HTTP server with the response of a fetch function. */
export async function answerNode(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  fetch: (request: Request) => Promise<Response>,
): Promise<void> {
  const gone = new AbortController()
  outgoing.once('close', () => gone.abort())
  outgoing.once('error', () => gone.abort())
  let response: Response
  try {
    response = await fetch(requestOf(incoming, gone.signal))
  } catch {
    response = problem(gone.signal.aborted ? 499 : 500, 'the request could not be answered; look into the server’s log')
  }
  outgoing.writeHead(response.status, { ...Object.fromEntries(response.headers), ...fixedHeaders })
  await send(response, outgoing, gone.signal).catch(() => {})
  outgoing.end()
  if (!incoming.complete) incoming.destroy()
}

const fixedHeaders = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
}

function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { method: given = 'GET', headers } = incoming
  // `Request` throws on these methods; renamed, they are refused like any request without the token.
  const method = /^(CONNECT|TRACE|TRACK)$/i.test(given) ? `NO-${given}` : given
  const sent = new Headers()
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) sent.set(name, Array.isArray(value) ? value.join(', ') : value)
  const hasBody = method !== 'GET' && method !== 'HEAD'
  // The request target may be no valid address. The guard checks the Host header instead.
  return new Request('http://localhost/', {
    method,
    headers: sent,
    signal,
    // The standard takes web streams only.
    ...(hasBody && { body: Readable.toWeb(incoming) as ReadableStream<Uint8Array<ArrayBuffer>>, duplex: 'half' }),
  })
}

/** Writes as fast as the client reads, until it disconnects. */
async function send({ body }: Response, outgoing: ServerResponse, signal: AbortSignal): Promise<void> {
  if (!body) return
  const reader = body.getReader()
  const cancel = (): void => void reader.cancel().catch(() => {})
  signal.addEventListener('abort', cancel, { once: true })
  for (;;) {
    const { done, value } = await reader.read()
    if (done || signal.aborted) return
    if (outgoing.write(value)) continue
    await new Promise<void>((go) => {
      outgoing.once('drain', go)
      outgoing.once('close', go)
    })
  }
}
