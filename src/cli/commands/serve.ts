import { UsageError } from '../cli-error.ts'
import { defineCommand, type Flags, type Values } from '../command.ts'
import { checkServed, runFlags, servedFlags } from './run.ts'

/** The flags of every command that serves sessions. */
export const serveFlags = {
  port: { type: 'string', value: 'n', min: 0, says: 'The port to listen on; default: any free one' },
  host: { type: 'string', value: 'address', says: 'The address to listen on; default 127.0.0.1' },
  'allowed-host': {
    type: 'string',
    multiple: true,
    value: 'name',
    says: 'A host name that clients may use, beside localhost',
  },
  'allowed-origin': {
    type: 'string',
    multiple: true,
    value: 'origin',
    says: 'A web site whose pages may call the server, such as https://app.example.com; default: none',
  },
  'webhook-host': {
    type: 'string',
    multiple: true,
    value: 'host',
    says: 'A host of this machine or network that webhooks may lead to, such as localhost:8080; default: public ones only',
  },
  fleet: {
    type: 'string',
    value: 'file',
    says: 'Serve the sessions of a fleet, whose workers run them: the module for libero worker --config',
  },
  ...servedFlags,
  cwd: { ...runFlags.cwd, says: 'The folder for sessions that have none' },
} as const satisfies Flags

/** The flags of `libero serve`, as they were given. */
export type ServeValues = Values<typeof serveFlags>

export const command = defineCommand({
  name: 'serve',
  summary: 'Serve sessions and agents to other programs over HTTP',
  details: [
    'Other programs send messages, answer what waits, stop and follow sessions (docs/server.md). Sessions are those of this user: one that was begun with libero run can be continued here, and the other way round. An agent works in the folder of its session, else in the folder in which the server was started. Calls that need an approval wait until a client answers.',
    'Prints “listening on http://127.0.0.1:PORT” on stdout as soon as it answers. Every request needs the token of LIBERO_SERVER_TOKEN; without one, a token is made and kept in ~/.libero/server-token.',
    'Ctrl-C and SIGTERM end it. Runs under way are continued at the next start, and so is the work of a server that was killed. It also wakes agents by their schedules, unless another program does.',
  ],
  flags: serveFlags,
  examples: [
    { line: 'libero serve --port 7777', says: 'On this machine only' },
    {
      line: 'libero serve --port 7777 --host 0.0.0.0 --allowed-host box.example.com',
      says: 'For other machines; put a proxy with TLS before it',
    },
    { line: 'libero serve --profile plan', says: 'Agents that read and change nothing' },
    { line: 'libero serve --fleet fleet.ts --port 7777', says: 'In front of any number of libero worker processes' },
  ],
  run: async ({ values }, io) => (await import('../serve/serve.ts')).serve(checkServe(values), io),
})

/** Rejects flags that cannot be combined, before anything starts. */
export function checkServe<Given extends ServeValues>(values: Given): Given {
  const { host, port, 'allowed-host': hosts = [], 'allowed-origin': origins = [] } = values
  if (port !== undefined && Number(port) > 65_535)
    throw new UsageError(`--port takes a port from 0 to 65535, got "${port}"`)
  if (host !== undefined && !isLoopback(host) && hosts.length === 0)
    throw new UsageError(
      `--host ${host} can be reached by other machines: name the allowed host names with --allowed-host, or leave --host out`,
    )
  const wild = hosts.find((name) => name === '' || /[*/\s]/.test(name))
  if (wild !== undefined)
    throw new UsageError(`--allowed-host must be a name such as box.example.com, without wildcards, got "${wild}"`)
  const noOrigin = origins.find((one) => URL.parse(one)?.origin !== one)
  if (noOrigin !== undefined)
    throw new UsageError(
      `--allowed-origin must be an origin such as https://app.example.com, without a path, got "${noOrigin}"`,
    )
  checkServed(values)
  return values
}

const isLoopback = (host: string): boolean => /^(localhost|127(\.\d+){3}|::1)$/.test(host)
