import { isRecord } from '../../core/is-record.ts'
import { createRedactor } from '../../platform/redact.ts'
import type { Config } from './config.ts'

/** A setting as people may see it: of the environment and the headers of MCP servers the names only, and no keys in addresses. */
export function withoutSecrets(key: keyof Config, value: unknown): unknown {
  if (key !== 'mcpServers' || !isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, entryWithoutSecrets(entry)]))
}

/** The same of one server. */
export function entryWithoutSecrets(entry: unknown): unknown {
  if (!isRecord(entry)) return entry
  return Object.fromEntries(Object.entries(entry).map(([field, value]) => [field, shownField(field, value)]))
}

const secret: ReadonlySet<string> = new Set(['env', 'headers'])
const addresses: ReadonlySet<string> = new Set(['url', 'serverUrl', 'httpUrl'])

function shownField(field: string, value: unknown): unknown {
  if (secret.has(field)) return masked(value)
  return addresses.has(field) ? createRedactor().json(value) : value
}

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
