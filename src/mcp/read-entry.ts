import { isRecord } from '../core/is-record.ts'
import { checkMcpServers, type McpServerConfig } from './config.ts'

type Variables = Readonly<Record<string, string | undefined>>

/**
 * A server as configuration files of this and other programs write it: `{ "command": … }`, or `{ "url": … }` with a `type`. `${NAME}`
 * and `${NAME:-default}` are taken from `variables`. Throws with what is wrong and where.
 */
export function readMcpEntry(
  name: string,
  entry: unknown,
  variables: Variables,
  where = `mcpServers.${name}`,
): McpServerConfig {
  if (!isRecord(entry)) throw new TypeError(`${where} must be an object such as { "command": "my-server" }`)
  const { type, transport = type, serverUrl, url = serverUrl, httpUrl, ...rest } = entry
  const plain = withoutOthers(rest)
  const address = url ?? httpUrl
  const config = expanded(
    { ...plain, name, transport: transportOf(transport, address), ...(address !== undefined && { url: address }) },
    variables,
    where,
  )
  checkAlone(config, where)
  return config
}

/** An entry asks for an environment variable that is not set: nothing is wrong with how it is written. */
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

/** It stands in no list here, so no place in one is named. */
function checkAlone(config: unknown, where: string): asserts config is McpServerConfig {
  try {
    checkMcpServers([config], where)
  } catch (error) {
    throw error instanceof TypeError ? new TypeError(error.message.replace(`${where}[0]`, () => where)) : error
  }
}

/** What the words of other programs mean. */
function transportOf(said: unknown, url: unknown): unknown {
  if (said === undefined) return url === undefined ? 'stdio' : 'streamable-http'
  return said === 'http' || said === 'streamableHttp' || said === 'streamable_http' ? 'streamable-http' : said
}

/** Fields of other programs that change nothing about what is started and asked. */
function withoutOthers(entry: Record<string, unknown>): Record<string, unknown> {
  const { disabled: _, enabled: __, description: ___, autoApprove: ____, alwaysAllow: _____, timeout, ...rest } = entry
  if (!Number.isInteger(timeout) || rest.callTimeout !== undefined) return rest
  // Some programs write seconds. Nobody means that a call may take half a second.
  const ms = timeout as number
  return { ...rest, callTimeout: ms > 0 && ms < 1000 ? ms * 1000 : ms }
}

/** Whether a file says that the server is not to be used. */
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

/** A default has no `$` in it: what a project may read is judged by the same pattern, and nothing else may be expanded. */
function expandText(text: string, variables: Variables, where: string): string {
  return text.replace(/\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}$]*))?\}/g, (_, variable: string, preset?: string) => {
    const value = (Object.hasOwn(variables, variable) && variables[variable]) || preset
    if (value === undefined) throw new MissingVariableError(where, variable)
    return value
  })
}
