import { UsageError } from '../cli-error.ts'
import { defineCommand, type Flags, type Values } from '../command.ts'
import { checkCost, runFlags } from './run.ts'

const { provider, model, profile, preset, system, thinking, context, sandbox, mode, allow, deny, schema } = runFlags

const serveFlags = {
  http: {
    type: 'optional',
    value: 'port',
    says: 'Over HTTP, at this port or any free one; default: over stdin and stdout',
  },
  host: { type: 'string', value: 'address', says: 'With --http: the address to listen at; default 127.0.0.1' },
  'allowed-host': {
    type: 'string',
    multiple: true,
    value: 'name',
    says: 'With --http: a name that clients call it by',
  },
  'tools-only': { type: 'boolean', says: 'Offer the tools, not the agent' },
  'agent-only': { type: 'boolean', says: 'Offer the agent as run_agent, not its tools' },
  ...{ provider, model, profile, preset, system, thinking, context, sandbox },
  image: { type: 'string', multiple: true, value: 'name', says: 'With --context docker: the container’s image' },
  ...{ mode, allow, deny },
  'max-turns': runFlags['max-turns'],
  'max-cost': runFlags['max-cost'],
  schema: { ...schema, says: 'run_agent answers as JSON of this JSON Schema, too' },
  cwd: runFlags.cwd,
} as const satisfies Flags

/** The flags of `libero mcp-serve`, as they were given. */
export type McpServeValues = Values<typeof serveFlags>

export const command = defineCommand({
  name: 'mcp-serve',
  summary: 'Be an MCP server: lend its tools, and itself, to other programs',
  details: [
    'Clients get the tools that a model would be offered here, and run_agent, which gives a task to the agent. Rules and modes hold as in libero run. What has to be approved is asked of the client’s user; a client that cannot ask gets a refusal that says what was missing.',
    'Over stdio it ends with its client. Over HTTP it listens on this machine only, and every request needs the token that is printed on stderr, or that LIBERO_MCP_TOKEN holds.',
  ],
  flags: serveFlags,
  examples: [
    { line: 'libero mcp-serve --tools-only --profile plan', says: 'Tools that only look, for a client that starts it' },
    { line: 'libero mcp-serve --http 7777 --allow "shell:npm test"', says: 'For clients that connect to it' },
  ],
  async run({ values }, io) {
    const checked = check(values)
    if (checked.http !== undefined) return (await import('../mcp-serve/serve.ts')).overHttp(checked, io)
    // Before anything else is loaded: whatever that says must not get between the messages.
    const { reserveStdout } = await import('../rpc/own-stdout.ts')
    const { frames, restore: giveBack } = reserveStdout(io)
    try {
      return await (await import('../mcp-serve/serve.ts')).overStdio(checked, io, frames)
    } catch (error) {
      giveBack()
      throw error
    }
  },
})

/** Flags that mean nothing together are found before anything starts. */
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
    throw new UsageError('--host and --allowed-host are about HTTP; add --http')
  if (host !== undefined && !isLoopback(host) && !values['allowed-host'])
    throw new UsageError(
      `--host ${host} can be reached by other machines: say by which names with --allowed-host, or leave it out`,
    )
  const wild = values['allowed-host']?.find((name) => name === '' || name.includes('*'))
  if (wild !== undefined)
    throw new UsageError(`--allowed-host must be a name such as tools.example.com, without wildcards, got "${wild}"`)
  checkCost(values)
  return values
}

const isLoopback = (host: string): boolean => /^(localhost|127(\.\d+){3}|::1)$/.test(host)
