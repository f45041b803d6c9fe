import type { Query } from '../sessions/postgres/database.ts'
import { lockOf } from '../sessions/postgres/schema.ts'

/**
 * Runs statements on a table of the fleet, which is made in the schema of the store before the first one. What makes it may
 * only add: workers of other versions use the same table.
 */
export function onOwnTable(run: Query, schema: string, creation: string): Query {
  let ready: Promise<unknown> | undefined
  return async (statement, values) => {
    ready ??= run(`select ${lockOf(schema)}; ${creation}`)
    await ready.catch((error) => {
      ready = undefined
      throw error
    })
    return run(statement, values)
  }
}
