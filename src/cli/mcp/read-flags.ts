import { isRecord } from '../../core/is-record.ts'
import { readMcpEntry } from '../../mcp/read-entry.ts'
import { fullyVisible } from '../../platform/visible-text.ts'
import { UsageError } from '../cli-error.ts'
import { jsonProblem } from '../config/json-problem.ts'
import type { Io } from '../io.ts'
import { entryProblem } from './entry-problem.ts'
import type { ServerEntry } from './gather-servers.ts'

/** What `--mcp` names, each a JSON object. A mistake is the caller's, and is said before anything begins. */
export function readFlags(texts: readonly string[], env: Io['env']): readonly ServerEntry[] {
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
