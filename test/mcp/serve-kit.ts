import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { onTestFinished } from 'vitest'
import { createMcpAgentServer, type McpAgentServer } from '../../src/mcp/serve/agent-server.ts'
import type { McpHttpOptions } from '../../src/mcp/serve/http-guard.ts'
import type { McpAgentServerOptions } from '../../src/mcp/serve/served-agents.ts'

/** Both protocol eras, by their names in the official client. */
export const eras = ['auto', 'legacy'] as const
export type Era = (typeof eras)[number]

export interface Served {
  readonly agentServer: McpAgentServer
  readonly url: URL
  readonly token: string
}

/** An agent server on a port of this machine, closed when the test is over. */
export async function serveHttp(
  options: Pick<McpAgentServerOptions, 'agent'> & Partial<McpAgentServerOptions>,
  http?: Partial<McpHttpOptions>,
): Promise<Served> {
  const agentServer = createMcpAgentServer({ name: 'libero', version: '1.0.0', ...options })
  const listener = agentServer.nodeListener(http)
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    await agentServer.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  return { agentServer, url: new URL(`http://127.0.0.1:${port}/mcp`), token: listener.token }
}

export interface ClientOptions {
  readonly era: Era
  /** The user's answer to each question; without it the client cannot ask. */
  readonly answers?: (message: string, properties: Record<string, unknown>) => Answer | Promise<Answer>
}

export type Answer = { action: 'accept'; content: Record<string, string> } | { action: 'decline' | 'cancel' }

/** The official client. */
export function makeClient({ era, answers }: ClientOptions): Client {
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: era }, capabilities: answers ? { elicitation: {} } : {} },
  )
  if (answers)
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      if (!('requestedSchema' in params)) throw new Error('a form was expected')
      return answers(params.message, params.requestedSchema.properties)
    })
  onTestFinished(() => client.close())
  return client
}

export async function connectHttp(
  { url, token }: Pick<Served, 'url' | 'token'>,
  options: ClientOptions,
): Promise<Client> {
  const client = makeClient(options)
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit, fetch: localFetch }))
  return client
}

export interface Spawned {
  readonly client: Client
  readonly pid: number
  readonly stderr: () => string
}

/** A client with its own server process. */
export async function connectStdio(
  command: { args: readonly string[]; env: Record<string, string>; cwd: string },
  options: ClientOptions,
): Promise<Spawned> {
  const client = makeClient(options)
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [...command.args],
    env: command.env,
    cwd: command.cwd,
    stderr: 'pipe',
  })
  let said = ''
  transport.stderr?.on('data', (chunk) => (said += String(chunk)))
  await client.connect(transport)
  return { client, pid: transport.pid!, stderr: () => said }
}

/** `fetch` over real sockets of this machine: the global one is disabled in tests. */
export const localFetch = async (input: string | URL, init: RequestInit = {}): Promise<Response> => {
  const { method = 'GET', body, signal } = init
  const headers = Object.fromEntries(new Headers(init.headers as Record<string, string>))
  return new Promise((resolve, reject) => {
    const outgoing = request(input, { method, headers, agent: false, ...(signal && { signal }) }, (incoming) => {
      const { statusCode: status = 0 } = incoming
      const isEmpty = status === 204 || status === 304
      const answered = new Headers(incoming.headers as Record<string, string>)
      resolve(
        new Response(isEmpty ? null : (Readable.toWeb(incoming) as ReadableStream), { status, headers: answered }),
      )
    })
    outgoing.on('error', reject)
    outgoing.end(body as string | undefined)
  })
}

/** The texts of a result. */
export function textsOf({ content }: { content: readonly { type: string }[] }): string[] {
  return content.flatMap((block) => ('text' in block && typeof block.text === 'string' ? [block.text] : []))
}

/** Waits until a condition is true; the test's own time limit ends it. */
export async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 20))
}
