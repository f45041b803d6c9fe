import type { Sql } from 'postgres'
import type { FakeClock } from '../../src/testing/index.ts'

/**
 * The time of a server, which tests cannot advance: `statements` change its rows as if they were older. `ms` is an interval of
 * Postgres.
 */
export function postgresClock(statements: (ms: string) => readonly string[], sql: Sql): Omit<FakeClock, 'pending'> {
  let ahead = 0
  return {
    now: () => Date.now() + ahead,
    timer(ms, fn) {
      const timer = setTimeout(fn, ms)
      return () => clearTimeout(timer)
    },
    async advance(ms) {
      ahead += ms
      for (const statement of statements(`interval '${ms} milliseconds'`)) await sql.unsafe(statement)
    },
  }
}
