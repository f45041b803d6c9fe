import { onTestFinished } from 'vitest'
import { createAuthority } from '../../src/authority/authority.ts'
import type { Provider } from '../../src/core/provider.ts'
import type { ToolDef } from '../../src/core/tool.ts'
import { createAgent, createMemoryStore, type SessionStore } from '../../src/index.ts'
import { createServer, type LiberoServer, type ServerOptions } from '../../src/server/index.ts'
import { scripted } from '../../src/testing/index.ts'

export const token = 'a-token-of-at-least-32-characters-0'

export interface TestServer {
  readonly server: LiberoServer
  readonly store: SessionStore
  /** Sends a request with the token. An object is sent as JSON. */
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answered>
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
    async send(method, path, body, headers = {}) {
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
      const isJsonAnswer = response.headers.get('content-type')?.endsWith('json')
      return {
        status: response.status,
        headers: response.headers,
        body: isJsonAnswer && text ? JSON.parse(text) : text,
      }
    },
  }
}

/** A provider whose first answer waits until `open` is called. */
export function gated(...replies: Parameters<typeof scripted>): {
  readonly provider: Provider
  open(): void
  /** The requests that it got. */
  readonly requests: unknown[]
} {
  const script = scripted(...replies)
  const requests: unknown[] = []
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => void (open = resolve))
  const provider: Provider = {
    ...script,
    async *stream(request, signal) {
      requests.push(request)
      if (requests.length === 1)
        await Promise.race([
          opened,
          new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
        ])
      return yield* script.stream(request, signal)
    },
  }
  return { provider, open: () => open(), requests }
}

/** A tool that may run beside others. */
export const tool = (name: string, more: Partial<ToolDef> = {}): ToolDef =>
  ({
    gated: false,
    spec: { name, description: name, inputSchema: { type: 'object' } },
    execute: async () => `${name} done`,
    ...more,
  }) as ToolDef

/** Waits, bounded, until something is so. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let i = 0; i < 2000; i++) {
    if (await isSo()) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error('it took too long')
}
