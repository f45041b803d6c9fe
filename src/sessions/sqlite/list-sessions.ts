import type { SessionPage, SessionSummary } from '../../core/store.ts'
import { comparePositions, matches, nextPage, type ParsedQuery, type Position } from '../session-query.ts'
import { type Condition, type ListSource, maxCount, sourcesOf } from './list-sources.ts'
import type { Statements } from './statements.ts'
import { decodeText, encodeText } from './stored-values.ts'

/**
 * One page of sessions. Indexes find the sessions that may match, in the order of the list. Whether one does match is decided
 * by its summary, from `summarize`, because the status depends on the lease too.
 */
export function listSessions<Row extends ListedRow>(
  database: Statements,
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

interface Step {
  readonly sources: readonly ListSource[]
  readonly query: ParsedQuery
  readonly after: Position | undefined
  readonly size: number
  readonly columns: string
}

/** The next rows after a position, of all sources together. */
function nextRows<Row extends ListedRow>(database: Statements, step: Step): Timed<Row>[] {
  const { sources, query, after, size, columns } = step
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

/** The position in the order at which the rows begin. One condition, because SQLite uses only one as the start of its search. */
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

function countRows(database: Statements, { index, indexConditions }: ListSource, order: ParsedQuery['order']): number {
  const rows = `SELECT 1 FROM ${listedSql(index, order)} WHERE ${whereOf(indexConditions)} LIMIT ${maxCount}`
  return Number(database.statement(`SELECT count(*) AS n FROM (${rows})`).get(...valuesOf(indexConditions))?.n)
}
