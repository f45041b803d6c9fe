/**
 * The program that the MCP project's conformance suite drives: connect to the server at the last argument, list its tools, call them,
 * exit 0. It uses our own client and login, with a person and a browser that agree to everything.
 */
import type { Interact } from '../../src/core/interaction.ts'
import type { ToolContext, ToolDef, ToolResult } from '../../src/core/tool.ts'
import type { McpServerConfig } from '../../src/mcp/config.ts'
import { connectMcpServers } from '../../src/mcp/connect.ts'
import type { McpConnections } from '../../src/mcp/connections.ts'
import { createMemoryMcpCredentialStore } from '../../src/mcp/oauth/credential-store.ts'
import { loginMcpServer } from '../../src/mcp/oauth/login-mcp-server.ts'
import { McpOAuthProvider } from '../../src/mcp/oauth/mcp-oauth-provider.ts'

interface Context {
  readonly client_id?: string
  readonly client_secret?: string
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: Record<string, unknown> }[]
}

const url = process.argv.at(-1) ?? ''
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}') as Context
const config: McpServerConfig = { name: 'suite', transport: 'streamable-http', url, bootstrapTimeout: 20_000 }
const store = createMemoryMcpCredentialStore()
/** With the first one; the suite wants a client to give up after three. */
const mostLogins = 3
let logins = 0

const connections = await connect()
try {
  for (const { name, arguments: input } of callsFor(connections)) await callTool(name, input)
} finally {
  await connections.close()
}

async function connect(): Promise<McpConnections> {
  for (;;) {
    const made = await connectMcpServers([config], { interact }, undefined, {
      buildAuthProvider: ({ name }) => new McpOAuthProvider({ name, store }),
    })
    const [server] = made.servers ?? []
    if (server?.state === 'ready') return made
    const { state, problem } = server ?? {}
    await made.close()
    if (state !== 'needs-login') throw new Error(problem)
    await logIn()
  }
}

async function logIn(): Promise<void> {
  if (++logins > mostLogins) throw new Error(`The server wants a login for the ${logins}th time`)
  const { client_id: id, client_secret: secret } = context
  await loginMcpServer(config, {
    store,
    openBrowser,
    clientMetadataUrl: 'https://conformance-test.local/client-metadata.json',
    ...(id !== undefined && { client: { id, ...(secret !== undefined && { secret }) } }),
  })
}

/** A browser whose user is logged in already: it follows all redirects. */
async function openBrowser(address: string): Promise<void> {
  const { headers } = await fetch(address, { redirect: 'manual' })
  const location = headers.get('location')
  if (location) await fetch(new URL(location, address))
}

/** After a call that needs more scopes, the server needs another login. */
async function callTool(name: string, input: Record<string, unknown>): Promise<void> {
  const tool = connections.tools[`mcp_suite_${name}`]
  if (!tool) throw new Error(`The tool ${name} was not offered`)
  for (;;) {
    const result = await tool.execute(input, contextOf())
    if (!wantsLogin(result)) return
    await logIn()
  }
}

function wantsLogin(result: ToolResult): boolean {
  return /needs a login/.test(JSON.stringify(result))
}

function callsFor({ tools }: McpConnections): readonly { name: string; arguments: Record<string, unknown> }[] {
  if (context.toolCalls) return context.toolCalls
  return Object.values(tools).map((tool) => ({ name: tool.mcp?.tool ?? '', arguments: argumentsFor(tool) }))
}

/** A value of the right type for each required property. */
function argumentsFor({ spec: { inputSchema } }: ToolDef): Record<string, unknown> {
  const { properties = {}, required = [] } = inputSchema as {
    properties?: Record<string, { type?: string }>
    required?: string[]
  }
  const values: Record<string, unknown> = { number: 3, integer: 3, boolean: true, array: [], object: {} }
  return Object.fromEntries(required.map((name) => [name, values[properties[name]?.type ?? ''] ?? 'text']))
}

async function interact({ kind, payload }: Parameters<Interact>[0]): ReturnType<Interact> {
  if (kind === 'Ask') return { status: 'accepted', value: '' }
  if (kind === 'Select') return { status: 'accepted', value: (payload.options as unknown[])[0] }
  return { status: 'accepted', value: true }
}

function contextOf(): ToolContext {
  return { callId: 'c1', signal: new AbortController().signal, interact, progress() {} } as unknown as ToolContext
}
