import { defineCommand } from '../command.ts'
import { runFlags } from './run.ts'

const { cwd } = runFlags
const json = (says: string) => ({ type: 'boolean', says }) as const

const list = defineCommand({
  name: 'list',
  summary: 'List the MCP servers an agent has here, and where each comes from',
  details: ['Nothing is started and nobody is called. Of environments and headers only the names are shown.'],
  flags: { mcp: runFlags.mcp, cwd, json: json('One JSON object on stdout: { servers, notices }') },
  examples: [{ line: 'libero mcp', says: 'Your own, and those of the project, also where they wait to be trusted' }],
  run: async (given, io) => (await import('../mcp/list.ts')).list(given.values, io),
})

const add = defineCommand({
  name: 'add',
  summary: 'Add a server to your own config.json',
  words: '<name> <url> | <name> -- <command> [args…]',
  details: [
    'Everything after -- is the command, word by word: it is run without a shell, and none of it is a flag of ours. Whatever it starts can do what you can.',
    `Keys are better not written down: --env 'TOKEN=\${TOKEN}' and --header 'Authorization: Bearer \${TOKEN}', between single quotes, are taken from the environment of each run.`,
  ],
  flags: {
    transport: {
      type: 'string',
      choices: ['stdio', 'http', 'sse'],
      says: 'How it is reached; default by what is given',
    },
    env: { type: 'string', multiple: true, value: 'K=V', says: 'A variable of its environment' },
    header: { type: 'string', multiple: true, value: 'K: V', says: 'A header of every request' },
    auth: { type: 'string', choices: ['oauth'], says: 'It wants a login; see libero mcp login' },
    lazy: { type: 'boolean', says: 'The model gets the schemas of its tools when it asks for them' },
    'bootstrap-timeout': { type: 'string', value: 'ms', min: 1, says: 'Until it has to be connected; default 10000' },
    json: { type: 'string', value: 'entry', says: 'The entry as JSON, as in .mcp.json, in place of all that' },
    force: { type: 'boolean', says: 'Replace one of that name' },
  },
  examples: [
    { line: 'libero mcp add docs https://docs.example/mcp', says: 'A server on the web' },
    { line: 'libero mcp add fs -- npx -y @modelcontextprotocol/server-filesystem@2026.1.14 .', says: 'A program' },
    { line: `libero mcp add fs --json '{"command": "my-server", "args": ["."]}'`, says: 'As others write it' },
  ],
  run: async (given, io) => (await import('../mcp/edit-servers.ts')).add(given, io),
})

const remove = defineCommand({
  name: 'remove',
  summary: 'Take a server out of your own config.json',
  words: '<name>',
  maxWords: 1,
  details: ['A login to it is kept, for when it comes back, unless it is to be forgotten.'],
  flags: { forget: { type: 'boolean', says: 'End its login too' } },
  examples: [{ line: 'libero mcp remove docs --forget', says: 'As if it had never been there' }],
  run: async ({ values, words }, io) => (await import('../mcp/edit-servers.ts')).remove(words[0], values, io),
})

const login = defineCommand({
  name: 'login',
  summary: 'Log in to a server through the browser',
  words: '<name>',
  maxWords: 1,
  details: [
    'The browser has to run on this machine, where it comes back to. The login is stored in mcp/credentials.json in your own folder, which only you may read, and is renewed by itself.',
  ],
  flags: {
    'no-browser': { type: 'boolean', says: 'Print the address only' },
    'client-id': { type: 'string', value: 'id', says: 'A client that you registered, for http://127.0.0.1/callback' },
    'client-secret-env': { type: 'string', value: 'name', says: 'The variable that holds that client’s secret' },
    scope: { type: 'string', multiple: true, value: 'scope', says: 'Ask for this beside what the server wants' },
    cwd,
  },
  examples: [{ line: 'libero mcp login tracker', says: 'Opens the browser; the next run has its tools' }],
  run: async ({ values, words }, io) => (await import('../mcp/login.ts')).logIn(words[0], values, io),
})

const logout = defineCommand({
  name: 'logout',
  summary: 'Forget the login to a server, and tell the server so',
  words: '<name>',
  maxWords: 1,
  flags: { cwd },
  examples: [{ line: 'libero mcp logout tracker', says: 'Its tokens are revoked where that is possible' }],
  run: async ({ values, words }, io) => (await import('../mcp/login.ts')).logOut(words[0], values, io),
})

const test = defineCommand({
  name: 'test',
  summary: 'Connect to servers, and show what they offer',
  words: '<name>… | all',
  details: ['Ends with 1 where one of them fails. Nothing of them is left running.'],
  flags: { mcp: runFlags.mcp, cwd, json: json('One JSON object on stdout: { servers }') },
  examples: [
    { line: 'libero mcp test fs', says: 'Its protocol, its tools, or what it said before it failed' },
    { line: 'libero mcp test all', says: 'Every server of yours, and those accepted of the project' },
  ],
  run: async (given, io) => (await import('../mcp/test-servers.ts')).testServers(given, io),
})

export const command = defineCommand({
  name: 'mcp',
  summary: 'List, add, remove, test and log in to MCP servers',
  details: [
    'The tools of a server are called mcp_<server>_<tool>. Servers come from --mcp, from mcpServers in your own config.json, and from .mcp.json and .libero/mcp.json of a project, of which each server has to be accepted before it is started, and again when it changes. Yours count before a project’s of the same name.',
    'A server that fails, or is late, does not stop a run: it goes on without its tools, and says so.',
  ],
  examples: [
    { line: 'libero mcp', says: 'Those an agent has here' },
    { line: 'libero mcp add docs https://docs.example/mcp', says: 'One for every run' },
    { line: 'libero mcp test all', says: 'Whether they work' },
  ],
  commands: [list, add, remove, login, logout, test],
  defaultCommand: 'list',
})
