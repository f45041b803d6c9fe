import type { ToolRule } from '../../authority/rules/settings.ts'
import type { JsonSchema } from '../../core/tool.ts'
import type { StatusPart } from '../../tui/dock/status-line.ts'
import type {
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

/** The fields of the objects in `config.json`; the compiler reports missing ones. */
export type Fields<T> = { readonly [Key in keyof Required<T>]: JsonSchema }
type Words<T> = Record<Extract<T, string>, true>

export const text = (description: string): JsonSchema => ({ type: 'string', minLength: 1, description })
export const texts = (description: string): JsonSchema => ({
  type: 'array',
  items: { type: 'string', minLength: 1 },
  description,
})
/** The compiler checks that the words are exactly those of the type. */
export const oneOf = <T>(words: Words<T>, description: string): JsonSchema => ({
  enum: Object.keys(words),
  description,
})
export const rules = (description: string): JsonSchema => ({
  type: 'array',
  items: { $ref: '#/$defs/rule' },
  description,
})

const dollars = (description: string): JsonSchema => ({ type: 'number', minimum: 0, description })
const priceFields: Fields<ConfiguredPrice> = {
  input: dollars('Tokens that the model reads'),
  output: dollars('Tokens that it writes'),
  cacheRead: dollars('Tokens that it reads from the cache; default: as input'),
  cacheWrite: dollars('Tokens that are written to the cache; default: as input'),
}

export const providerFields: Fields<ConfiguredProvider> = {
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

export const agentsFields: Fields<ConfiguredAgents> = {
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

export const wikiFields: Fields<ConfiguredWiki> = {
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

export const retentionFields: Fields<ConfiguredRetention> = {
  maxAgeDays: count('Delete sessions that were last used this many days ago'),
  maxSessions: count('Keep at most this many sessions, those that were used last'),
  maxSize: size('A size such as "2GB": keep sessions of at most this size together'),
  keepTags: texts('Keep sessions that have one of these tags'),
  auditDays: count('Keep the audit for this many days; default 90'),
  auditSize: size('A size such as "256MB", the default: keep at most this much of the audit'),
}

export const snapshotsFields: Fields<ConfiguredSnapshots> = {
  enabled: { type: 'boolean', description: 'Take snapshots of files; default true' },
  exclude: texts('Patterns of files to leave out, as in a .gitignore; !pattern includes what a .gitignore leaves out'),
  maxFileSize: size('A size such as "10MB", the default: larger files are left out'),
  maxFiles: { type: 'integer', minimum: 1, description: 'A folder with more files gets no snapshot; default 100,000' },
  maxSnapshots: { type: 'integer', minimum: 1, description: 'Keep the newest of each folder; default 500' },
  maxSize: size('A size such as "1GB", the default: what the snapshots of one folder may take'),
}

export const sandboxPathsFields: Fields<ConfiguredSandboxPaths> = {
  read: texts('Files and folders that commands can read in every sandbox; ~ is your home'),
  caches: texts(
    'Folders, such as ~/.cache/pip, that commands can write wherever they can write the workspace. What is run from there later can be changed',
  ),
}

const statusParts: Words<StatusPart> = {
  ...{ mode: true, model: true, thinking: true, folder: true, branch: true, context: true, cost: true, title: true },
}

export const terminalFields: Fields<ConfiguredTerminal> = {
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

export const hooksFields: Fields<ConfiguredHooks> = {
  PreToolUse: hookGroups('Before a tool call that is allowed; may block it'),
  PostToolUse: hookGroups('After a tool call; may add words to its result'),
  UserPromptSubmit: hookGroups('Before a message reaches the model; may block it or add words'),
  Stop: hookGroups('When a run would end; may make it go on'),
}
