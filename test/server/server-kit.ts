import { onTestFinished } from 'vitest'
import { createAuthority } from '../../src/authority/authority.ts'
import type { Provider } from '../../src/core/provider.ts'
import type { ToolDef } from '../../src/core/tool.ts'
import { createAgent, createMemoryStore, createSqliteStore, type SessionStore } from '../../src/index.ts'
import { createServer, type LiberoServer, type ServerOptions } from '../../src/server/index.ts'

export const token = 'a-token-of-at-least-32-characters-0'

export interface TestServer {
  readonly server: LiberoServer
  readonly store: SessionStore
  /** Sends a request with the token. An object is sent as JSON. */
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answered>
  /** Errors that the server reported. */
  readonly errors: Error[]
}

export interface Answered {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every form
  readonly body: any
}

interface Options extends Partial<ServerOptions> {
  /** One for each agent that is opened. */
  readonly provider?: () => Provider
  readonly tools?: Record<string, ToolDef>
}

/** A server in this process whose agents speak a script. */
export async function startServer({ provider, tools = {}, ...options }: Options = {}): Promise<TestServer> {
  const store = options.store ?? createMemoryStore()
  const errors: Error[] = []
  const secret = new Uint8Array(32).fill(7)
  const server = createServer({
    store,
    auth: { token },
    authorityFor: async () => createAuthority({ answerSecret: secret }),
    onError: (error) => errors.push(error),
    async agentFor({ session }) {
      const authority = createAuthority({ mode: 'ask', answerSecret: secret })
      const agent = createAgent({ provider: provider!(), session, tools, authority })
      return { agent, close: () => agent.destroy() }
    },
    ...options,
  })
  onTestFinished(() => server.close())
  return {
    server,
    store,
    errors,
    async call(method, path, body, headers = {}) {
      const isJson = body !== undefined && typeof body !== 'string'
      const response = await server.fetch(
        new Request(`http://127.0.0.1${path}`, {
          method,
          headers: {
            authorization: `Bearer ${token}`,
            ...(isJson && { 'content-type': 'application/json' }),
            ...headers,
          },
          ...(body !== undefined && { body: isJson ? JSON.stringify(body) : String(body) }),
        }),
      )
      const text = await response.text()
      const isJsonAnswer = response.headers.get('content-type')?.includes('json')
      return {
        status: response.status,
        headers: response.headers,
        body: isJsonAnswer && text ? JSON.parse(text) : text,
      }
    },
  }
}

export { createSqliteStore }
