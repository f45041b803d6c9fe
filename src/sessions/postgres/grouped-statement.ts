import type { Query, Row } from './database.ts'
import { isHeldUp, isUnreachable } from './failure.ts'
import { groupCalls } from './group-calls.ts'
import { toList } from './values.ts'

/** The values of one call, in the order of the parameters. A list is given as the text of an array (`toList`). */
export type Values = readonly (string | number | boolean | null)[]

/** The maximum size of a group: the characters of its values, and `callSize` for each call. */
const maxSize = 1_000_000
/** Limits a group to 200 calls: the rows of all calls stay locked, and all results stay in memory, until the whole group is done. */
const callSize = 5000

export type GroupedCall = (...values: Values) => Promise<readonly Row[]>

/**
 * A `select` that many sessions need at the same time. Calls that come while a call is under way are collected into a group, and
 * run as one statement: one round trip, one transaction and one sync of the disk. Each call gets its own rows. If the group
 * fails, each call runs alone, unless `isFailureOfAll` says that this cannot help.
 *
 * `statement` has to cast each parameter, as in `$1::bigint`, because a group passes all parameters as texts. `freeCondition` is
 * an SQL condition on the same parameters. A call for which the condition is false is left out of the group and runs alone. With
 * a `freeCondition`, `statement` has to return a row for each call, because a call without rows counts as left out.
 */
export function groupedStatement(
  statement: string,
  freeCondition?: string,
): (query: Query, isFailureOfAll?: () => boolean) => GroupedCall {
  const groupStatement = groupedSql(statement, freeCondition)
  return (query, isFailureOfAll) => {
    const call = groupCalls<Values, readonly Row[]>({
      async together(calls) {
        const rows: Row[][] = calls.map(() => [])
        // A group that waited for a lock in vain is not tried again: each of its calls would wait for that one session.
        const found = await query(groupStatement, columnsOf(calls), isHeldUp)
        for (const row of found) rows[Number(row.call) - 1]!.push(row)
        return freeCondition === undefined ? rows : rows.map((found) => (found.length > 0 ? found : null))
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
 * SQL that runs the statement for each call of a group. Each parameter is a list with the values of the calls. Calls run in the
 * order of their first value, the id of a session, so that groups of several processes do not wait for each other. Calls for the
 * same session run in the order in which they came. The lists are selects, so that the planner does not know their length.
 * Otherwise the planner would plan each group anew, which takes longer than running the group.
 */
function groupedSql(statement: string, freeCondition = 'true'): string {
  const count = Math.max(...Array.from(statement.matchAll(/\$(\d+)/g), ([, number]) => Number(number)))
  const numbers = Array.from({ length: count }, (_, i) => i + 1)
  const lists = numbers.map((n) => `(select $${n}::text::text[])`).join(', ')
  const names = numbers.map((n) => `v${n}`).join(', ')
  const ofGiven = (sql: string): string => sql.replace(/\$(\d+)/g, 'given.v$1')
  return `select given.call, found.* from (
      select given.*, ${ofGiven(freeCondition)} as is_free from
      (select * from unnest(${lists}) with ordinality as given (${names}, call) order by v1, call offset 0) as given offset 0
    ) as given cross join lateral (${ofGiven(statement)}) as found where given.is_free`
}

const columnsOf = (calls: readonly Values[]): string[] =>
  calls[0]!.map((_, column) => toList(calls.map((values) => values[column] ?? null)))
