import type { ParsedQuery } from '../session-query.ts'
import { type ListIndex, listIndexes } from './list-indexes.ts'
import { activeStatus } from './record-columns.ts'
import { encodeText, endOfPrefix } from './stored-values.ts'

/** A part of a WHERE clause. `listed` is the table whose index is searched, `row` the session. */
export interface Condition {
  readonly sql: string
  readonly values: readonly (string | number)[]
}

/** Sessions that may match a query, found by one index and then tested. */
export interface ListSource {
  /** `tags` is the table of tags; `name` is the index of ids, whose sessions are sorted where another order is asked for. */
  readonly index: ListIndex | 'tags' | 'name'
  /** What the index finds. */
  readonly found: readonly Condition[]
  readonly tests: readonly Condition[]
}

/** The sources that together have all sessions that may match. `count` counts what an index finds, up to `maxCount`. */
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
  // The index of ids does not have the order, so it is used for few sessions only.
  return sources[0]!.index === 'name' && least >= maxCount ? allSources(query) : sources
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
  // Idle sessions are found among all.
  if (statuses && !statuses.includes('idle'))
    choices.push(storedStatuses(statuses).map((status) => sourceOf(query, 'status', status)))
  if (prefix !== undefined && order !== 'id') choices.push([sourceOf(query, 'name')])
  return choices
}

const details = ['tenant', 'kind', 'folder'] as const

function sourceOf(query: ParsedQuery, index: ListSource['index'], text?: string): ListSource {
  return { index, found: foundBy(query, index, text), tests: testsOf(query, index) }
}

function foundBy({ prefix = '' }: ParsedQuery, index: ListSource['index'], text = ''): Condition[] {
  if (index === 'tags') return [is('listed.tag', text)]
  if (index === 'name') return [...idsWith(prefix), condition(isListed)]
  const { first, when } = listIndexes[index]
  // Without the condition of an index SQLite does not use it.
  return [...first.map((column) => is(`listed.${column}`, text)), condition(when('listed.')), condition(isListed)]
}

const isListed = 'listed.created IS NOT NULL'

/** All conditions of a query, so far as columns can tell, except where the list begins. */
function testsOf(query: ParsedQuery, index: ListSource['index']): Condition[] {
  const { parent, tags = [], attention, statuses, prefix, updatedBefore, order } = query
  const tests = tags.map((tag) => condition(hasTagSql, encodeText(tag)))
  if (parent === null) tests.push(condition('row.parent IS NULL'))
  else if (parent !== undefined) tests.push(is('row.parent', parent))
  for (const name of details) if (query[name] !== undefined) tests.push(is(`row.${name}`, query[name]))
  if (attention) tests.push(condition(listIndexes.attention.when('row.')))
  if (statuses) {
    const stored = storedStatuses(statuses)
    const table = index === 'tags' ? 'row' : 'listed'
    tests.push(condition(`${table}.status IN (${stored.map(() => '?').join(', ')})`, ...stored))
  }
  if (updatedBefore !== undefined && order !== 'updated') tests.push(condition('row.updated < ?', updatedBefore))
  if (prefix !== undefined) tests.push(...(order === 'id' ? idsWith(prefix).slice(0, 1) : idsWith(prefix)))
  return tests
}

const hasTagSql = 'EXISTS (SELECT 1 FROM tags WHERE tags.session = row.key AND tags.tag = ?)'

function idsWith(prefix: string): Condition[] {
  const start = encodeText(prefix)
  return [condition('listed.id < ?', endOfPrefix(start)), condition('listed.id >= ?', start)]
}

const condition = (sql: string, ...values: (string | number)[]): Condition => ({ sql, values })
const is = (column: string, text: string): Condition => condition(`${column} = ?`, encodeText(text))

/** The values of the column that may be shown as these: a run whose process is gone is shown as interrupted. */
function storedStatuses(statuses: readonly string[]): string[] {
  const active = statuses.includes('interrupted') ? ['working', 'waiting', 'idle', 'failed', 'interrupted'] : statuses
  return [...new Set([...statuses, ...active.map(activeStatus)])]
}
