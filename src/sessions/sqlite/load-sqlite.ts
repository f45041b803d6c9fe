import type { DatabaseSync } from 'node:sqlite'
import { StoreError } from '../../core/errors.ts'

/** `node:sqlite`, loaded by the first use of a store. Some versions of Node warn that it is experimental: not here. */
export function loadSqlite(): { DatabaseSync: typeof DatabaseSync } {
  const { emitWarning } = process
  process.emitWarning = ((...told: Parameters<typeof emitWarning>) => {
    if (!isAboutSqlite(told[0])) Reflect.apply(emitWarning, process, told)
  }) as typeof emitWarning
  try {
    const loaded = process.getBuiltinModule('node:sqlite')
    if (loaded) return loaded
  } finally {
    process.emitWarning = emitWarning
  }
  throw new StoreError(
    'unavailable',
    `Node ${process.version} has no node:sqlite; use Node 22.18 or newer, or another store`,
  )
}

const isAboutSqlite = (warning: string | Error): boolean =>
  /^SQLite is an experimental feature/.test(typeof warning === 'string' ? warning : warning.message)
