import type { IncomingMessage, ServerResponse } from 'node:http'
import { show } from '../../core/behavior.ts'
import { messageOf } from '../../core/errors.ts'
import { AgentToolService } from './agent-tool-service.ts'
import type { HttpEndpoint } from './http-endpoint.ts'
import { checkHttpOptions, createMcpToken, type McpHttpOptions, problem } from './http-guard.ts'
import type { McpStdioOptions, ServerParts } from './make-server.ts'
import { SuspendedCalls } from './pending-call.ts'
import type { McpAgentServerOptions } from './served-agents.ts'

/** An agent as an MCP server. */
export interface McpAgentServer {
  /** Resolves when the client closes its end; its calls under way are aborted then. */
  serveStdio(options?: McpStdioOptions): Promise<void>
  /** For `http.createServer`. Clients need its `token`. */
  nodeListener(options?: Partial<McpHttpOptions>): McpNodeListener
  /** For servers with `Request` and `Response`. */
  fetch(request: Request, options: McpHttpOptions): Promise<Response>
  /** Aborts all calls and closes all agents. */
  close(): Promise<void>
}

export interface McpNodeListener {
  /** Takes Node's `IncomingMessage` and `ServerResponse`. */
  (incoming: object, outgoing: object): void
  readonly token: string
}

/** Serves an agent to MCP clients of both protocol eras. The SDK is loaded and agents are made for the first client. */
export function createMcpAgentServer(options: McpAgentServerOptions): McpAgentServer {
  checkOptions(options)
  const { name, version, instructions, onError } = options
  const service = new AgentToolService(options)
  const report = (error: Error): void => onError?.(problemOf(error))
  const closing = new AbortController()
  const allSuspended = new Set<SuspendedCalls>()
  let endpoint: Promise<HttpEndpoint> | undefined

  async function serverParts(): Promise<ServerParts> {
    if (closing.signal.aborted) throw new Error('This server was closed; create another one')
    const { loadServerSdk } = await import('./load-server-sdk.ts')
    const suspended = new SuspendedCalls()
    allSuspended.add(suspended)
    const info = { name, version, ...(instructions !== undefined && { instructions }) }
    return { loaded: await loadServerSdk(), service, suspended, ...info }
  }

  async function fetch(request: Request, http: McpHttpOptions): Promise<Response> {
    if (closing.signal.aborted) return problem(503, 'this server is closing; connect to another one')
    endpoint ??= openEndpoint().catch((error) => {
      endpoint = undefined // the next request tries again
      report(error) // the answer to the client says nothing about this machine
      throw error
    })
    return (await endpoint).fetch(request, http)
  }

  async function openEndpoint(): Promise<HttpEndpoint> {
    const { openHttpEndpoint } = await import('./http-endpoint.ts')
    return openHttpEndpoint(await serverParts(), report)
  }

  return {
    fetch,
    async serveStdio({ signal, ...streams } = {}) {
      const { serveStdio } = await import('./make-server.ts')
      const parts = await serverParts()
      const either = signal ? AbortSignal.any([signal, closing.signal]) : closing.signal
      try {
        await serveStdio(parts, { ...streams, signal: either }, report)
      } finally {
        parts.suspended.close()
        allSuspended.delete(parts.suspended)
      }
    },
    nodeListener({ token = createMcpToken(), ...others } = {}) {
      const http = { token, ...others }
      checkHttpOptions(http)
      const listen = (incoming: object, outgoing: object): void => {
        void import('./http-endpoint.ts').then(({ answerNode }) =>
          answerNode(incoming as IncomingMessage, outgoing as ServerResponse, (request) => fetch(request, http)),
        )
      }
      return Object.assign(listen, { token })
    },
    async close() {
      closing.abort()
      for (const suspended of allSuspended) suspended.close()
      await (await endpoint?.catch(() => undefined))?.close()
      await service.close()
    },
  }
}

/** The message of a validation error is a page of JSON, and no help. */
function problemOf(error: Error): string {
  return error.name === 'ZodError' ? 'a client sent something that is no JSON-RPC message; skipped' : messageOf(error)
}

function checkOptions({ name, version, agent, sessions }: McpAgentServerOptions): void {
  for (const [field, value] of Object.entries({ name, version }))
    if (typeof value !== 'string' || value === '') throw new TypeError(`${field} must be a text, got ${show(value)}`)
  if (typeof agent !== 'function') throw new TypeError(`agent must be a function that makes one, got ${show(agent)}`)
  const most = sessions?.most
  if (most !== undefined && !(Number.isInteger(most) && most >= 1))
    throw new TypeError(`sessions.most must be a whole number of at least 1, got ${show(most)}`)
}
