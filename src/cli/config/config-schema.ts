import type { ToolRule } from '../../authority/rules/settings.ts'
import type { JsonSchema } from '../../core/tool.ts'
import type { StatusPart } from '../../tui/dock/status-line.ts'
import type {
  Config,
  ConfiguredAgents,
  ConfiguredHook,
  ConfiguredHookGroup,
  ConfiguredHooks,
  ConfiguredPrice,
  ConfiguredProvider,
  ConfiguredRetention,
  ConfiguredRetry,
  ConfiguredSandboxPaths,
  ConfiguredSnapshots,
  ConfiguredTerminal,
  ConfiguredWiki,
} from './config.ts'

type Fields<T> = { readonly [Key in keyof Required<T>]: JsonSchema }
type Words<T> = Record<Extract<T, string>, true>

const text = (description: string): JsonSchema => ({ type: 'string', minLength: 1, description })
const texts = (description: string): JsonSchema => ({
  type: 'array',
  items: { type: 'string', minLength: 1 },
  description,
})
/** The compiler checks that the words are exactly those of the type. */
const oneOf = <T>(words: Words<T>, description: string): JsonSchema => ({ enum: Object.keys(words), description })
const rules = (description: string): JsonSchema => ({ type: 'array', items: { $ref: '#/$defs/rule' }, description })

const dollars = (description: string): JsonSchema => ({ type: 'number', minimum: 0, description })
const priceFields: Fields<ConfiguredPrice> = {
  input: dollars('Tokens that the model reads'),
  output: dollars('Tokens that it writes'),
  cacheRead: dollars('Tokens that it reads from the cache; default: as input'),
  cacheWrite: dollars('Tokens that are written to the cache; default: as input'),
}

const providerFields: Fields<ConfiguredProvider> = {
  baseURL: {
    type: 'string',
    // Without password and query: this file must not contain a key.
    pattern: '^https?://[^\\s/?#@]+(/[^\\s?#]*)?$',
    description: 'The address of its API, up to and including /v1, without a query or a password',
  },
  model: text('The default model'),
  apiKeyEnv: {
    type: 'string',
    pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
    description: 'The name of the environment variable that holds its key',
  },
  contextWindow: { type: 'integer', minimum: 1, description: 'The context window of its models, in tokens' },
  price: {
    type: 'object',
    properties: priceFields,
    required: ['input', 'output'] satisfies (keyof ConfiguredPrice)[],
    additionalProperties: false,
    description: 'What its models cost, in dollars per million tokens',
  },
}

const whole = (description: string): JsonSchema => ({ type: 'integer', minimum: 0, description })

const toolRuleFields: Fields<ToolRule> = {
  mode: oneOf<ToolRule['mode']>({ auto: true, confirm: true }, 'auto needs no approval, confirm always does'),
  allowPatterns: texts(
    'Regular expressions over the JSON of the call: {"tool","parameters"}; a match needs no approval',
  ),
  denyPatterns: texts('The same; a match is refused'),
  timeoutMs: whole('For tools without a time limit of their own; 0: none'),
}

const retryFields: Fields<ConfiguredRetry> = {
  maxAttempts: whole('Tries after the first one'),
  initialDelayMs: whole('The first pause'),
  maxDelayMs: whole('The longest pause'),
  backoffMultiplier: { type: 'number', description: 'By how much each pause is longer than the one before' },
  retryableStatusCodes: {
    type: 'array',
    items: { type: 'integer' },
    description: 'Answers after which it is tried again',
  },
  maxRetryAfterMs: whole('If the service asks for a longer pause, the request fails'),
  maxTotalMs: whole('After this time there is no further try'),
}

const agentsFields: Fields<ConfiguredAgents> = {
  approval: {
    type: 'object',
    additionalProperties: { type: 'object', properties: toolRuleFields, additionalProperties: false },
    description: 'Rules by the name of the tool',
  },
  retry: {
    type: 'object',
    properties: retryFields,
    additionalProperties: false,
    description: 'How failed requests to a model are sent again',
  },
}

const wikiFields: Fields<ConfiguredWiki> = {
  folder: text('The folder that contains tiddlywiki.info; ~ is your home'),
  readOnly: { type: 'boolean', description: 'Agents may only read it' },
  description: text('What the wiki is about, for the agents'),
}

const count = (description: string): JsonSchema => ({ type: 'integer', minimum: 1, description })
const size = (description: string): JsonSchema => ({
  type: 'string',
  pattern: '^[0-9]{1,12}(\\.[0-9]{1,3})? ?[kKMGT]?B$',
  description,
})

const retentionFields: Fields<ConfiguredRetention> = {
  maxAgeDays: count('Delete sessions that were last used this many days ago'),
  maxSessions: count('Keep at most this many sessions, those that were used last'),
  maxSize: size('A size such as "2GB": keep sessions of at most this size together'),
  keepTags: texts('Keep sessions that have one of these tags'),
  auditDays: count('Keep the audit for this many days; default 90'),
  auditSize: size('A size such as "256MB", the default: keep at most this much of the audit'),
}

const snapshotsFields: Fields<ConfiguredSnapshots> = {
  enabled: { type: 'boolean', description: 'Take snapshots of files; default true' },
  exclude: texts('Patterns of files to leave out, as in a .gitignore; !pattern includes what a .gitignore leaves out'),
  maxFileSize: size('A size such as "10MB", the default: larger files are left out'),
  maxFiles: { type: 'integer', minimum: 1, description: 'A folder with more files gets no snapshot; default 100,000' },
  maxSnapshots: { type: 'integer', minimum: 1, description: 'Keep the newest of each folder; default 500' },
  maxSize: size('A size such as "1GB", the default: what the snapshots of one folder may take'),
}

const sandboxPathsFields: Fields<ConfiguredSandboxPaths> = {
  read: texts('Files and folders that commands can read in every sandbox; ~ is your home'),
  caches: texts(
    'Folders, such as ~/.cache/pip, that commands can write wherever they can write the workspace. What is run from there later can be changed',
  ),
}

const statusParts: Words<StatusPart> = {
  ...{ mode: true, model: true, thinking: true, folder: true, branch: true, context: true, cost: true, title: true },
}

const terminalFields: Fields<ConfiguredTerminal> = {
  showThinking: { type: 'boolean', description: 'Print what the model thinks whole, not as one line; default false' },
  theme: {
    enum: ['terminal', 'bright', 'contrast', 'mono'],
    description: 'The colours: those of the terminal, their bright variants, nothing faint, or none',
  },
  notify: {
    type: 'boolean',
    description: 'Notify when a question waits or a run ends while the terminal has no focus; default true',
  },
  keys: {
    type: 'object',
    additionalProperties: { type: 'string', minLength: 1 },
    description:
      'Keys of the input line: {"alt+e": "editor", "alt+w": "/waiting", "ctrl+z": "none"}; docs/terminal.md lists the actions',
  },
  statusLine: {
    type: 'array',
    items: { enum: Object.keys(statusParts) },
    description: 'What the status line shows, in this order; the mode is always there',
  },
}

const hookFields: Fields<ConfiguredHook> = {
  type: { enum: ['command'], description: 'A program is the only kind' },
  command: text('A line for the shell. It gets JSON on stdin'),
  timeout: { type: 'integer', minimum: 1, description: 'In seconds; default 60' },
  onFailure: {
    enum: ['block', 'continue'],
    description:
      'If it fails otherwise than by exit code 2; default: block before something happens, continue after it',
  },
  sandbox: {
    type: 'boolean',
    description: 'false: it runs with all your rights; not for the hooks of a project; default true',
  },
}

const hookGroupFields: Fields<ConfiguredHookGroup> = {
  matcher: {
    type: 'string',
    // A regular expression would match no tool, and the guard would never run.
    pattern: '^[A-Za-z0-9_. *|-]*$',
    description:
      'Tool names, such as "shell|edit" or "mcp_*", in which * stands for any characters; no regular expression: only letters, digits, blanks, _ - . * and |; default: every tool',
  },
  hooks: {
    type: 'array',
    items: {
      type: 'object',
      properties: hookFields,
      required: ['type', 'command'] satisfies (keyof ConfiguredHook)[],
      additionalProperties: false,
    },
    description: 'Run one after the other',
  },
}

const hookGroups = (description: string): JsonSchema => ({
  type: 'array',
  items: {
    type: 'object',
    properties: hookGroupFields,
    required: ['hooks'] satisfies (keyof ConfiguredHookGroup)[],
    additionalProperties: false,
  },
  description,
})

const hooksFields: Fields<ConfiguredHooks> = {
  PreToolUse: hookGroups('Before a tool call that is allowed; may block it'),
  PostToolUse: hookGroups('After a tool call; may add words to its result'),
  UserPromptSubmit: hookGroups('Before a message reaches the model; may block it or add words'),
  Stop: hookGroups('When a run would end; may make it go on'),
}

/** Every key of `config.json`; the compiler reports missing ones. */
export const configFields: Fields<Config> = {
  provider: text('The provider, as for --provider'),
  model: text('The model, as for --model'),
  profile: oneOf<Config['profile']>({ build: true, plan: true }, 'build changes files, plan only reads'),
  preset: oneOf<Config['preset']>(
    { basic: true, coding: true },
    'The set of tools; agents of libero agents have the tools of their definitions',
  ),
  system: { type: 'string', description: 'Added to the system prompt' },
  thinking: oneOf<Config['thinking']>(
    { off: true, minimal: true, low: true, medium: true, high: true },
    'How much the model thinks before it answers',
  ),
  context: oneOf<Config['context']>({ process: true, docker: true }, 'Where tools run'),
  image: text('The container image, with "context": "docker"'),
  sandbox: oneOf<Config['sandbox']>(
    { auto: true, required: true, off: true },
    'Run commands in a sandbox: if there is one (auto, the default), or not at all without one (required)',
  ),
  sandboxPaths: {
    type: 'object',
    properties: sandboxPathsFields,
    additionalProperties: false,
    description:
      'What commands reach in sandboxes of this machine beside the workspace and what was judged. Files that rules deny stay hidden',
  },
  maxTurns: { type: 'integer', minimum: 1, description: 'A run ends after this many model calls' },
  maxCost: {
    type: 'number',
    exclusiveMinimum: 0,
    description: 'A run ends before it costs more than this, in dollars',
  },
  withoutTools: texts('Tools to leave out, by name; web_fetch also means web-fetch'),
  claudeSkills: { type: 'boolean', description: 'Also use the skills in .claude/skills' },
  claudeFiles: {
    type: 'boolean',
    description:
      'Also use the sub-agents in .claude/agents, which libero agents and libero schedules do not have, and the commands in .claude/commands',
  },
  hooks: {
    type: 'object',
    properties: hooksFields,
    additionalProperties: false,
    description:
      'Programs that are run before and after tool calls, at a message, and at the end of a run (docs/without-code.md)',
  },
  audit: { type: 'boolean', description: 'Record tool calls (libero audit); default true' },
  sessions: text(
    'Where sessions are stored: a file, or a folder of text files; default sessions.db in the user’s folder. libero rpc and libero mcp-serve store none',
  ),
  retention: {
    type: 'object',
    properties: retentionFields,
    additionalProperties: false,
    description:
      'What is deleted after a while: sessions, after a run and at most once a day (libero sessions prune), and the audit. Sessions in use and open agents stay',
  },
  snapshots: {
    type: 'object',
    properties: snapshotsFields,
    additionalProperties: false,
    description:
      'Snapshots of the files before each prompt and each call that may write, for libero undo and libero sessions rewind. Needs git',
  },
  providers: {
    type: 'object',
    additionalProperties: {
      type: 'object',
      properties: providerFields,
      required: ['baseURL', 'model'] satisfies (keyof ConfiguredProvider)[],
      additionalProperties: false,
    },
    description: 'Services with OpenAI’s chat API, by the name for --provider',
  },
  mcpServers: {
    type: 'object',
    additionalProperties: { $ref: '#/$defs/mcpServer' },
    description: 'MCP servers, by name, as other programs write them into .mcp.json',
  },
  toolDisclosure: oneOf<Config['toolDisclosure']>(
    { eager: true, lazy: true },
    'lazy: the model gets the schemas of MCP tools only when it asks; default: lazy above 32 KB of schemas',
  ),
  terminal: {
    type: 'object',
    properties: terminalFields,
    additionalProperties: false,
    description: 'What the interactive terminal shows (libero without a task); no other command has it',
  },
  wikis: {
    type: 'object',
    additionalProperties: {
      type: 'object',
      properties: wikiFields,
      required: ['folder'] satisfies (keyof ConfiguredWiki)[],
      additionalProperties: false,
    },
    description: 'TiddlyWiki wikis, by name, for the agents of libero agents; no other command has tools for them',
  },
  agents: {
    type: 'object',
    properties: agentsFields,
    additionalProperties: false,
    description:
      'Approval, time limits and retries of the agents of libero agents; other commands have allow, ask and deny',
  },
  mode: oneOf<Config['mode']>(
    { plan: true, ask: true, allowlist: true, yolo: true },
    'The approval mode, from the strictest to the loosest',
  ),
  allow: rules('Calls that need no approval'),
  ask: rules('Calls that need an approval in every mode'),
  deny: rules('Calls that are never made'),
}

const textRecord = (description: string): JsonSchema => ({
  type: 'object',
  additionalProperties: { type: 'string' },
  description,
})
const milliseconds = (description: string): JsonSchema => ({ type: 'integer', minimum: 1, description })

/** For editors only; `readMcpEntry` checks entries, and also accepts the field names of other programs. */
const mcpServer: JsonSchema = {
  description: `A program to start, or an address. \${NAME} and \${NAME:-default} are replaced from the environment`,
  type: 'object',
  properties: {
    type: { enum: ['stdio', 'http', 'streamable-http', 'sse'], description: 'Only needed for sse' },
    command: text('The program; it runs without a shell'),
    args: { type: 'array', items: { type: 'string' }, description: 'Its arguments' },
    env: textRecord('Environment variables, added to a minimal environment'),
    cwd: text('The folder it runs in'),
    url: text('The address, instead of a command'),
    headers: textRecord('Sent with every request'),
    auth: { enum: ['oauth'], description: 'The server needs a login: libero mcp login' },
    disclosure: { enum: ['eager', 'lazy'], description: 'As toolDisclosure, for the tools of this server' },
    bootstrapTimeout: milliseconds('Time limit for connecting; default 10000'),
    callTimeout: milliseconds('Time limit for a call without progress; default 30000'),
    longestCall: milliseconds('Time limit for a whole call; default 600000'),
    repeatable: texts('Tools that may be called again if it is unknown whether a call arrived'),
    disabled: { type: 'boolean', description: 'Do not use this server' },
  },
}

/** `config.json` as JSON Schema (draft 2020-12); published as `schemas/config.json`. */
export const configSchema: JsonSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: 'urn:libero:config:1',
  title: 'Libero config.json',
  description:
    'Settings of a user (~/.libero/config.json) or of a project (.libero/config.json), which can only make settings stricter: mode, ask, deny, "profile": "plan", "sandbox": "required", smaller limits, withoutTools, more hooks.',
  type: 'object',
  properties: { $schema: { type: 'string' }, ...configFields },
  additionalProperties: false,
  $defs: {
    mcpServer,
    rule: {
      description: 'name, name:pattern, or an effect such as fs.write:src/*',
      anyOf: [
        { type: 'string', minLength: 1 },
        {
          type: 'object',
          properties: {
            rule: text('The rule itself'),
            why: { type: 'string', description: 'Shown with the decision' },
            match: { type: 'array', items: { type: 'string' }, description: 'Calls the rule must match' },
            notMatch: { type: 'array', items: { type: 'string' }, description: 'Calls the rule must not match' },
          },
          required: ['rule'],
          additionalProperties: false,
        },
      ],
    },
  },
}
