import { messageOf } from '../../core/errors.ts'
import { isRecord } from '../../core/is-record.ts'
import { type McpServerConfig, MissingVariableError, readMcpEntry } from '../../mcp/config.ts'
import { createRedactor } from '../../platform/redact.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { UsageError } from '../cli-error.ts'
import { ConfigError } from '../config/check-config.ts'
import { jsonProblem } from '../config/json-problem.ts'
import type { Io } from '../io.ts'
import type { ServerEntry } from './gather-servers.ts'

/**
 * Throws if an entry is invalid. Returns its config, and the variables in it that are not set. `file` is the config
 * file; it is absent for an entry from the command line.
 */
export function checkEntry(
  name: string,
  entry: unknown,
  { file, env = {} }: { readonly file?: string; readonly env?: Io['env'] },
): { readonly config: McpServerConfig; readonly unset: readonly string[] } {
  const variables = { ...env }
  const unset: string[] = []
  for (;;) {
    try {
      const where = file === undefined ? fullyVisible(name) : `mcpServers.${fullyVisible(name)}`
      return { config: readMcpEntry(name, entry, variables, where), unset }
    } catch (error) {
      if (!(error instanceof MissingVariableError)) throw refusal(error, file)
      unset.push(error.variable)
      variables[error.variable] = placeholder
    }
  }
}

/** A valid value for any variable, also in an address. */
const placeholder = 'https://unset.invalid'

function refusal(error: unknown, file: string | undefined): Error {
  const message = fullyVisible(entryProblem(error))
  if (file === undefined) return new UsageError(message, { cause: error })
  return new ConfigError(`${fullyVisible(file)}: ${message}`, { cause: error })
}

/** The message about an invalid entry, without keys. */
export const entryProblem = (error: unknown): string => createRedactor().text(messageOf(error))

/** Parses the values of `--mcp`, each a JSON object. A mistake is a usage error. */
export function readMcpFlags(texts: readonly string[], env: Io['env']): readonly ServerEntry[] {
  const entries = texts.map((text, i) => readFlag(text, env, texts.length > 1 ? `the ${ordinal(i)} --mcp` : '--mcp'))
  const twice = entries.find(({ name }, i) => entries.findIndex((one) => one.name === name) < i)
  if (twice)
    throw new UsageError(`two --mcp are named "${fullyVisible(twice.name)}"; give one of them another name`, seeMcp)
  return entries
}

const seeMcp = { see: 'mcp' }
const example = '--mcp \'{"name": "fs", "command": "my-server", "args": ["--root", "."]}\''

function readFlag(text: string, env: Io['env'], where: string): ServerEntry {
  const value = parsed(text, where)
  if (!isRecord(value)) throw new UsageError(`${where} must be a JSON object, as in: ${example}`, seeMcp)
  const { name, ...entry } = value
  if (typeof name !== 'string') throw new UsageError(`${where} has no "name"; write it as in: ${example}`, seeMcp)
  try {
    return { name, from: 'flag', where: '--mcp', entry, config: readMcpEntry(name, entry, env, where) }
  } catch (error) {
    throw new UsageError(fullyVisible(entryProblem(error)), { ...seeMcp, cause: error })
  }
}

/** The text may contain keys, so the error only names the position of the mistake. */
function parsed(text: string, where: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    const { line, column, says } = jsonProblem(text) ?? { line: 1, column: 1, says: 'it cannot be read' }
    throw new UsageError(
      `${where} is not JSON, line ${line}, column ${column}: ${says}; put it in single quotes, as in: ${example}`,
      seeMcp,
    )
  }
}

const ordinal = (i: number): string => ['first', 'second', 'third'][i] ?? `${i + 1}th`

/** An entry for display, line by line: the complete command or address, and the names of environment variables and headers. */
export function shownServer(entry: unknown): string[] {
  if (!isRecord(entry)) return []
  const { command, args, cwd, env, headers } = entry
  const url = entry.url ?? entry.serverUrl ?? entry.httpUrl
  const words = [command, ...(Array.isArray(args) ? args : [])]
  return [
    ...(command === undefined ? [] : [words.map(quoted).join(' ')]),
    ...(typeof url === 'string' ? [fullyVisible(createRedactor().text(url))] : []),
    ...(cwd === undefined ? [] : [`in ${quoted(cwd)}`]),
    ...(isRecord(env) ? [`environment: ${namesOf(env)}`] : []),
    ...(isRecord(headers) ? [`headers: ${namesOf(headers)}`] : []),
  ]
}

const namesOf = (record: Record<string, unknown>): string => fullyVisible(Object.keys(record).join(', ')) || 'none'

/** In quotes, so that word boundaries are visible. */
const quoted = (value: unknown): string => fullyVisible(JSON.stringify(value) ?? 'undefined')
