import type { IncomingMessage, ServerResponse } from 'node:http'
import { show } from '../../core/behavior.ts'
import { messageOf } from '../../core/errors.ts'
import type { McpFaceOptions } from './face-options.ts'
import { FaceWork } from './face-work.ts'
import type { HttpDoor } from './http-door.ts'
import { checkHttpOptions, createMcpToken, type McpHttpOptions, problem } from './http-guard.ts'
import type { ServerParts } from './make-server.ts'
import type { McpStdioOptions } from './stdio-options.ts'
import { WaitingCalls } from './waiting-calls.ts'

/** An agent as an MCP server. */
export interface McpFace {
  /** Resolves when the client closes its end; what it had under way is stopped then. */
  serveStdio(options?: McpStdioOptions): Promise<void>
  /** For `http.createServer`. Its `token` is what clients need. */
  nodeListener(options?: Partial<McpHttpOptions>): McpNodeListener
  /** For servers that speak `Request` and `Response`. */
  fetch(request: Request, options: McpHttpOptions): Promise<Response>
  /** Stops what is under way, and lets go of all agents. */
  close(): Promise<void>
}

export interface McpNodeListener {
  /** An `IncomingMessage` and a `ServerResponse` of Node's. */
  (incoming: object, outgoing: object): void
  readonly token: string
}

/** Shows an agent to MCP clients of both eras. Nothing is loaded or made before the first of them comes. */
export function createMcpFace(options: McpFaceOptions): McpFace {
  checkOptions(options)
  const { name, version, instructions, onError } = options
  const work = new FaceWork(options)
  const report = (error: Error): void => onError?.(problemOf(error))
  const closing = new AbortController()
  const waitings = new Set<WaitingCalls>()
  let door: Promise<HttpDoor> | undefined

  async function parts(): Promise<ServerParts> {
    if (closing.signal.aborted) throw new Error('This face was closed; create another one')
    const { loadServerSdk } = await import('./load-server-sdk.ts')
    const waiting = new WaitingCalls()
    waitings.add(waiting)
    return {
      loaded: await loadServerSdk(),
      work,
      waiting,
      name,
      version,
      ...(instructions !== undefined && { instructions }),
    }
  }

  async function fetch(request: Request, http: McpHttpOptions): Promise<Response> {
    if (closing.signal.aborted) return problem(503, 'this server is closing; connect to another one')
    door ??= openDoor().catch((error) => {
      door = undefined // the next request tries again
      report(error) // who asked is told nothing of this machine
      throw error
    })
    return (await door).fetch(request, http)
  }

  async function openDoor(): Promise<HttpDoor> {
    const { openHttpDoor } = await import('./http-door.ts')
    return openHttpDoor(await parts(), report)
  }

  return {
    fetch,
    async serveStdio({ signal, ...streams } = {}) {
      const { serveStdio } = await import('./serve-stdio.ts')
      const made = await parts()
      const both = signal ? AbortSignal.any([signal, closing.signal]) : closing.signal
      try {
        await serveStdio(made, { ...streams, signal: both }, report)
      } finally {
        made.waiting.close()
        waitings.delete(made.waiting)
      }
    },
    nodeListener({ token = createMcpToken(), ...others } = {}) {
      const http = { token, ...others }
      checkHttpOptions(http)
      const listen = (incoming: object, outgoing: object): void => {
        void import('./node-listener.ts').then(({ answerNode }) =>
          answerNode(incoming as IncomingMessage, outgoing as ServerResponse, (request) => fetch(request, http)),
        )
      }
      return Object.assign(listen, { token })
    },
    async close() {
      closing.abort()
      for (const waiting of waitings) waiting.close()
      await (await door?.catch(() => undefined))?.close()
      await work.close()
    },
  }
}

/** What a parser says of a line that is no message is a page of JSON, and no help. */
function problemOf(error: Error): string {
  return error.name === 'ZodError' ? 'a client sent something that is no JSON-RPC message; skipped' : messageOf(error)
}

function checkOptions({ name, version, agent, sessions }: McpFaceOptions): void {
  for (const [field, value] of Object.entries({ name, version }))
    if (typeof value !== 'string' || value === '') throw new TypeError(`${field} must be a text, got ${show(value)}`)
  if (typeof agent !== 'function') throw new TypeError(`agent must be a function that makes one, got ${show(agent)}`)
  const most = sessions?.most
  if (most !== undefined && !(Number.isInteger(most) && most >= 1))
    throw new TypeError(`sessions.most must be a whole number of at least 1, got ${show(most)}`)
}
