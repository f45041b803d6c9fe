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

/** Where an entry stands, or is about to. */
interface EntrySource {
  /** The config file; absent where it was given on the command line. */
  readonly file?: string
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** Refuses an entry that could not be used as it is written. Gives it as it will be read, and the variables that are not set now. */
export function checkEntry(
  name: string,
  entry: unknown,
  { file, env = {} }: EntrySource,
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
      variables[error.variable] = standIn
    }
  }
}

/** Fits wherever a variable may stand, in an address too. */
const standIn = 'https://unset.invalid'

function refusal(error: unknown, file: string | undefined): Error {
  const message = fullyVisible(entryProblem(error))
  if (file === undefined) return new UsageError(message, { cause: error })
  return new ConfigError(`${fullyVisible(file)}: ${message}`, { cause: error })
}

/** What is wrong with an entry, without a key that stands in what it quotes. */
export const entryProblem = (error: unknown): string => createRedactor().text(messageOf(error))

/** What `--mcp` names, each a JSON object. A mistake is the caller's, and is said before anything begins. */
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

/** The text may hold keys: only the place is told where it stops being JSON. */
function parsed(text: string, where: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    const { line, column, says } = jsonProblem(text) ?? { line: 1, column: 1, says: 'it cannot be read' }
    throw new UsageError(
      `${where} is not JSON, line ${line}, column ${column}: ${says}; put it between single quotes, as in: ${example}`,
      seeMcp,
    )
  }
}

const ordinal = (i: number): string => ['first', 'second', 'third'][i] ?? `${i + 1}th`

/** What is started or called, as it is written and whole; of environment and headers the names. One thing a line. */
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

const namesOf = (record: Record<string, unknown>): string =>
  Object.keys(record)
    .map((name) => fullyVisible(name))
    .join(', ') || 'none'

/** In quotes, so that one sees where each begins and ends. */
const quoted = (value: unknown): string => fullyVisible(JSON.stringify(value) ?? 'undefined')
