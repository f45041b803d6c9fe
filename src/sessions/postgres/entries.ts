import type { InboxItem, LogEntry } from '../../core/log.ts'
import type { EntryRange } from '../../core/store.ts'
import type { Row } from './database.ts'
import type { Values } from './grouped-statement.ts'
import { parseStored } from './values.ts'

/**
 * Walks from a session down the chain of sessions that it was forked from. Each row is one log, which supplies the entries
 * `low` + 1 to `high`. `first` to `last` is the requested range, computed from the head, because entries are numbered without
 * gaps. The walk stops when `first` is covered. $1: the id, $2: after, $3: before, $4: limit, $5: from the end.
 */
const chain = (schema: string): string => `
recursive own (key, base, low, high, first, last) as (
  select key, base, base_head, head,
    greatest($2::float8 + 1, case when $5::boolean then least(head, $3::float8 - 1) - $4::float8 + 1 else 0 end),
    least(head, $3::float8 - 1, case when $5::boolean then head else $2::float8 + $4::float8 end)
  from ${schema}.session where id = $1::text
), chain (key, base, low, high, first, last) as (
  select * from own
  union all
  select shared.key, shared.base, shared.base_head, chain.low, first, last
  from chain join ${schema}.session as shared on shared.key = chain.base and chain.first <= chain.low
)`

/** The requested entries of all logs in the chain, as the row `entry`. */
const entriesOfChain = (schema: string): string => `chain cross join lateral (
  select seq, body from ${schema}.entry where session = chain.key
    and seq >= greatest(chain.first, chain.low + 1)::bigint and seq <= least(chain.last, chain.high)::bigint order by seq
) as entry`

/** The entries of a range. `kind` 0: an entry; `place`: its number. */
export const entriesSql = (schema: string): string =>
  `with ${chain(schema)} select 0 as kind, entry.seq as place, entry.body from ${entriesOfChain(schema)}`

/** The messages that wait in the inbox. `kind` 1: a message; `place`: its position in the inbox. $1: the id. */
export const inboxSql = (schema: string): string => `
select 1 as kind, inbox.place, inbox.body from ${schema}.session join ${schema}.inbox on inbox.session = session.key
where session.id = $1 and inbox.body is not null`

/** Entries and inbox in one statement, so that a message is always in the inbox or in the log. */
export const changeSql = (schema: string): string => `${entriesSql(schema)} union all ${inboxSql(schema)}`

/** The parameters $2 to $5 for a range. */
export function rangeValues({ after = 0, before, limit, fromEnd = false }: EntryRange = {}): Values {
  return [after, before ?? unbounded, limit ?? unbounded, fromEnd && limit !== undefined]
}

const unbounded = 2 ** 53 - 1

/** What the rows of these statements hold, in order. */
export function changeOf(rows: readonly Row[]): { entries: LogEntry[]; inbox: InboxItem[]; inboxVersion: string } {
  const sorted = rows.toSorted((a, b) => Number(a.place) - Number(b.place))
  const [entries, inbox] = [0, 1].map((kind) => sorted.filter((row) => Number(row.kind) === kind))
  return {
    entries: (entries ?? []).map(({ body }) => parseStored(body) as LogEntry),
    inbox: (inbox ?? []).map(({ body }) => parseStored(body) as InboxItem),
    inboxVersion: inboxVersion((inbox ?? []).map(({ place }) => Number(place))),
  }
}

/** Changes when a message comes or goes. */
const inboxVersion = (places: readonly number[]): string =>
  `${places.length}:${places.reduce((sum, place) => sum + place, 0)}`

export const emptyInboxVersion: string = inboxVersion([])

/** The version of the inbox as SQL, for the row `session`. */
export const inboxVersionSql = (schema: string): string =>
  `(select count(*) || ':' || coalesce(sum(place), 0) from ${schema}.inbox where inbox.session = session.key and body is not null)`
