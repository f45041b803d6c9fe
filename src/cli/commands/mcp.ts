import { defineCommand } from '../command.ts'
import { runFlags } from './run.ts'

const { cwd } = runFlags
const json = (says: string) => ({ type: 'boolean', says }) as const

const list = defineCommand({
  name: 'list',
  summary: 'List the MCP servers an agent has in this folder, and where each comes from',
  details: ['Starts no server and connects to none. Of environments and headers only the names are shown.'],
  flags: { mcp: runFlags.mcp, cwd, json: json('Print one JSON object: { servers, notices }') },
  examples: [{ line: 'libero mcp', says: 'Your own and the project’s, including those that are not trusted yet' }],
  run: async (given, io) => (await import('../mcp/list.ts')).list(given.values, io),
})

const add = defineCommand({
  name: 'add',
  summary: 'Add a server to your own config.json',
  words: '<name> <url> | <name> -- <command> [args…]',
  details: [
    'Everything after -- is the command, word by word: it runs without a shell, with your permissions, and none of it is read as a flag of libero.',
    `Better not to store keys: --env 'TOKEN=\${TOKEN}' and --header 'Authorization: Bearer \${TOKEN}', in single quotes, take the value from the environment of each run.`,
  ],
  flags: {
    transport: {
      type: 'string',
      choices: ['stdio', 'http', 'sse'],
      says: 'The transport; default: from the address or command',
    },
    env: { type: 'string', multiple: true, value: 'K=V', says: 'An environment variable of the server' },
    header: { type: 'string', multiple: true, value: 'K: V', says: 'A header to send with every request' },
    auth: { type: 'string', choices: ['oauth'], says: 'The server needs a login; see libero mcp login' },
    lazy: { type: 'boolean', says: 'Give the model the schemas of its tools only when it asks' },
    'bootstrap-timeout': { type: 'string', value: 'ms', min: 1, says: 'Time limit for connecting; default 10000' },
    json: { type: 'string', value: 'entry', says: 'The whole entry as JSON, as in .mcp.json' },
    force: { type: 'boolean', says: 'Replace a server of that name' },
  },
  examples: [
    { line: 'libero mcp add docs https://docs.example/mcp', says: 'A server on the web' },
    { line: 'libero mcp add fs -- npx -y @modelcontextprotocol/server-filesystem@2026.1.14 .', says: 'A program' },
    {
      line: `libero mcp add fs --json '{"command": "my-server", "args": ["."]}'`,
      says: 'An entry as other programs write it',
    },
  ],
  run: async (given, io) => (await import('../mcp/edit-servers.ts')).add(given, io),
})

const remove = defineCommand({
  name: 'remove',
  summary: 'Remove a server from your own config.json',
  words: '<name>',
  maxWords: 1,
  details: ['A login to the server is kept unless --forget is given.'],
  flags: { forget: { type: 'boolean', says: 'Delete its login too' } },
  examples: [{ line: 'libero mcp remove docs --forget', says: 'Removes the server and its login' }],
  run: async ({ values, words }, io) => (await import('../mcp/edit-servers.ts')).remove(words[0], values, io),
})

const login = defineCommand({
  name: 'login',
  summary: 'Log in to a server through the browser',
  words: '<name>',
  maxWords: 1,
  details: [
    'The browser must run on this machine, because the login redirects to it. The login is stored in mcp/credentials.json in your own folder, readable only by you, and is renewed automatically.',
  ],
  flags: {
    'no-browser': { type: 'boolean', says: 'Only print the address' },
    'client-id': {
      type: 'string',
      value: 'id',
      says: 'The id of a client you registered, with the redirect http://127.0.0.1/callback',
    },
    'client-secret-env': { type: 'string', value: 'name', says: 'The environment variable with that client’s secret' },
    scope: { type: 'string', multiple: true, value: 'scope', says: 'A further scope to request' },
    cwd,
  },
  examples: [{ line: 'libero mcp login tracker', says: 'Opens the browser; the next run has its tools' }],
  run: async ({ values, words }, io) => (await import('../mcp/login.ts')).logIn(words[0], values, io),
})

const logout = defineCommand({
  name: 'logout',
  summary: 'Delete the login to a server, and revoke its tokens',
  words: '<name>',
  maxWords: 1,
  flags: { cwd },
  examples: [{ line: 'libero mcp logout tracker', says: 'Tokens are revoked if the server supports it' }],
  run: async ({ values, words }, io) => (await import('../mcp/login.ts')).logOut(words[0], values, io),
})

const test = defineCommand({
  name: 'test',
  summary: 'Connect to servers, and show their tools',
  words: '<name>… | all',
  details: ['Exit code 1 if one of them fails. Servers are stopped afterwards.'],
  flags: { mcp: runFlags.mcp, cwd, json: json('Print one JSON object: { servers }') },
  examples: [
    { line: 'libero mcp test fs', says: 'Its protocol and tools, or its error output' },
    { line: 'libero mcp test all', says: 'Your servers, and the accepted ones of the project' },
  ],
  run: async (given, io) => (await import('../mcp/test-servers.ts')).testServers(given, io),
})

export const command = defineCommand({
  name: 'mcp',
  summary: 'List, add, remove, test and log in to MCP servers',
  details: [
    'The tools of a server are named mcp_<server>_<tool>. Servers come from --mcp, from mcpServers in your own config.json, and from .mcp.json and .libero/mcp.json of a project; each server of a project must be accepted before it is started, and again when it changes. Of two servers with the same name, yours is used.',
    'A server that fails or is late does not stop a run: the run continues without its tools, with a notice.',
  ],
  examples: [
    { line: 'libero mcp', says: 'The servers an agent has in this folder' },
    { line: 'libero mcp add docs https://docs.example/mcp', says: 'A server for every run' },
    { line: 'libero mcp test all', says: 'Whether they work' },
  ],
  commands: [list, add, remove, login, logout, test],
  defaultCommand: 'list',
})
