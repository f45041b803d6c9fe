import { failpoint, type LogEntry } from '../../core/log.ts'
import type { AnyEntry } from '../../core/log-entry.ts'
import { encodeText } from '../ordered-text.ts'
import { applyEntries, emptySummary, type StoredSummary } from '../stored-summary.ts'
import type { Query, Row } from './database.ts'
import { facetsOfSummary, storedStatusOf } from './facets.ts'
import { tablesAndFunctionsSql } from './schema.ts'
import { timeSql } from './time.ts'
import { fromText, parseStored, toList } from './values.ts'

/** So many rows are in memory at a time. */
const pageSize = 200

/**
 * Upgrades the tables of format 1, in the transaction of `query`. Format 1 had no summaries, named sessions by their id as
 * JSON in every table, and kept entries of more than 256 KiB in blobs. Writers of the older version wait for the lock, and then
 * fail, because the functions that they call are gone.
 */
export async function migrateFormat1(query: Query, schema: string): Promise<void> {
  const old = ['session', 'entry', 'inbox', 'blob']
  await query(`lock table ${old.map((table) => `${schema}.${table}`).join(', ')} in access exclusive mode`)
  for (const table of old) await query(`alter table ${schema}.${table} rename to ${table}_1`)
  await query(tablesAndFunctionsSql(schema))
  await query(`create table ${schema}.renamed (old text collate "C" primary key, key bigint)`)
  failpoint('postgres.migrate.step')
  await eachRow(query, { from: `${schema}.session_1`, key: 'id' }, (row) => migrateSession(query, schema, row))
  const answers: number[] = []
  const waiting: Rows = { from: `${schema}.inbox_1`, key: 'place', where: 'body is not null' }
  await eachRow(query, waiting, async ({ place, body }) => {
    if ((parseStored(body) as { mode?: unknown }).mode === 'answer') answers.push(Number(place))
  })
  await query(copies(schema, answers))
  failpoint('postgres.migrate.step')
}

/** Writes the summary of one session, and puts entries from blobs back into its log. */
async function migrateSession(query: Query, schema: string, row: Row): Promise<void> {
  let summary: StoredSummary = emptySummary
  await eachRow(query, { from: `${schema}.entry_1`, key: 'seq', session: row.id }, async ({ seq, id, body }) => {
    const entry = parsed(body)
    const blob = (entry?.type as string) === 'spilled' && entry?.blob
    const whole = blob ? await unspill(query, schema, { session: row.id, seq, blob }) : String(body)
    // An unreadable entry counts as `lost` here, and the summary is made from the rest. Who reads the log later gets the error.
    const lost: AnyEntry = { seq: Number(seq), id: String(id), at: summary.updatedAt, type: 'lost' }
    summary = applyEntries(summary, [parsed(whole) ?? (lost as LogEntry)], whole.length)
  })
  const id = encodeText(fromText(String(row.id)))
  const parent = row.parent === null ? null : encodeText(fromText(String(row.parent)))
  const facets =
    summary.head > 0 ? [...(await facetsOfSummary(summary)), parent === null ? 'root' : `parent:${parent}`] : []
  await query(
    `with added as (
      insert into ${schema}.session (id, parent, head, record, state, facets, created, updated)
      select $2, $3, $4::bigint, $5, $6, $7::text::text[], $8::float8, $9::float8
      where $4::bigint > 0 or $10::float8 > ${timeSql('null')}
        or exists (select 1 from ${schema}.inbox_1 where session = $1 and body is not null)
      returning key
    ) insert into ${schema}.renamed (old, key) select $1, key from added`,
    [
      ...[row.id, id, parent, row.head, summary.head > 0 ? JSON.stringify(summary) : null, storedStatusOf(summary)],
      ...[toList(facets), summary.createdAt, summary.updatedAt, row.expires],
    ],
  )
  failpoint('postgres.migrate.step')
}

function parsed(body: unknown): (LogEntry & { readonly blob?: string }) | undefined {
  try {
    return JSON.parse(String(body))
  } catch {
    return undefined
  }
}

interface SpilledRow {
  readonly session: unknown
  readonly seq: unknown
  readonly blob: string
}

/** Moves an entry from its blob into its row, if the blob is there. Resolves with its body. */
async function unspill(query: Query, schema: string, { session, seq, blob }: SpilledRow): Promise<string> {
  const [row] = await query(
    `with blob as (delete from ${schema}.blob_1 where session = $1 and name = $3 returning bytes)
    update ${schema}.entry_1 set body = convert_from(blob.bytes, 'UTF8') from blob where session = $1 and seq = $2::bigint
    returning body`,
    [session, seq, blob],
  )
  return String(row?.body)
}

/** Copies what Postgres can copy by itself, and removes the old tables and functions. */
const copies = (schema: string, answers: readonly number[]): string => `
update ${schema}.session as child set root = family.root from (
  with recursive family (key, id, root) as (
    select key, id, key from ${schema}.session where parent is null
    union all
    select session.key, session.id, family.root from ${schema}.session join family on session.parent = family.id
  ) select * from family
) as family where family.key = child.key and family.root <> child.key;
insert into ${schema}.recent (name, updated, id) select unnest(facets), updated, id from ${schema}.session;
insert into ${schema}.listed (name, id, created) select unnest(facets), id, created from ${schema}.session;
insert into ${schema}.lease (session, epoch, owner, since, ttl, expires)
  select key, epoch, owner, since, expires - since, expires from ${schema}.session_1
  join ${schema}.renamed on old = id where expires > ${timeSql('null')};
insert into ${schema}.entry (session, seq, id, body)
  select key, seq, id, body from ${schema}.entry_1 join ${schema}.renamed on old = session;
insert into ${schema}.inbox (session, client_key, place, is_answer, body) overriding system value
  select key, client_key, place, place = any ('{${answers}}'::bigint[]), body
  from ${schema}.inbox_1 join ${schema}.renamed on old = session;
select setval(pg_get_serial_sequence('${schema}.inbox', 'place'), (select max(place) + 1 from ${schema}.inbox), false);
insert into ${schema}.blob (session, name, bytes)
  select key, name, bytes from ${schema}.blob_1 join ${schema}.renamed on old = session;
drop function ${schema}.append_1, ${schema}.lease_1, ${schema}.send_1, ${schema}.delete_1;
drop table ${schema}.session_1, ${schema}.entry_1, ${schema}.inbox_1, ${schema}.blob_1, ${schema}.renamed;`

interface Rows {
  readonly from: string
  /** Rows are read in the order of this column. */
  readonly key: 'id' | 'seq' | 'place'
  readonly where?: string
  readonly session?: unknown
}

/** Reads a table page by page. */
async function eachRow(
  query: Query,
  { from, key, where = 'true', session }: Rows,
  work: (row: Row) => Promise<void>,
): Promise<void> {
  const type = key === 'id' ? 'text' : 'bigint'
  const first = key === 'id' ? '' : 0
  const inSession = session === undefined ? '' : 'and session = $2'
  for (
    let after: unknown, page: readonly Row[] | undefined;
    !page || page.length === pageSize;
    after = page.at(-1)?.[key]
  ) {
    const comparison = after === undefined && key === 'id' ? '>=' : '>' // an id may be empty
    page = await query(
      `select * from ${from} where ${key} ${comparison} $1::${type} and ${where} ${inSession} order by ${key} limit ${pageSize}`,
      [after ?? first, ...(session === undefined ? [] : [session])],
    )
    for (const row of page) await work(row)
  }
}
