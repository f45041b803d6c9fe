import type { Query, Row } from './database.ts'
import { isHeldUp, isUnreachable } from './failure.ts'
import { inGroups } from './in-groups.ts'
import { toList } from './values.ts'

/** The values of one call, in the order of the parameters. A list is given as the text of an array. */
export type Values = readonly (string | number | boolean | null)[]

/** The characters in the values of a group. */
const maxSize = 1_000_000
/** What a call counts beside its values: a group locks its rows, and holds what it reads, until all of it is done. */
const callSize = 5000

export type GroupedCall = (...values: Values) => Promise<readonly Row[]>

/**
 * A `select` that many sessions need at the same time: calls that come while one is under way share a round trip, a
 * transaction and a sync of the disk. Each call gets its own rows. What the server refuses as a group is asked for one by one,
 * unless `isFailureOfAll` says that this cannot help.
 *
 * In the statement each parameter is cast where it stands, as in `$1::bigint`. With `isFree`, a condition, the statement has a
 * row for each call, and a call of which it is not true is left out of the group.
 */
export function groupedStatement(
  statement: string,
  isFree?: string,
): (query: Query, isFailureOfAll?: () => boolean) => GroupedCall {
  const groupStatement = groupedSql(statement, isFree)
  return (query, isFailureOfAll) => {
    const call = inGroups<Values, readonly Row[]>({
      async together(calls) {
        const rows: Row[][] = calls.map(() => [])
        // What waits for one session would else be retried, and waited for, by all.
        const found = await query(groupStatement, columnsOf(calls), isHeldUp)
        for (const row of found) rows[Number(row.call) - 1]!.push(row)
        return isFree === undefined ? rows : rows.map((found) => (found.length > 0 ? found : null))
      },
      alone: (values) => query(statement, values),
      isFailureOfAll: isFailureOfAll ?? isUnreachable,
      sizeOf: (values) => values.reduce((size: number, value) => size + String(value).length, callSize),
      maxSize,
    })
    return (...values) => call(values)
  }
}

/**
 * The statement for each row of lists of values. Writes are done in the order of their first value, the id of a session, so
 * that groups of several processes do not wait for each other; those of one session in the order of the calls. The lists are selects, whose length the planner cannot
 * estimate: else it would make a plan for each group, which takes longer than the group.
 */
function groupedSql(statement: string, isFree = 'true'): string {
  const count = Math.max(...Array.from(statement.matchAll(/\$(\d+)/g), ([, number]) => Number(number)))
  const numbers = Array.from({ length: count }, (_, i) => i + 1)
  const lists = numbers.map((n) => `(select $${n}::text::text[])`).join(', ')
  const names = numbers.map((n) => `v${n}`).join(', ')
  const ofGiven = (sql: string): string => sql.replace(/\$(\d+)/g, 'given.v$1')
  return `select given.call, found.* from (
      select given.*, ${ofGiven(isFree)} as is_free from
      (select * from unnest(${lists}) with ordinality as given (${names}, call) order by v1, call offset 0) as given offset 0
    ) as given cross join lateral (${ofGiven(statement)}) as found where given.is_free`
}

const columnsOf = (calls: readonly Values[]): string[] =>
  calls[0]!.map((_, column) => toList(calls.map((values) => values[column] ?? null)))
