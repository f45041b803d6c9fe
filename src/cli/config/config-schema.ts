import type { JsonSchema } from '../../core/tool.ts'
import type { Config, ConfiguredProvider, ConfiguredWiki } from './config.ts'

type Fields<T> = { readonly [Key in keyof Required<T>]: JsonSchema }
type Words<T> = Record<Extract<T, string>, true>

const text = (description: string): JsonSchema => ({ type: 'string', minLength: 1, description })
const texts = (description: string): JsonSchema => ({
  type: 'array',
  items: { type: 'string', minLength: 1 },
  description,
})
/** The compiler checks that all the words of a type are there, and no others. */
const oneOf = <T>(words: Words<T>, description: string): JsonSchema => ({ enum: Object.keys(words), description })
const rules = (description: string): JsonSchema => ({ type: 'array', items: { $ref: '#/$defs/rule' }, description })

const providerFields: Fields<ConfiguredProvider> = {
  baseURL: {
    type: 'string',
    // Neither a password nor a query: a key does not belong into this file.
    pattern: '^https?://[^\\s/?#@]+(/[^\\s?#]*)?$',
    description: 'The address of its API, up to and with /v1, without a query or a password',
  },
  model: text('The model that is used unless another is named'),
  apiKeyEnv: {
    type: 'string',
    pattern: '^[A-Za-z_][A-Za-z0-9_]*$',
    description: 'The name of the environment variable that holds its key',
  },
}

const wikiFields: Fields<ConfiguredWiki> = {
  folder: text('The folder with tiddlywiki.info in it; ~ is your home'),
  readOnly: { type: 'boolean', description: 'Whether agents may only read it' },
  description: text('What it is about, for the agents'),
}

/** Every key of `config.json`; the compiler finds one that is missing here. */
export const configFields: Fields<Config> = {
  provider: text('The provider, by the name that --provider takes'),
  model: text('The model'),
  profile: oneOf<Config['profile']>({ build: true, plan: true }, 'build works, plan only looks'),
  preset: oneOf<Config['preset']>(
    { basic: true, coding: true },
    'Which set of tools; an agent of libero agents has those of its definition',
  ),
  system: { type: 'string', description: 'Added to the system prompt' },
  thinking: oneOf<Config['thinking']>(
    { off: true, minimal: true, low: true, medium: true, high: true },
    'How long the model thinks',
  ),
  context: oneOf<Config['context']>({ process: true, docker: true }, 'Where tools run'),
  image: text('The image of the container, with "context": "docker"'),
  sandbox: { type: 'boolean', description: 'Whether tools run behind the walls of the kernel (Linux, bubblewrap)' },
  maxTurns: { type: 'integer', minimum: 1, description: 'Turns of the model after which a run ends' },
  maxCost: { type: 'number', exclusiveMinimum: 0, description: 'Dollars after which a run ends' },
  withoutTools: texts('Tools to leave out, by name; web_fetch is web-fetch, too'),
  claudeSkills: { type: 'boolean', description: 'Whether the skills in .claude/skills are used, too' },
  audit: { type: 'boolean', description: 'Whether calls of tools are written down (libero audit); default true' },
  sessions: text(
    'Where sessions are kept: a file, or a folder of text files; default sessions.db in the user’s folder. libero rpc and libero mcp-serve keep none',
  ),
  providers: {
    type: 'object',
    additionalProperties: {
      type: 'object',
      properties: providerFields,
      required: ['baseURL', 'model'] satisfies (keyof ConfiguredProvider)[],
      additionalProperties: false,
    },
    description: 'Services that speak OpenAI’s chat API, by the name that --provider takes',
  },
  mcpServers: {
    type: 'object',
    additionalProperties: { $ref: '#/$defs/mcpServer' },
    description: 'MCP servers, by name, as other programs write them into .mcp.json',
  },
  toolDisclosure: oneOf<Config['toolDisclosure']>(
    { eager: true, lazy: true },
    'lazy: the model gets the schemas of MCP tools when it asks for them; default: lazy beyond 32 KB of them',
  ),
  wikis: {
    type: 'object',
    additionalProperties: {
      type: 'object',
      properties: wikiFields,
      required: ['folder'] satisfies (keyof ConfiguredWiki)[],
      additionalProperties: false,
    },
    description:
      'Wikis of TiddlyWiki, by name, that the agents of libero agents work in; no other command has tools for them',
  },
  mode: oneOf<Config['mode']>(
    { plan: true, ask: true, allowlist: true, yolo: true },
    'How much is asked, from the strictest to the loosest',
  ),
  allow: rules('What needs no question'),
  ask: rules('What is asked about in every mode'),
  deny: rules('What is never done'),
}

const textRecord = (description: string): JsonSchema => ({
  type: 'object',
  additionalProperties: { type: 'string' },
  description,
})
const milliseconds = (description: string): JsonSchema => ({ type: 'integer', minimum: 1, description })

/** For editors; what counts is `readMcpEntry`, which also takes what other programs call these things. */
const mcpServer: JsonSchema = {
  description: `A program that is started, or an address. \${NAME} and \${NAME:-default} are taken from the environment`,
  type: 'object',
  properties: {
    type: { enum: ['stdio', 'http', 'streamable-http', 'sse'], description: 'Only needed for sse' },
    command: text('The program; it is run without a shell'),
    args: { type: 'array', items: { type: 'string' }, description: 'Its arguments' },
    env: textRecord('Its environment, beside a minimal one'),
    cwd: text('The folder it runs in'),
    url: text('The address, in place of a command'),
    headers: textRecord('Sent with every request'),
    auth: { enum: ['oauth'], description: 'Wants a login: libero mcp login' },
    disclosure: { enum: ['eager', 'lazy'], description: 'As toolDisclosure, for the tools of this server' },
    bootstrapTimeout: milliseconds('Until it has to be connected; default 10000'),
    callTimeout: milliseconds('That a call may be silent; default 30000'),
    longestCall: milliseconds('That a call may take in all; default 600000'),
    repeatable: texts('Tools that may be called again when nobody knows whether a call arrived'),
    disabled: { type: 'boolean', description: 'Leaves it out' },
  },
}

/** `config.json` as JSON Schema (draft 2020-12); published as `schemas/config.json`. */
export const configSchema: JsonSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: 'urn:libero:config:1',
  title: 'Libero config.json',
  description:
    'Settings of a user (~/.libero/config.json) or of a project (.libero/config.json), which only tightens: mode, ask, deny, "profile": "plan", "sandbox": true, smaller limits, withoutTools.',
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
            match: { type: 'array', items: { type: 'string' }, description: 'Calls it has to match' },
            notMatch: { type: 'array', items: { type: 'string' }, description: 'Calls it must not match' },
          },
          required: ['rule'],
          additionalProperties: false,
        },
      ],
    },
  },
}
