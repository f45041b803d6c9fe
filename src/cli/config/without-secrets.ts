import { isRecord } from '../../core/is-record.ts'
import type { Config } from './config.ts'

/** A setting as people may see it: of the environment and the headers of MCP servers the names only. */
export function withoutSecrets(key: keyof Config, value: unknown): unknown {
  if (key !== 'mcpServers' || !isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, entryWithoutSecrets(entry)]))
}

/** The same of one server. */
export function entryWithoutSecrets(entry: unknown): unknown {
  if (!isRecord(entry)) return entry
  const fields = Object.entries(entry).map(([field, value]) => [field, secret.has(field) ? masked(value) : value])
  return Object.fromEntries(fields)
}

const secret: ReadonlySet<string> = new Set(['env', 'headers'])

/** A reference such as `${TOKEN}` is no secret, and says where it comes from. */
function masked(value: unknown): unknown {
  if (!isRecord(value)) return '…'
  return Object.fromEntries(
    Object.entries(value).map(([name, text]) => [
      name,
      /^\$\{[A-Za-z_][A-Za-z0-9_]*\}$/.test(String(text)) ? text : '…',
    ]),
  )
}
