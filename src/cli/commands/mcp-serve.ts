import { UsageError } from '../cli-error.ts'
import { defineCommand, type Flags, type Values } from '../command.ts'
import { checkCost, runFlags } from './run.ts'

const { provider, model, profile, preset, system, thinking, context, sandbox, mode, allow, deny, schema } = runFlags

const serveFlags = {
  http: {
    type: 'optional',
    value: 'port',
    says: 'Serve over HTTP, on this port or any free one; default: stdin and stdout',
  },
  host: { type: 'string', value: 'address', says: 'With --http: the address to listen on; default 127.0.0.1' },
  'allowed-host': {
    type: 'string',
    multiple: true,
    value: 'name',
    says: 'With --http: a host name that clients may use',
  },
  'tools-only': { type: 'boolean', says: 'Offer only the tools' },
  'agent-only': { type: 'boolean', says: 'Offer only the agent, as run_agent' },
  ...{ provider, model, profile, preset, system, thinking, context, sandbox },
  image: { type: 'string', multiple: true, value: 'name', says: 'With --context docker: the container’s image' },
  ...{ mode, allow, deny },
  'max-turns': runFlags['max-turns'],
  'max-cost': runFlags['max-cost'],
  schema: { ...schema, says: 'run_agent also answers as JSON that matches this JSON Schema' },
  cwd: runFlags.cwd,
} as const satisfies Flags

/** The flags of `libero mcp-serve`, as they were given. */
export type McpServeValues = Values<typeof serveFlags>

export const command = defineCommand({
  name: 'mcp-serve',
  summary: 'Run as an MCP server that offers the tools and the agent to other programs',
  details: [
    'Clients get the tools that a model would get in this folder, and run_agent, which gives a task to the agent. Rules and modes apply as in libero run. Approvals are requested from the client’s user; for a client that cannot ask, the call is refused with the reason.',
    'Over stdio the server ends with its client. Over HTTP it listens on this machine only, and every request needs the token that is printed on stderr or set in LIBERO_MCP_TOKEN.',
  ],
  flags: serveFlags,
  examples: [
    { line: 'libero mcp-serve --tools-only --profile plan', says: 'Read-only tools, for a client that starts it' },
    { line: 'libero mcp-serve --http 7777 --allow "shell:npm test"', says: 'For clients that connect to it' },
  ],
  async run({ values }, io) {
    const checked = check(values)
    if (checked.http !== undefined) return (await import('../mcp-serve/serve.ts')).overHttp(checked, io)
    // Before anything else is loaded: its output must not mix with the messages.
    const { reserveStdout } = await import('../rpc/reserve-stdout.ts')
    const { frames, restore } = reserveStdout(io)
    try {
      return await (await import('../mcp-serve/serve.ts')).overStdio(checked, io, frames)
    } catch (error) {
      restore()
      throw error
    }
  },
})

/** Rejects flags that cannot be combined, before anything starts. */
function check(values: McpServeValues): McpServeValues {
  if (values['tools-only'] && values['agent-only'])
    throw new UsageError('--tools-only and --agent-only do not go together; choose one of them')
  if (values.sandbox && values.context)
    throw new UsageError('--sandbox and --context do not go together; choose one of them')
  const { http, host } = values
  const port = Number(http)
  if (typeof http === 'string' && !(Number.isInteger(port) && port >= 0 && port <= 65_535))
    throw new UsageError(`--http takes a port from 0 to 65535, got "${http}"`)
  if (http === undefined && (host !== undefined || values['allowed-host']))
    throw new UsageError('--host and --allowed-host apply to HTTP only; add --http')
  if (host !== undefined && !isLoopback(host) && !values['allowed-host'])
    throw new UsageError(
      `--host ${host} can be reached by other machines: name the allowed host names with --allowed-host, or leave --host out`,
    )
  const wild = values['allowed-host']?.find((name) => name === '' || name.includes('*'))
  if (wild !== undefined)
    throw new UsageError(`--allowed-host must be a name such as tools.example.com, without wildcards, got "${wild}"`)
  checkCost(values)
  return values
}

const isLoopback = (host: string): boolean => /^(localhost|127(\.\d+){3}|::1)$/.test(host)
