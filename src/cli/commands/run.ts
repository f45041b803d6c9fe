import { UsageError } from '../cli-error.ts'
import { defineCommand, type ParsedArgs, type Values } from '../command.ts'

/** The flags of `libero run`. */
export const runFlags = {
  prompt: { type: 'string', short: 'p', value: 'text', says: 'The task, instead of arguments' },
  provider: {
    type: 'string',
    value: 'name',
    says: 'The provider: anthropic, openai, openrouter, cerebras, google, ollama, offline, …',
  },
  model: { type: 'string', short: 'm', value: 'name', says: 'The model; provider/name sets both' },
  profile: { type: 'string', choices: ['build', 'plan'], says: 'build changes files, plan only reads' },
  preset: { type: 'string', choices: ['basic', 'coding', 'build', 'plan'], says: 'The set of tools' },
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
  sandbox: {
    type: 'string',
    choices: ['auto', 'required', 'off'],
    says: 'Run commands in a sandbox: if there is one (auto, the default), or not at all without one (required)',
  },
  image: {
    type: 'string',
    multiple: true,
    value: 'file',
    says: 'An image to attach; with --context docker, the container’s image',
  },
  mode: {
    type: 'string',
    choices: ['ask', 'allowlist', 'yolo', 'plan'],
    says: 'Approval mode',
  },
  allow: { type: 'string', multiple: true, value: 'rule', says: 'Allow without asking, such as "shell:npm test"' },
  deny: { type: 'string', multiple: true, value: 'rule', says: 'Never allow, such as "net"' },
  yolo: { type: 'boolean', says: 'Mode yolo, and yes to every question; irreversible actions are refused' },
  resume: { type: 'optional', short: 'r', value: 'id', says: 'Continue a session; without an id, choose one' },
  continue: { type: 'boolean', short: 'c', says: 'Continue the latest session of this folder' },
  fork: { type: 'boolean', says: 'With --resume or --continue: continue in a copy' },
  'no-session': { type: 'boolean', says: 'Do not store the session' },
  'max-turns': { type: 'string', value: 'n', min: 1, says: 'Stop after this many model calls (default 100)' },
  'max-cost': { type: 'string', value: 'dollars', says: 'Stop before the run costs more' },
  mcp: {
    type: 'string',
    multiple: true,
    value: 'json',
    says: 'An MCP server for this run, as JSON: {"name": "fs", "command": "my-server"}',
  },
  skill: { type: 'string', multiple: true, value: 'name', says: 'Start with this skill; libero skills lists them' },
  schema: {
    type: 'string',
    value: 'file',
    says: 'Answer as JSON that matches this JSON Schema, and print only that on stdout',
  },
  json: { type: 'boolean', says: 'Print zot’s events as JSON lines; asks no questions' },
  events: { type: 'boolean', says: 'Print Libero’s own events as JSON lines, and take commands and answers on stdin' },
  after: {
    type: 'string',
    value: 'seq',
    min: 0,
    says: 'With --events and --resume: first replay the events after this one',
  },
  quiet: { type: 'boolean', short: 'q', says: 'Print the final answer only' },
  plain: { type: 'boolean', says: 'Without a task: a conversation in plain lines, for screen readers and logs' },
  cwd: { type: 'string', value: 'folder', says: 'The folder to work in' },
} as const

export type RunValues = Values<typeof runFlags>

export const command = defineCommand({
  name: 'run',
  summary: 'Work on a task (what `libero "task"` does)',
  words: '[task]',
  details: [
    'The answer goes to stdout, everything else to stderr. Piped input is added to the task; the argument - waits for it.',
    'Ctrl-C stops the run and keeps the session; twice quits at once. At a terminal without a task, libero opens the interactive terminal (docs/terminal.md).',
  ],
  flags: runFlags,
  examples: [
    {
      line: 'libero "find the failing test and fix it"',
      says: 'Works in this folder, and asks before it changes something',
    },
    { line: 'git diff | libero "review this" -q', says: 'Reads from a pipe, prints the answer only' },
    { line: 'libero -c "now write a test for it"', says: 'Continues the last session of this folder' },
    { line: 'libero --profile plan "how would you add a login?"', says: 'Reads only, and changes nothing' },
    { line: 'libero --provider offline "list the files in src"', says: 'Without a key or a network' },
    {
      line: `libero --mcp '{"name": "docs", "url": "https://docs.example/mcp"}' "what changed in 2.0?"`,
      says: 'With the tools of an MCP server; libero mcp add stores a server for every run',
    },
    { line: 'libero --schema person.json "who wrote this?" | jq .name', says: 'An answer for a program' },
  ],
  run: async (given, io) => (await import('../run/run-task.ts')).runTask(checked(given), io),
})

/** Rejects flags that cannot be combined, before anything starts. */
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
  both('plain', 'quiet')
  both('plain', 'json')
  both('plain', 'events')
  both('resume', 'continue')
  both('no-session', 'resume')
  both('no-session', 'continue')
  both('sandbox', 'context')
  both('yolo', 'mode')
  for (const name of ['model', 'cwd', 'schema', 'resume'] as const)
    if (values[name] === '')
      throw new UsageError(`--${name} needs a ${runFlags[name].value}, got ""; leave the flag out, or give a value`)
  if (values.fork && !values.resume && !values.continue)
    throw new UsageError('--fork needs a session to copy: add --continue or --resume <id>')
  if (values.after !== undefined && !(values.events && values.resume))
    throw new UsageError('--after replays a session’s events: it needs --events and --resume <id>')
  checkCost(values)
  return given
}

/** Throws if `--max-cost` is not a positive number. */
export function checkCost({ 'max-cost': cost }: Pick<RunValues, 'max-cost'>): void {
  if (cost !== undefined && !(Number(cost) > 0))
    throw new UsageError(`--max-cost must be an amount in dollars, such as 0.50, got "${cost}"`)
}

const { provider, model, profile, preset, system, thinking, context, sandbox, mode, allow, deny, yolo } = runFlags

/** The flags of `libero run` that commands for persistent agents take too. */
export const workFlags = { provider, model, sandbox, mode, allow, deny, yolo } as const

export type WorkValues = Values<typeof workFlags>

/** The flags of `libero run` that commands take which serve sessions to other programs. */
export const servedFlags = {
  ...{ provider, model, profile, preset, system, thinking, context, sandbox },
  image: { type: 'string', multiple: true, value: 'name', says: 'With --context docker: the container’s image' },
  ...{ mode, allow, deny, yolo },
  mcp: runFlags.mcp,
  skill: { ...runFlags.skill, says: 'Start each session with this skill; libero skills lists them' },
  'max-turns': runFlags['max-turns'],
  'max-cost': runFlags['max-cost'],
} as const

/** Rejects those of them that cannot be combined. */
export function checkServed(values: Values<typeof servedFlags>): void {
  if (values.sandbox && values.context)
    throw new UsageError('--sandbox and --context do not go together; choose one of them')
  if (values.yolo && values.mode) throw new UsageError('--yolo and --mode do not go together; choose one of them')
  checkCost(values)
}
