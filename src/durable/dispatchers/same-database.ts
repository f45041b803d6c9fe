import type { Database } from '../../sessions/postgres/database.ts'
import type { PostgresTransaction } from '../../sessions/postgres/driver.ts'

/** Tells whether a transaction of the caller is in the database of the dispatcher. It is asked once: a store stays in its place. */
export function createSameDatabase(
  database: Database,
  table: string,
): (transaction: PostgresTransaction) => Promise<boolean> {
  const statement = `select current_database() as name, to_regclass('${table.replaceAll("'", "''")}')::oid::text as place,
    pg_postmaster_start_time()::text as since`
  let answer: Promise<boolean> | undefined
  return (transaction) => {
    const mine = (answer ??= compare(transaction))
    mine.catch(() => {
      answer = undefined
    })
    return mine
  }

  async function compare(transaction: PostgresTransaction): Promise<boolean> {
    const [own] = await database.query(statement)
    const [other] = await database.queryIn(transaction, statement, [])
    return JSON.stringify(own) === JSON.stringify(other)
  }
}
