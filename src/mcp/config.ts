import { show } from '../core/behavior.ts'
import { isRecord } from '../core/is-record.ts'
import { didYouMean } from '../core/nearest.ts'

/** An MCP server and how to reach it. */
export interface McpServerConfig {
  /** Letters, digits, `-` and `_`, at most 32. Its tools are called `mcp_{name}_{tool}`. */
  readonly name: string
  /** `sse` is the old HTTP transport, for servers that have no other. */
  readonly transport: 'stdio' | 'streamable-http' | 'sse'
  /** stdio: the program. It is run as it is, without a shell. */
  readonly command?: string
  readonly args?: readonly string[]
  /** Its environment beside a minimal base; variables of this process are not passed on. */
  readonly env?: Readonly<Record<string, string>>
  /** Default: the working directory of this process. */
  readonly cwd?: string
  readonly url?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Milliseconds to connect and list the tools. Default 10,000. */
  readonly bootstrapTimeout?: number
  /** Milliseconds without a result or progress after which a call times out. Default 30,000. */
  readonly callTimeout?: number
  /** Milliseconds that a call may take in all, even with progress. Default 600,000. */
  readonly longestCall?: number
  /** Overrides `behavior.toolDisclosure` for the tools of this server. */
  readonly disclosure?: 'eager' | 'lazy'
  readonly auth?: 'oauth'
  /** Tools, by the server's own names, whose calls may be repeated when it is unknown whether they arrived. The server's own hints do not count. */
  readonly repeatable?: readonly string[]
}

export const defaultBootstrapTimeout = 10_000
export const defaultCallTimeout = 30_000
export const defaultLongestCall = 600_000

/** Throws for a wrong configuration, with the value and what is allowed. */
export function checkMcpServers(configs: readonly unknown[], where = 'mcpServers'): void {
  const seen = new Set<string>()
  for (const [i, config] of configs.entries()) {
    checkServer(config, `${where}[${i}]`)
    if (seen.has(config.name))
      throw new TypeError(`${where} has two servers named "${config.name}"; rename one of them`)
    seen.add(config.name)
  }
}

function checkServer(config: unknown, where: string): asserts config is McpServerConfig {
  if (!isRecord(config)) throw new TypeError(`${where} must be an object such as ${example}, got ${show(config)}`)
  for (const [field, value] of Object.entries(config)) {
    if (!Object.hasOwn(fields, field))
      throw new TypeError(`${where}.${field} does not exist${didYouMean(field, Object.keys(fields))}`)
    const [isRight, wanted] = fields[field as keyof McpServerConfig]
    // A header or a variable may be a secret, so its value is not shown.
    const got = field === 'env' || field === 'headers' ? '' : `, got ${show(value)}`
    if (value !== undefined && !isRight(value)) throw new TypeError(`${where}.${field} must be ${wanted}${got}`)
  }
  for (const field of ['name', 'transport', ...needs(config)])
    if (config[field] === undefined) throw new TypeError(`${where} has no ${field}; write it as in ${example}`)
  const foreign = (config.transport === 'stdio' ? ofHttp : ofStdio).find((field) => config[field] !== undefined)
  if (foreign !== undefined)
    throw new TypeError(`${where}.${foreign} means nothing with the transport ${show(config.transport)}; leave it out`)
}

const needs = ({ transport }: Record<string, unknown>): string[] => [transport === 'stdio' ? 'command' : 'url']
const ofHttp = ['url', 'headers', 'auth']
const ofStdio = ['command', 'args', 'env', 'cwd']
const example = '{ "name": "files", "transport": "stdio", "command": "my-server" }'

type Rule = readonly [isRight: (value: unknown) => boolean, wanted: string]

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '' && !value.includes('\0')
const isTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((one) => typeof one === 'string' && !one.includes('\0'))
const isTextRecord = (value: unknown): boolean =>
  isRecord(value) && Object.values(value).every((one) => typeof one === 'string' && !one.includes('\0'))
/** A variable name has no `=` and is not empty. */
const isVariables = (value: unknown): boolean =>
  isTextRecord(value) && Object.keys(value as object).every((name) => /^[^=\0]+$/.test(name))
/** Checked here, because a request would fail without naming the configuration. */
const isHeaders = (value: unknown): boolean => {
  if (!isTextRecord(value)) return false
  try {
    new Headers(value as Record<string, string>)
    return true
  } catch {
    return false
  }
}
const isWebAddress = (value: unknown): boolean => isText(value) && /^https?:$/.test(URL.parse(value)?.protocol ?? '')
const milliseconds: Rule = [
  (value) => Number.isInteger(value) && (value as number) > 0 && (value as number) <= 2_147_483_647,
  'a whole number of milliseconds',
]
const oneOf = (...words: string[]): Rule => [
  (value) => words.includes(value as string),
  words.map((word) => `"${word}"`).join(' or '),
]

const fields: Record<keyof McpServerConfig, Rule> = {
  name: [
    (value) => typeof value === 'string' && /^[A-Za-z0-9_-]{1,32}$/.test(value),
    'a name of letters, digits, "-" and "_", at most 32',
  ],
  transport: oneOf('stdio', 'streamable-http', 'sse'),
  command: [isText, 'the name or path of a program'],
  args: [isTexts, 'a list of texts'],
  env: [isVariables, 'a record of texts'],
  cwd: [isText, 'the path of a folder'],
  url: [isWebAddress, 'an address that begins with http:// or https://'],
  headers: [isHeaders, 'a record of texts that can be sent as headers, each in one line'],
  bootstrapTimeout: milliseconds,
  callTimeout: milliseconds,
  longestCall: milliseconds,
  disclosure: oneOf('eager', 'lazy'),
  auth: oneOf('oauth'),
  repeatable: [isTexts, 'a list of tool names'],
}

type Variables = Readonly<Record<string, string | undefined>>

/**
 * Reads a server entry in the format of this and other programs: `{ "command": … }`, or `{ "url": … }` with a `type`. `${NAME}`
 * and `${NAME:-default}` are replaced from `variables`. Throws with what is wrong and where.
 */
export function readMcpEntry(
  name: string,
  entry: unknown,
  variables: Variables,
  where = `mcpServers.${name}`,
): McpServerConfig {
  if (!isRecord(entry)) throw new TypeError(`${where} must be an object such as { "command": "my-server" }`)
  const { type, transport = type, serverUrl, url = serverUrl, httpUrl, ...rest } = entry
  const plain = withoutForeignFields(rest)
  const address = url ?? httpUrl
  const config = expanded(
    { ...plain, name, transport: transportOf(transport, address), ...(address !== undefined && { url: address }) },
    variables,
    where,
  )
  checkAlone(config, where)
  return config
}

/** An entry needs an environment variable that is not set; the entry itself is valid. */
export class MissingVariableError extends TypeError {
  readonly variable: string
  constructor(where: string, variable: string) {
    super(
      `${where} needs the environment variable ${variable}, which is not set; set it, or write \${${variable}:-default}`,
    )
    this.name = 'MissingVariableError'
    this.variable = variable
  }
}

/** The entry is not in a list, so the error names no index. */
function checkAlone(config: unknown, where: string): asserts config is McpServerConfig {
  try {
    checkMcpServers([config], where)
  } catch (error) {
    throw error instanceof TypeError ? new TypeError(error.message.replace(`${where}[0]`, () => where)) : error
  }
}

/** Also understands the transport names of other programs. */
function transportOf(given: unknown, url: unknown): unknown {
  if (given === undefined) return url === undefined ? 'stdio' : 'streamable-http'
  return given === 'http' || given === 'streamableHttp' || given === 'streamable_http' ? 'streamable-http' : given
}

/** Drops fields of other programs that do not affect the connection. */
function withoutForeignFields(entry: Record<string, unknown>): Record<string, unknown> {
  const { disabled: _, enabled: __, description: ___, autoApprove: ____, alwaysAllow: _____, timeout, ...rest } = entry
  if (!Number.isInteger(timeout) || rest.callTimeout !== undefined) return rest
  // Some programs write seconds; a timeout below a second is never meant.
  const ms = timeout as number
  return { ...rest, callTimeout: ms > 0 && ms < 1000 ? ms * 1000 : ms }
}

/** Whether the entry disables the server. */
export function isDisabled(entry: unknown): boolean {
  return isRecord(entry) && (entry.disabled === true || entry.enabled === false)
}

function expanded(value: Record<string, unknown>, variables: Variables, where: string): Record<string, unknown> {
  const expand = (one: unknown, at: string): unknown => {
    if (typeof one === 'string') return expandText(one, variables, at)
    if (Array.isArray(one)) return one.map((item, i) => expand(item, `${at}[${i}]`))
    if (!isRecord(one)) return one
    return Object.fromEntries(Object.entries(one).map(([key, item]) => [key, expand(item, `${at}.${key}`)]))
  }
  return expand(value, where) as Record<string, unknown>
}

/** A default contains no `$`: the check of what a project may read uses the same pattern. */
function expandText(text: string, variables: Variables, where: string): string {
  return text.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}$]*))?\}/g, (_, variable: string, preset?: string) => {
    const value = (Object.hasOwn(variables, variable) && variables[variable]) || preset
    if (value === undefined) throw new MissingVariableError(where, variable)
    return value
  })
}
