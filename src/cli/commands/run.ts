import { UsageError } from '../cli-error.ts'
import { defineCommand, type ParsedArgs, type Values } from '../command.ts'

/** What a run can be told on the command line. */
export const runFlags = {
  prompt: { type: 'string', short: 'p', value: 'text', says: 'The task, in place of words' },
  provider: {
    type: 'string',
    value: 'name',
    says: 'Whose model: anthropic, openai, openrouter, cerebras, google, ollama, offline, …',
  },
  model: { type: 'string', short: 'm', value: 'name', says: 'Which model; provider/name chooses both' },
  profile: { type: 'string', choices: ['build', 'plan'], says: 'build works, plan only looks' },
  preset: { type: 'string', choices: ['basic', 'coding', 'build', 'plan'], says: 'Which set of tools' },
  system: { type: 'string', value: 'text', says: 'Added to the system prompt' },
  thinking: {
    type: 'string',
    choices: ['off', 'minimal', 'low', 'medium', 'high'],
    says: 'How much the model thinks before it answers',
  },
  context: {
    type: 'string',
    choices: ['process', 'docker'],
    says: 'Where tools run: on this machine, or in a container',
  },
  sandbox: { type: 'boolean', says: 'Run tools behind the walls of the kernel (Linux, bubblewrap)' },
  image: {
    type: 'string',
    multiple: true,
    value: 'file',
    says: 'A picture to look at; with --context docker, the container’s image',
  },
  mode: {
    type: 'string',
    choices: ['ask', 'allowlist', 'yolo', 'plan'],
    says: 'How much is asked before something is done',
  },
  allow: { type: 'string', multiple: true, value: 'rule', says: 'Allow without asking, such as "shell:npm test"' },
  deny: { type: 'string', multiple: true, value: 'rule', says: 'Never allow, such as "net"' },
  yolo: { type: 'boolean', says: 'Mode yolo, and yes to every question; what cannot be undone is refused' },
  resume: { type: 'optional', short: 'r', value: 'id', says: 'Go on with a session; without an id, choose one' },
  continue: { type: 'boolean', short: 'c', says: 'Go on with the latest session of this folder' },
  fork: { type: 'boolean', says: 'With --resume or --continue: go on in a copy' },
  'no-session': { type: 'boolean', says: 'Keep no session' },
  'max-turns': { type: 'string', value: 'n', min: 1, says: 'Stop after so many model calls (default 100)' },
  'max-cost': { type: 'string', value: 'dollars', says: 'Stop before it costs more' },
  mcp: {
    type: 'string',
    multiple: true,
    value: 'json',
    says: 'An MCP server for this run, as JSON: {"name": "fs", "command": "my-server"}',
  },
  skill: { type: 'string', multiple: true, value: 'name', says: 'Begin with this skill; libero skills lists them' },
  schema: {
    type: 'string',
    value: 'file',
    says: 'Answer as JSON of this JSON Schema, and print nothing else on stdout',
  },
  json: { type: 'boolean', says: 'Print zot’s events as JSON lines; nobody is asked' },
  events: { type: 'boolean', says: 'Print Libero’s own events as JSON lines, and take commands and answers on stdin' },
  after: {
    type: 'string',
    value: 'seq',
    min: 0,
    says: 'With --events and --resume: first replay what came after this event',
  },
  quiet: { type: 'boolean', short: 'q', says: 'Print the final answer only' },
  cwd: { type: 'string', value: 'folder', says: 'Work there' },
} as const

export type RunValues = Values<typeof runFlags>

export const command = defineCommand({
  name: 'run',
  summary: 'Work on a task (what `libero "task"` does)',
  words: '[task]',
  details: [
    'The answer goes to stdout, everything else to stderr. What is piped in is added to the task; the word - waits for it.',
    'Ctrl-C stops and keeps the session; twice quits at once. At a terminal, without a task, it is a conversation.',
  ],
  flags: runFlags,
  examples: [
    { line: 'libero "find the failing test and fix it"', says: 'Works here, and asks before it changes something' },
    { line: 'git diff | libero "review this" -q', says: 'Reads from a pipe, prints the answer only' },
    { line: 'libero -c "now write a test for it"', says: 'Goes on with the last session of this folder' },
    { line: 'libero --profile plan "how would you add a login?"', says: 'Looks, and changes nothing' },
    { line: 'libero --provider offline "list the files in src"', says: 'Without a key or a network' },
    {
      line: `libero --mcp '{"name": "docs", "url": "https://docs.example/mcp"}' "what changed in 2.0?"`,
      says: 'With the tools of an MCP server; libero mcp keeps them for every run',
    },
    { line: 'libero --schema person.json "who wrote this?" | jq .name', says: 'An answer for a program' },
  ],
  run: async (given, io) => (await import('../run/run-task.ts')).runTask(checked(given), io),
})

/** Flags that do not go together are found before anything starts. */
function checked<G extends ParsedArgs<typeof runFlags>>(given: G): G {
  const { values } = given
  const both = (one: keyof RunValues, other: keyof RunValues): void => {
    if (values[one] && values[other])
      throw new UsageError(`--${one} and --${other} do not go together; choose one of them`)
  }
  both('json', 'events')
  both('json', 'quiet')
  both('events', 'quiet')
  both('json', 'schema')
  both('resume', 'continue')
  both('no-session', 'resume')
  both('no-session', 'continue')
  both('sandbox', 'context')
  both('yolo', 'mode')
  for (const name of ['model', 'cwd', 'schema', 'resume'] as const)
    if (values[name] === '')
      throw new UsageError(`--${name} needs a ${runFlags[name].value}, got ""; leave it out, or say which`)
  if (values.fork && !values.resume && !values.continue)
    throw new UsageError('--fork needs a session to copy: add --continue or --resume <id>')
  if (values.after !== undefined && !(values.events && values.resume))
    throw new UsageError('--after replays a session’s events: it needs --events and --resume <id>')
  checkCost(values)
  return given
}

/** Throws where `--max-cost` is no amount of money. */
export function checkCost({ 'max-cost': cost }: Pick<RunValues, 'max-cost'>): void {
  if (cost !== undefined && !(Number(cost) > 0))
    throw new UsageError(`--max-cost must be dollars, such as 0.50, got "${cost}"`)
}

const { provider, model, mode, allow, deny, yolo } = runFlags

/** How an agent works, as `libero run` takes it. */
export const workFlags = { provider, model, mode, allow, deny, yolo } as const

export type WorkValues = Values<typeof workFlags>
