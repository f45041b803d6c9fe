import type { SessionPage, SessionSummary } from '../../core/store.ts'
import { decodeText, encodeText, endOfPrefix } from '../ordered-text.ts'
import { nextPage, type ParsedQuery } from '../session-query.ts'
import { type SessionPresence, type StoredSummary, summaryOf } from '../stored-summary.ts'
import type { Row } from './database.ts'
import { facetsOfQuery, type StoredStatuses, storedStatusesFor } from './facets.ts'
import { isHeldSql, timeSql } from './time.ts'
import { parseStored, toId, toList } from './values.ts'

/*
 * How a page of a list is read. Lists have an index of their own, two tables with a row for each facet of each session:
 * `recent` is ordered by the time of the last change, `listed` by the time of creation and by id. A query becomes one statement:
 *
 * 1. `facetsOfQuery` gives the facets of the query, the rarest kind first. The first facet chooses the rows of the index that are
 *    read. The other facets, and what no facet can say, become conditions on the row of the session.
 * 2. Each branch reads rows of the index in the order of the page, from the cursor on, at most as many as the page needs. A query
 *    for statuses without other facets has a branch for each stored status. For what has no index in the order of the page (the
 *    beginning of an id, messages in the inbox) there are two alternative branches: see `#addFewOrMany`.
 * 3. The branches are united, sorted, and cut to the size of the page.
 * 4. The server runs the statement in `page_2`, whose settings make the planner walk through the indexes.
 *
 * So the time to read a page does not depend on the number of sessions, as long as most rows of the index fulfil the conditions.
 */

/** Collects the parameters of a statement that `page_2` runs. */
class ParameterList {
  readonly list: string[] = []

  /** Adds a value. Returns the SQL that stands for the value. */
  add(value: string | number): string {
    return `($2::text[])[${this.list.push(String(value))}]`
  }

  /** Adds a list of texts. Returns the SQL that stands for the list. */
  texts(list: readonly string[]): string {
    return `${this.add(toList(list))}::text[]`
  }
}

/**
 * The columns of a summary. `record` is the stored summary, `held` tells whether a process holds the session, `mail` what waits
 * in its inbox.
 */
const columns = (
  schema: string,
): string => `session.id, session.parent, session.record, ${isHeldSql('now.ms')} as held, (
  select case when count(*) = 0 then 'none' when bool_or(is_answer) then 'answer' else 'messages' end
  from ${schema}.inbox where inbox.session = session.key and body is not null
) as mail, session.created, session.updated`

/** The rows that `held` is computed from: the lease of the session or of its root, the process of the lease, and the time, $1. */
const joins = (schema: string): string => `
  left join ${schema}.lease as held on held.session = coalesce(session.root, session.key)
  left join ${schema}.process as holder on holder.id = held.process
  cross join (select ${timeSql('$1')} as ms) as now`

/** The statement that finds one session. */
export const findSql = (schema: string): string =>
  `select ${columns(schema)} from ${schema}.session ${joins(schema)} where session.id = $2::text and session.head > 0`

export function summaryIn(row: Row): SessionSummary {
  return summaryOf(parseStored(row.record) as StoredSummary, {
    id: decodeText(String(row.id)),
    parent: row.parent === null ? undefined : decodeText(String(row.parent)),
    isHeld: row.held === true,
    mail: row.mail as SessionPresence['mail'],
  })
}

export const pageIn = (rows: readonly Row[], query: ParsedQuery): SessionPage => nextPage(rows.map(summaryIn), query)

/**
 * If no index has both a condition and the order of the page, up to this many matches are fetched and sorted. If there are more,
 * the index of the order is scanned and filtered.
 */
const maxSorted = 500

/** For each order of a list: the table of the index that has this order. */
const orders = {
  updated: { table: 'recent', time: 'updated', sorting: 'updated desc, id desc' },
  created: { table: 'listed', time: 'created', sorting: 'created desc, id desc' },
  id: { table: 'listed', time: undefined, sorting: 'id' },
} as const

/** The parameters of `page_2`. */
interface PageQuery {
  readonly text: string
  readonly values: readonly string[]
}

export const pageSql = (schema: string): string =>
  `select * from ${schema}.page_2($1::text, $2::float8, $3::text::text[])`

/** The statement that reads a page: a union of branches. */
export async function pageQuery(schema: string, query: ParsedQuery): Promise<PageQuery> {
  const values = new ParameterList()
  const { statuses, attention, updatedBefore, prefix } = query
  const [facet = '', ...others] = await facetsOfQuery(query)
  const stored = statuses && storedStatusesFor(statuses)
  const conditions = [
    ...(others.length > 0 ? [`session.facets @> ${values.texts(others)}`] : []),
    ...(updatedBefore === undefined ? [] : [`session.updated < ${values.add(updatedBefore)}::float8`]),
    ...(stored ? [storedStatusCondition(stored, values)] : []),
    ...(attention ? [`not ${isHeldSql('now.ms')}`] : []),
  ]
  const branches = new Branches(schema, query, values, conditions)
  if (attention) branches.addAttention(facet)
  else if (prefix !== undefined) branches.addPrefix(facet)
  else if (stored && facet === '')
    for (const status of [...stored.always, ...stored.ifHeld, ...stored.unlessHeld]) branches.add(`state:${status}`)
  else branches.add(facet)
  return { text: branches.text, values: values.list }
}

function storedStatusCondition({ always, ifHeld, unlessHeld }: StoredStatuses, values: ParameterList): string {
  return `(session.state = any (${values.texts(always)})
    or session.state = any (${values.texts(ifHeld)}) and ${isHeldSql('now.ms')}
    or session.state = any (${values.texts(unlessHeld)}) and not ${isHeldSql('now.ms')})`
}

/** Sessions that no index has in the order of the page. Whether they are few decides how they are read. */
interface FewOrMany {
  /** SQL that selects the `id` or the `key` of each session. */
  readonly selectSql: string
  /** Which of the two `selectSql` selects. */
  readonly keyColumn: 'id' | 'key'
  /** SQL conditions that are true for exactly the sessions that `selectSql` selects. */
  readonly membershipConditions: readonly string[]
  /** What else must be true. */
  readonly conditions: readonly string[]
}

class Branches {
  readonly #schema: string
  readonly #query: ParsedQuery
  readonly #values: ParameterList
  readonly #conditions: readonly string[]
  readonly #branches: string[] = []
  readonly #few: string[] = []

  constructor(schema: string, query: ParsedQuery, values: ParameterList, conditions: readonly string[]) {
    this.#schema = schema
    this.#query = query
    this.#values = values
    this.#conditions = conditions
  }

  get text(): string {
    const { sorting } = orders[this.#query.order]
    const union = this.#branches.map((branch) => `(${branch})`).join(' union all ')
    const few = this.#few.length > 0 ? `with ${this.#few.join(', ')} ` : ''
    return `${few}select id, parent, record, held, mail from (${union}) as page order by ${sorting} limit ${this.#limit}`
  }

  get #limit(): number {
    return this.#query.limit + 1
  }

  /** The sessions with a facet. */
  add(facet: string, ...conditions: readonly string[]): void {
    const { table, time } = orders[this.#query.order]
    const index = `${this.#schema}.${table} as listing join ${this.#schema}.session on session.id = listing.id`
    const name = `listing.name = ${this.#values.add(facet)}`
    this.#read(index, [name, ...this.#after('listing', time), ...conditions], 'listing')
  }

  /** Sessions whose ids begin with a text. */
  addPrefix(facet: string): void {
    if (this.#query.order === 'id') {
      this.add(facet, ...this.#inPrefix('listing'))
      return
    }
    const conditions = [`name = ${this.#values.add(facet)}`, ...this.#inPrefix('listed')]
    const selectSql = `select id from ${this.#schema}.listed where ${conditions.join(' and ')}`
    const membershipConditions = this.#inPrefix('listing')
    this.#addFewOrMany(facet, { selectSql, keyColumn: 'id', membershipConditions, conditions: [] })
  }

  /**
   * Sessions that no process holds, and whose run or inbox needs a process. The facet `attention` finds the sessions whose run
   * needs a process. No facet tells which sessions have messages, so these are looked up in the inbox.
   */
  addAttention(facet: string): void {
    const ofFacet = facet === '' ? [] : [`session.facets @> ${this.#values.texts([facet])}`]
    const conditions = [...this.#inPrefix('session'), ...ofFacet]
    this.add('attention', ...conditions)
    const selectSql = `select distinct session as key from ${this.#schema}.inbox where body is not null`
    const hasMail = `exists (select 1 from ${this.#schema}.inbox where inbox.session = session.key and body is not null)`
    const isOther = `session.state <> 'parked' and not session.facets @> '{attention}'`
    const isRead = [isOther, ...conditions]
    this.#addFewOrMany(facet, { selectSql, keyColumn: 'key', membershipConditions: [hasMail], conditions: isRead })
  }

  #inPrefix(row: string): readonly string[] {
    const { prefix } = this.#query
    if (prefix === undefined) return []
    const [from, to] = [encodeText(prefix), endOfPrefix(encodeText(prefix))].map((text) => this.#values.add(text))
    return [`${row}.id >= ${from} and ${row}.id < ${to}`]
  }

  /**
   * Adds two branches, of which only one gives rows. If `selectSql` finds few sessions, the first branch fetches and sorts them.
   * Otherwise the second branch reads the sessions with the facet in the order of the page, and filters them.
   */
  #addFewOrMany(facet: string, { selectSql, keyColumn, membershipConditions, conditions }: FewOrMany): void {
    const name = `few_${this.#few.length}`
    this.#few.push(`${name} as materialized (${selectSql} limit ${maxSorted + 1})`)
    const count = `(select count(*) from ${name})`
    const { time } = orders[this.#query.order]
    const sorted = [`${count} <= ${maxSorted}`, ...this.#after('session', time), 'session.head > 0', ...conditions]
    // "offset 0" makes Postgres begin with the few, and not with all sessions in the order of the page.
    const row = `lateral (select * from ${this.#schema}.session where session.${keyColumn} = ${name}.${keyColumn} offset 0) as session`
    this.#read(`${name} cross join ${row}`, sorted, 'session')
    this.add(facet, `${count} > ${maxSorted}`, ...membershipConditions, ...conditions)
  }

  /** The condition for the rows after the cursor. */
  #after(row: string, time: string | undefined): readonly string[] {
    const { after } = this.#query
    if (!after) return []
    const id = this.#values.add(toId(after.id))
    if (time === undefined) return [`${row}.id > ${id}`]
    return [`(${row}.${time}, ${row}.id) < (${this.#values.add(after.time)}::float8, ${id})`]
  }

  #read(from: string, conditions: readonly string[], row: string): void {
    const sorting = orders[this.#query.order].sorting.replace(/(updated|created|id)/g, `${row}.$1`)
    this.#branches.push(`select ${columns(this.#schema)} from ${from} ${joins(this.#schema)}
      where ${[...conditions, ...this.#conditions].join(' and ')} order by ${sorting} limit ${this.#limit}`)
  }
}
