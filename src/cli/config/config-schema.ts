import type { JsonSchema } from '../../core/tool.ts'
import type { Config, ConfiguredProvider, ConfiguredWiki } from './config.ts'
import {
  agentsFields,
  type Fields,
  hooksFields,
  oneOf,
  providerFields,
  retentionFields,
  rules,
  sandboxPathsFields,
  snapshotsFields,
  terminalFields,
  text,
  texts,
  wikiFields,
} from './config-sections.ts'

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
