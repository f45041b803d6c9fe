import type { SessionPage, SessionSummary } from '../../core/store.ts'
import { comparePositions, matches, nextPage, type ParsedQuery, type Position } from '../session-query.ts'
import { type ListIndex, listIndexes } from './list-indexes.ts'
import { activeStatus } from './save-stored-summary.ts'
import type { SqlDatabase } from './statements.ts'
import { decodeText, encodeText, endOfPrefix } from './stored-values.ts'

/**
 * One page of sessions. Indexes find the sessions that may match, in the order of the list. The summary of a session, from
 * `summarize`, decides whether the session does match, because the status depends on the lease too.
 */
export function listSessions<Row extends ListedRow>(
  database: SqlDatabase,
  query: ParsedQuery,
  { columns, summarize }: RowReader<Row>,
): SessionPage {
  const sources = sourcesOf(query, (source) => countRows(database, source, query.order))
  const matching: SessionSummary[] = []
  let after = query.after
  let size = query.limit + 1
  for (;;) {
    const rows = nextRows<Row>(database, { sources, query, after, size, columns })
    for (const row of rows) {
      const summary = summarize(row)
      if (matches(summary, query)) matching.push(summary)
      if (matching.length > query.limit) return nextPage(matching, query)
    }
    if (rows.length < size) return nextPage(matching, query)
    after = positionOf(rows.at(-1)!)
    size = Math.min(2 * size, maxRows)
  }
}

/** The most rows that are read at a time. */
const maxRows = 1000

/** How a row becomes a summary. */
export interface RowReader<Row> {
  /** The columns of a row, separated by commas; `row` is the table of sessions. */
  readonly columns: string
  summarize(row: Row): SessionSummary
}

/** A session; its id is encoded by `encodeText`. */
interface ListedRow {
  readonly id: string
}

type Timed<Row> = Row & { readonly time: number }

const positionOf = ({ time, id }: Timed<ListedRow>): Position => ({ time, id: decodeText(id) })

interface PageRequest {
  readonly sources: readonly ListSource[]
  readonly query: ParsedQuery
  readonly after: Position | undefined
  readonly size: number
  readonly columns: string
}

/** The next rows after a position, of all sources together. */
function nextRows<Row extends ListedRow>(database: SqlDatabase, request: PageRequest): Timed<Row>[] {
  const { sources, query, after, size, columns } = request
  const rows = sources.flatMap((source) => {
    const conditions = [...source.indexConditions, startOf(query, after), ...source.filters]
    const statement = database.statement<Timed<Row>>(pageSql(source, conditions, query.order, columns))
    return statement.all(...valuesOf(conditions), size)
  })
  if (sources.length === 1) return rows
  return rows.sort((a, b) => comparePositions(positionOf(a), positionOf(b), query.order)).slice(0, size)
}

const valuesOf = (conditions: readonly Condition[]) => conditions.flatMap(({ values }) => values)
const whereOf = (conditions: readonly Condition[]) => conditions.map(({ sql }) => sql).join(' AND ')

/** Where the rows begin in the order, as a condition. It is one condition, because SQLite uses only one as the start of its search. */
function startOf(query: ParsedQuery, after: Position | undefined): Condition {
  const { order, prefix = '', updatedBefore = Number.POSITIVE_INFINITY } = query
  const id = after && encodeText(after.id)
  if (order === 'id') {
    const start = encodeText(prefix)
    return id !== undefined && id >= start
      ? { sql: 'listed.id > ?', values: [id] }
      : { sql: 'listed.id >= ?', values: [start] }
  }
  const isAfter = after && (order === 'created' || after.time < updatedBefore)
  const bound = order === 'updated' ? updatedBefore : Number.POSITIVE_INFINITY
  const values = isAfter ? [after.time, id!] : [bound, '']
  return { sql: `(listed.${order}, listed.id) < (?, ?)`, values }
}

function pageSql(
  { index }: ListSource,
  conditions: readonly Condition[],
  order: ParsedQuery['order'],
  columns: string,
): string {
  const time = order === 'id' ? '0' : `listed.${order}`
  const sorted = order === 'id' ? 'listed.id' : `listed.${order} DESC, listed.id DESC`
  const session = index === 'tags' ? 'listed.session' : 'listed.key'
  return `SELECT ${columns}, ${time} AS time FROM ${listedSql(index, order)}
    CROSS JOIN sessions AS row ON row.key = ${session} WHERE ${whereOf(conditions)} ORDER BY ${sorted} LIMIT ?`
}

function listedSql(index: ListSource['index'], order: ParsedQuery['order']): string {
  if (index === 'tags') return `tags AS listed INDEXED BY tags_${order}`
  return `sessions AS listed INDEXED BY ${index === 'id' ? 'sqlite_autoindex_sessions_1' : `${index}_${order}`}`
}

function countRows(database: SqlDatabase, { index, indexConditions }: ListSource, order: ParsedQuery['order']): number {
  const rows = `SELECT 1 FROM ${listedSql(index, order)} WHERE ${whereOf(indexConditions)} LIMIT ${maxCount}`
  return Number(database.statement(`SELECT count(*) AS n FROM (${rows})`).get(...valuesOf(indexConditions))?.n)
}

/** A part of a WHERE clause. `listed` is the table whose index is searched, `row` the session. */
interface Condition {
  readonly sql: string
  readonly values: readonly (string | number)[]
}

/** Sessions that may match a query: found by one index, then filtered. */
interface ListSource {
  /** `tags` is the table of tags; `id` is the index of ids, whose sessions are sorted if another order is asked for. */
  readonly index: ListIndex | 'tags' | 'id'
  /** Which rows the index finds. */
  readonly indexConditions: readonly Condition[]
  /** Which of these rows may match the query. */
  readonly filters: readonly Condition[]
}

/** The sources that together have all sessions that may match. `count` counts the rows that an index finds, up to `maxCount`. */
function sourcesOf(query: ParsedQuery, count: (source: ListSource) => number): readonly ListSource[] {
  if (query.statuses?.length === 0) return []
  const choices = choicesOf(query)
  if (choices.length === 0) return allSources(query)
  if (choices.length === 1 && query.prefix === undefined) return choices[0]!
  const counted = choices.map((sources) => ({
    sources,
    count: sources.reduce((sum, source) => sum + count(source), 0),
  }))
  const [{ sources, count: least }] = counted.toSorted((a, b) => a.count - b.count) as [(typeof counted)[0]]
  // The index of ids has another order and its rows must be sorted, so it is used only if it finds few.
  return sources[0]!.index === 'id' && least >= maxCount ? allSources(query) : sources
}

/** Sessions are counted up to this number only: conditions with more of them count as equally selective. */
const maxCount = 300

function allSources(query: ParsedQuery): ListSource[] {
  const indexes: ListIndex[] = query.parent === null ? ['roots'] : ['roots', 'nested']
  return indexes.map((index) => sourceOf(query, index))
}

/** For each condition of a query that has an index: the sources that find its sessions. */
function choicesOf(query: ParsedQuery): ListSource[][] {
  const { parent, tags = [], attention, statuses, prefix, order } = query
  const choices = tags.map((tag) => [sourceOf(query, 'tags', tag)])
  if (typeof parent === 'string') choices.push([sourceOf(query, 'parent', parent)])
  for (const name of details) if (query[name] !== undefined) choices.push([sourceOf(query, name, query[name])])
  if (attention) choices.push([sourceOf(query, 'attention')])
  // Idle sessions are in no index of statuses: all sessions are scanned for them.
  if (statuses && !statuses.includes('idle'))
    choices.push(storedStatuses(statuses).map((status) => sourceOf(query, 'status', status)))
  if (prefix !== undefined && order !== 'id') choices.push([sourceOf(query, 'id')])
  return choices
}

const details = ['tenant', 'kind', 'folder'] as const

function sourceOf(query: ParsedQuery, index: ListSource['index'], text?: string): ListSource {
  return { index, indexConditions: indexConditionsOf(query, index, text), filters: filtersOf(query, index) }
}

function indexConditionsOf({ prefix = '' }: ParsedQuery, index: ListSource['index'], text = ''): Condition[] {
  if (index === 'tags') return [is('listed.tag', text)]
  if (index === 'id') return [...idsWith(prefix), condition(isListed)]
  const { leadingColumns, where } = listIndexes[index]
  // SQLite uses a partial index only if the query repeats its condition.
  return [
    ...leadingColumns.map((column) => is(`listed.${column}`, text)),
    condition(where('listed.')),
    condition(isListed),
  ]
}

const isListed = 'listed.created IS NOT NULL'

/** All conditions of a query that columns can decide, except the position at which the page begins. */
function filtersOf(query: ParsedQuery, index: ListSource['index']): Condition[] {
  const { parent, tags = [], attention, statuses, prefix, updatedBefore, order } = query
  const filters = tags.map((tag) => condition(hasTagSql, encodeText(tag)))
  if (parent === null) filters.push(condition('row.parent IS NULL'))
  else if (parent !== undefined) filters.push(is('row.parent', parent))
  for (const name of details) if (query[name] !== undefined) filters.push(is(`row.${name}`, query[name]))
  if (attention) filters.push(condition(listIndexes.attention.where('row.')))
  if (statuses) {
    const stored = storedStatuses(statuses)
    const table = index === 'tags' ? 'row' : 'listed'
    filters.push(condition(`${table}.status IN (${stored.map(() => '?').join(', ')})`, ...stored))
  }
  if (updatedBefore !== undefined && order !== 'updated') filters.push(condition('row.updated < ?', updatedBefore))
  if (prefix !== undefined) filters.push(...(order === 'id' ? idsWith(prefix).slice(0, 1) : idsWith(prefix)))
  return filters
}

const hasTagSql = 'EXISTS (SELECT 1 FROM tags WHERE tags.session = row.key AND tags.tag = ?)'

function idsWith(prefix: string): Condition[] {
  const start = encodeText(prefix)
  return [condition('listed.id < ?', endOfPrefix(start)), condition('listed.id >= ?', start)]
}

const condition = (sql: string, ...values: (string | number)[]): Condition => ({ sql, values })
const is = (column: string, text: string): Condition => condition(`${column} = ?`, encodeText(text))

/**
 * The values of the `status` column whose sessions may be shown with one of these statuses. While a run is active the column
 * holds `active <status>`; such a session is shown as `interrupted` if its process is gone.
 */
function storedStatuses(statuses: readonly string[]): string[] {
  const active = statuses.includes('interrupted') ? ['working', 'waiting', 'idle', 'failed', 'interrupted'] : statuses
  return [...new Set([...statuses, ...active.map(activeStatus)])]
}
