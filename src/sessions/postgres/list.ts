import type { SessionPage, SessionSummary } from '../../core/store.ts'
import { decodeText, encodeText, endOfPrefix } from '../ordered-text.ts'
import { nextPage, type ParsedQuery } from '../session-query.ts'
import { type SessionPresence, type StoredSummary, summaryOf } from '../stored-summary.ts'
import type { Row } from './database.ts'
import { facetsIn, statesOf } from './facets.ts'
import { isHeld, timeOf } from './time.ts'
import { parseStored, toId, toList } from './values.ts'

/** Collects the values of a query of `page_2`. */
class Values {
  readonly list: string[] = []

  /** Adds a value; returns its parameter. */
  add(value: string | number): string {
    return `($2::text[])[${this.list.push(String(value))}]`
  }

  /** Adds a list of texts. */
  texts(list: readonly string[]): string {
    return `${this.add(toList(list))}::text[]`
  }
}

/** The columns of a summary, and the rows that tell whether the session is held. $1: the time. */
const columns = (schema: string): string => `session.id, session.parent, session.record, ${isHeld('now.ms')} as held, (
  select case when count(*) = 0 then 'none' when bool_or(is_answer) then 'answer' else 'messages' end
  from ${schema}.inbox where inbox.session = session.key and body is not null
) as mail, session.created, session.updated`

const joins = (schema: string): string => `
  left join ${schema}.lease as held on held.session = coalesce(session.root, session.key)
  left join ${schema}.process as holder on holder.id = held.process
  cross join (select ${timeOf('$1')} as ms) as now`

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

/** If so few sessions match a condition without an index for its order, they are sorted; else the index of the order is read. */
const maxSorted = 500

/** The index that each order is read from. */
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

/**
 * The query that reads a page. It is a union of branches: each reads, in the order of the page and from its cursor on,
 * the rows of one facet in the index of lists.
 */
export async function pageQuery(schema: string, query: ParsedQuery): Promise<PageQuery> {
  const values = new Values()
  const { statuses, attention, updatedBefore, prefix } = query
  const [facet = '', ...others] = await facetsIn(query)
  const states = statuses && statesOf(statuses)
  const conditions = [
    ...(others.length > 0 ? [`session.facets @> ${values.texts(others)}`] : []),
    ...(updatedBefore === undefined ? [] : [`session.updated < ${values.add(updatedBefore)}::float8`]),
    ...(states ? [stateCondition(states, values)] : []),
    ...(attention ? [`not ${isHeld('now.ms')}`] : []),
  ]
  const branches = new Branches(schema, query, values, conditions)
  if (attention) branches.addAttention(facet)
  else if (prefix !== undefined) branches.addPrefix(facet)
  else if (states && facet === '')
    for (const state of [...states.always, ...states.ifHeld, ...states.unlessHeld]) branches.add(`state:${state}`)
  else branches.add(facet)
  return { text: branches.text, values: values.list }
}

function stateCondition({ always, ifHeld, unlessHeld }: ReturnType<typeof statesOf>, values: Values): string {
  return `(session.state = any (${values.texts(always)})
    or session.state = any (${values.texts(ifHeld)}) and ${isHeld('now.ms')}
    or session.state = any (${values.texts(unlessHeld)}) and not ${isHeld('now.ms')})`
}

interface FewOrMany {
  /** Selects the sessions, by one of these columns. */
  readonly few: string
  readonly by: 'id' | 'key'
  /** The same as conditions. */
  readonly isOne: readonly string[]
  readonly conditions: readonly string[]
}

class Branches {
  readonly #schema: string
  readonly #query: ParsedQuery
  readonly #values: Values
  readonly #conditions: readonly string[]
  readonly #branches: string[] = []
  readonly #few: string[] = []

  constructor(schema: string, query: ParsedQuery, values: Values, conditions: readonly string[]) {
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
    const index = `${this.#schema}.${table} as place join ${this.#schema}.session on session.id = place.id`
    const name = `place.name = ${this.#values.add(facet)}`
    this.#read(index, [name, ...this.#after('place', time), ...conditions], 'place')
  }

  /** Sessions whose ids begin with a text. */
  addPrefix(facet: string): void {
    if (this.#query.order === 'id') {
      this.add(facet, ...this.#inPrefix('place'))
      return
    }
    const conditions = [`name = ${this.#values.add(facet)}`, ...this.#inPrefix('listed')]
    const few = `select id from ${this.#schema}.listed where ${conditions.join(' and ')}`
    this.#addFewOrMany(facet, { few, by: 'id', isOne: this.#inPrefix('place'), conditions: [] })
  }

  /** Sessions that no process holds, and whose run or inbox needs a process. Messages are in no index of lists. */
  addAttention(facet: string): void {
    const ofFacet = facet === '' ? [] : [`session.facets @> ${this.#values.texts([facet])}`]
    const conditions = [...this.#inPrefix('session'), ...ofFacet]
    this.add('attention', ...conditions)
    const few = `select distinct session as key from ${this.#schema}.inbox where body is not null`
    const hasMail = `exists (select 1 from ${this.#schema}.inbox where inbox.session = session.key and body is not null)`
    const isOther = `session.state <> 'parked' and not session.facets @> '{attention}'`
    this.#addFewOrMany(facet, { few, by: 'key', isOne: [hasMail], conditions: [isOther, ...conditions] })
  }

  #inPrefix(row: string): readonly string[] {
    const { prefix } = this.#query
    if (prefix === undefined) return []
    const [from, to] = [encodeText(prefix), endOfPrefix(encodeText(prefix))].map((text) => this.#values.add(text))
    return [`${row}.id >= ${from} and ${row}.id < ${to}`]
  }

  /** Sorts those that `few` selects, if they are few; else reads all in order and takes those that fulfil `isOne`. */
  #addFewOrMany(facet: string, { few, by, isOne, conditions }: FewOrMany): void {
    const name = `few_${this.#few.length}`
    this.#few.push(`${name} as materialized (${few} limit ${maxSorted + 1})`)
    const count = `(select count(*) from ${name})`
    const { time } = orders[this.#query.order]
    const sorted = [`${count} <= ${maxSorted}`, ...this.#after('session', time), 'session.head > 0', ...conditions]
    // "offset 0" makes Postgres begin with the few, and not with all sessions in the order of the page.
    const row = `lateral (select * from ${this.#schema}.session where session.${by} = ${name}.${by} offset 0) as session`
    this.#read(`${name} cross join ${row}`, sorted, 'session')
    this.add(facet, `${count} > ${maxSorted}`, ...isOne, ...conditions)
  }

  /** The rows after the cursor. */
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
