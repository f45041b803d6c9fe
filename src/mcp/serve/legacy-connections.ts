import type { Server, WebStandardStreamableHTTPServerTransport as Transport } from '@modelcontextprotocol/server'
import { problem } from './http-guard.ts'
import type { ServerSdk } from './load-server-sdk.ts'

/** Clients of the protocol before 2026, which keep a connection over many requests: only so can they be asked something. */
export class LegacyConnections {
  readonly #sdk: ServerSdk['sdk']
  readonly #make: () => Server
  /** The one that was used last comes last. */
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
      onsessioninitialized: (id) => this.#keep(id, { server, transport }),
      onsessionclosed: (id) => void this.#open.delete(id),
    })
    await server.connect(transport)
    const response = await transport.handleRequest(request)
    if (transport.sessionId === undefined) await server.close() // it was no beginning
    return response
  }

  async #keep(id: string, connection: Connection): Promise<void> {
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
