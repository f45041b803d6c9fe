import { isRecord } from '../../core/is-record.ts'
import { createRedactor } from '../../platform/redact.ts'
import { fullyVisible } from '../../platform/visible-text.ts'

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
