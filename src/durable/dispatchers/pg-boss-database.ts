import type { Database, Row } from '../../sessions/postgres/database.ts'
import type { PostgresTransaction } from '../../sessions/postgres/driver.ts'
import { isHeldUp } from '../../sessions/postgres/failure.ts'
import { toList } from '../../sessions/postgres/values.ts'
import { inlined, toLiteral } from './sql-literals.ts'

/** What pg-boss needs of a database. */
export interface BossDatabase {
  executeSql(text: string, values?: unknown[]): Promise<{ rows: Row[] }>
}

/** Runs the statements of pg-boss on the connections of `database`, which waits for a server that restarts. */
export function bossDatabase(database: Database): BossDatabase {
  return {
    async executeSql(text, values) {
      if (values?.length) return { rows: [...(await database.query(text, values.map(toParameter)))] }
      // Several statements of one query are a transaction. The driver refuses to begin another one.
      const statements = text.replace(/^\s*BEGIN;/, '').replace(/COMMIT;\s*$/, '')
      return { rows: (await database.query(statements)).flat() as Row[] }
    },
  }
}

/** Runs them in a transaction of the caller. */
export function bossTransaction(database: Database, transaction: PostgresTransaction): BossDatabase {
  return {
    executeSql: async (text, values = []) => ({
      rows: [...(await database.queryIn(transaction, text, values.map(toParameter)))],
    }),
  }
}

/**
 * Runs each statement after taking a lock, so that it sees what the one before it did: in a single statement the rows would be
 * those of the time before the wait.
 */
export function lockedDatabase(database: Database, lock: string): BossDatabase {
  return {
    async executeSql(text, values = []) {
      const locking = `select pg_advisory_xact_lock(hashtextextended(${toLiteral(lock)}, 0))`
      const results = await database.query(`${locking};\n${inlined(text, values)}`)
      return { rows: (results.at(-1) ?? []) as unknown as Row[] }
    },
  }
}

/** Does not wait long for rows that others have locked. */
export function impatientDatabase(database: Database): BossDatabase {
  return {
    async executeSql(text, values = []) {
      const limiting = `select set_config('lock_timeout', '1s', true)`
      const results = await database.query(`${limiting};\n${inlined(text, values)}`, [], isHeldUp)
      return { rows: (results.at(-1) ?? []) as unknown as Row[] }
    },
  }
}

/** The driver does not know the types of arrays. */
const toParameter = (value: unknown): unknown => (Array.isArray(value) ? toList(value.map(String)) : value)
