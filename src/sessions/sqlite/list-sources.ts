import type { ParsedQuery } from '../session-query.ts'
import { type ListIndex, listIndexes } from './list-indexes.ts'
import { encodeText, endOfPrefix } from './stored-values.ts'
import { activeStatus } from './summary-columns.ts'

/** A part of a WHERE clause. `listed` is the table whose index is searched, `row` the session. */
export interface Condition {
  readonly sql: string
  readonly values: readonly (string | number)[]
}

/** Sessions that may match a query: found by one index, then filtered. */
export interface ListSource {
  /** `tags` is the table of tags; `id` is the index of ids, whose sessions are sorted if another order is asked for. */
  readonly index: ListIndex | 'tags' | 'id'
  /** Which rows the index finds. */
  readonly indexConditions: readonly Condition[]
  /** Which of these rows may match the query. */
  readonly filters: readonly Condition[]
}

/** The sources that together have all sessions that may match. `count` counts the rows that an index finds, up to `maxCount`. */
export function sourcesOf(query: ParsedQuery, count: (source: ListSource) => number): readonly ListSource[] {
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

/** Conditions that more sessions than this fulfil count as equally frequent. */
export const maxCount = 300

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
