import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { Writable } from 'node:stream'
import { messageOf } from '../../core/errors.ts'
import { version } from '../../core/version.ts'
import { createMcpAgentServer, type McpAgentServer } from '../../mcp/serve/agent-server.ts'
import type { MakeAgent } from '../../mcp/serve/served-agents.ts'
import { visibleText } from '../../platform/visible-text.ts'
import { CliError } from '../cli-error.ts'
import type { McpServeValues } from '../commands/mcp-serve.ts'
import type { RunValues } from '../commands/run.ts'
import type { Io } from '../io.ts'
import { resolveCwd } from '../run/flag-files.ts'
import { openAgent } from '../run/open-agent.ts'
import { addressOf } from '../serve/node-server.ts'
import { untilStopped } from '../until-stopped.ts'

/** Opens the MCP server for the agent that flags and settings ask for. Throws if they are invalid, before a client connects. */
export async function openAgentServer(values: McpServeValues, io: Io): Promise<McpAgentServer> {
  const cwd = await resolveCwd(values.cwd, io)
  const notices = new Set<string>()
  const notify = (text: string): void => {
    if (notices.has(text) || notices.size >= maxNotices) return
    notices.add(text)
    io.err(`libero: ${visibleText(text)}`)
  }
  // Tools can be offered without a model.
  const noModel = values['tools-only'] ? { mayGoOffline: async () => true } : {}
  const make: MakeAgent = async ({ interactors: [person] }) => {
    const opened = await openAgent(runValuesOf(values), {
      command: 'mcp-serve',
      io,
      cwd,
      ...noModel,
      ...(person && { person }),
    })
    for (const notice of opened.notices) notify(notice)
    const { agent, thinking, chosen, close } = opened
    return { agent, run: { model: chosen.model, ...(thinking !== undefined && { thinking }) }, close }
  }
  const tried = await make({ interactors: [] })
  if ('close' in tried) await tried.close()
  return createMcpAgentServer({
    name: 'libero',
    version,
    agent: make,
    expose: { agent: !values['tools-only'], tools: !values['agent-only'] },
    onError: notify,
  })
}

/** Sessions are not stored: conversations end with the server. */
function runValuesOf(values: McpServeValues): RunValues {
  const { http: _, host: __, 'allowed-host': ___, 'tools-only': ____, 'agent-only': _____, ...run } = values
  return { ...run, 'no-session': true }
}

/** A limit, so that a faulty client cannot fill a log. */
const maxNotices = 200

/** Serves clients that have the token over HTTP, until a signal arrives. */
export async function overHttp(values: McpServeValues, io: Io): Promise<number> {
  const { http, host = '127.0.0.1', 'allowed-host': allowedHosts } = values
  const token = io.env.LIBERO_MCP_TOKEN
  if (token !== undefined && token.length < 32)
    throw new CliError('LIBERO_MCP_TOKEN is too short: use at least 32 characters, or unset it')
  const agentServer = await openAgentServer(values, io)
  return untilStopped(io, async (signal) => {
    const listener = agentServer.nodeListener({ ...(token && { token }), ...(allowedHosts && { allowedHosts }) })
    const server = createServer({ requestTimeout: 30_000, headersTimeout: 10_000, maxHeaderSize: 16_384 }, listener)
    server.maxConnections = 256
    try {
      await listen(server, typeof http === 'string' ? Number(http) : 0, host)
      io.err(`libero: MCP at ${addressOf(server)}/mcp`)
      io.err(
        token
          ? 'libero: clients need the token of LIBERO_MCP_TOKEN'
          : `libero: clients need this token: ${listener.token}`,
      )
      if (!signal.aborted) await once(signal, 'abort')
    } finally {
      await agentServer.close()
      server.closeAllConnections()
      server.close()
    }
  })
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) =>
      reject(
        new CliError(`cannot listen at ${host} port ${port}: ${messageOf(cause)}; choose another with --http`, 1, {
          cause,
        }),
      ),
    )
    server.listen(port, host, resolve)
  })
}

/** Serves one client over stdin and the reserved stdout, until it disconnects. */
export async function overStdio(values: McpServeValues, io: Io, frames: Writable): Promise<number> {
  const agentServer = await openAgentServer(values, io)
  return untilStopped(io, async (signal) => {
    try {
      await agentServer.serveStdio({ input: io.stdin, output: frames, signal })
    } finally {
      await agentServer.close()
    }
  })
}
