import { show } from '../core/behavior.ts'
import { didYouMean } from '../core/nearest.ts'
import type { EntryRange, SessionPage, SessionQuery, SessionStore, SessionSummary } from '../core/store.ts'
import { compareTexts } from '../core/text.ts'
import { plainText } from './summary-texts.ts'

const defaultLimit = 50
export const maxLimit = 1000

/** A query with its defaults, and the position that its cursor names. */
export interface ParsedQuery extends Omit<SessionQuery, 'status' | 'cursor'> {
  readonly order: NonNullable<SessionQuery['order']>
  readonly limit: number
  readonly statuses: readonly string[] | undefined
  /** The last session of the page before. */
  readonly after: Position | undefined
}

/** The place of a session in an order: by time and then by id, or by id alone. */
export interface Position {
  readonly time: number
  readonly id: string
}

/** Checks a query. The texts of its filters become as `plainText` makes those of the details. */
export function parseQuery(query: SessionQuery = {}): ParsedQuery {
  for (const [name, value] of Object.entries(query)) {
    if (!Object.hasOwn(checks, name))
      throw new TypeError(`list() has no option "${name}"${didYouMean(name, Object.keys(checks))}`)
    const [isRight, wanted] = checks[name as keyof SessionQuery]
    if (value !== undefined && !isRight(value))
      throw new TypeError(`list() takes ${wanted} as ${name}, got ${show(value)}`)
  }
  const { status, cursor, order = 'updated', limit = defaultLimit, tags, tenant, kind, folder, ...others } = query
  return {
    ...others,
    ...(tags && { tags: tags.map(plainText) }),
    ...(tenant !== undefined && { tenant: plainText(tenant) }),
    ...(kind !== undefined && { kind: plainText(kind) }),
    ...(folder !== undefined && { folder: plainText(folder) }),
    order,
    limit,
    statuses: typeof status === 'string' ? [status] : status,
    after: cursor === undefined ? undefined : positionIn(cursor, order),
  }
}

const statuses: readonly unknown[] = ['working', 'waiting', 'interrupted', 'idle', 'failed', 'parked']
const orders: readonly unknown[] = ['updated', 'created', 'id']
const isText = (value: unknown): boolean => typeof value === 'string'

const checks: Readonly<Record<keyof SessionQuery, readonly [(value: unknown) => boolean, string]>> = {
  status: [
    (value) => (Array.isArray(value) ? value : [value]).every((one) => statuses.includes(one)),
    `one or several of ${statuses.join(', ')}`,
  ],
  attention: [(value) => value === true, 'true'],
  tags: [(value) => Array.isArray(value) && value.every(isText), 'a list of texts'],
  tenant: [isText, 'a text'],
  kind: [isText, 'a text'],
  folder: [isText, 'a path'],
  parent: [(value) => value === null || isText(value), 'an id or null'],
  prefix: [isText, 'the beginning of an id'],
  updatedBefore: [Number.isFinite, 'a time in milliseconds'],
  order: [(value) => orders.includes(value), orders.join(', ')],
  limit: [
    (value) => Number.isInteger(value) && (value as number) >= 1 && (value as number) <= maxLimit,
    `a number from 1 to ${maxLimit}`,
  ],
  cursor: [isText, 'the "next" of a page'],
}

/** The cursor after a session. */
export function cursorAfter(summary: SessionSummary, order: ParsedQuery['order']): string {
  const { time, id } = positionOf(summary, order)
  return JSON.stringify([order, time, id])
}

export function positionOf(
  { id, createdAt, updatedAt }: Pick<SessionSummary, 'id' | 'createdAt' | 'updatedAt'>,
  order: ParsedQuery['order'],
): Position {
  if (order === 'id') return { time: 0, id }
  return { time: order === 'created' ? createdAt : updatedAt, id }
}

function positionIn(cursor: string, order: ParsedQuery['order']): Position {
  const [ordered, time, id] = partsOf(cursor)
  if (ordered !== order || typeof time !== 'number' || typeof id !== 'string')
    throw new TypeError(
      `The cursor ${show(cursor)} is not the "next" of a page by "${order}"; list without it to begin again`,
    )
  return { time, id }
}

function partsOf(cursor: string): readonly unknown[] {
  try {
    const parts: unknown = JSON.parse(cursor)
    return Array.isArray(parts) ? parts : []
  } catch {
    return []
  }
}

/** Whether a session is one of those that a query names. */
export function matches(summary: SessionSummary, query: ParsedQuery): boolean {
  const { statuses, attention, tags, tenant, kind, folder, parent, prefix, updatedBefore } = query
  if (statuses && !statuses.includes(summary.status)) return false
  if (attention && summary.attention === undefined) return false
  if (tags?.some((tag) => !summary.tags.includes(tag))) return false
  if (tenant !== undefined && summary.tenant !== tenant) return false
  if (kind !== undefined && summary.kind !== kind) return false
  if (folder !== undefined && summary.folder !== folder) return false
  if (parent !== undefined && (summary.parent ?? null) !== parent) return false
  if (prefix !== undefined && !summary.id.startsWith(prefix)) return false
  return updatedBefore === undefined || summary.updatedAt < updatedBefore
}

/** One page of sessions that are all in memory. */
export function pageOf(summaries: Iterable<SessionSummary>, given: SessionQuery | undefined): SessionPage {
  const query = parseQuery(given)
  const { order, limit, after } = query
  const following = [...summaries].filter(
    (summary) => matches(summary, query) && (!after || comparePositions(positionOf(summary, order), after, order) > 0),
  )
  following.sort((a, b) => comparePositions(positionOf(a, order), positionOf(b, order), order))
  return nextPage(following.slice(0, limit + 1), query)
}

/** A page of at most `limit` sessions, from a list that has one more if more follow. */
export function nextPage(found: readonly SessionSummary[], { limit, order }: ParsedQuery): SessionPage {
  const sessions = found.slice(0, limit)
  return found.length > limit ? { sessions, next: cursorAfter(sessions.at(-1)!, order) } : { sessions }
}

/** Compares two places in the order of a query. */
export function comparePositions(a: Position, b: Position, order: ParsedQuery['order']): number {
  return order === 'id' ? compareTexts(a.id, b.id) : b.time - a.time || compareTexts(b.id, a.id)
}

/**
 * A page of the sessions that match and that `isWanted` accepts. Reads as many pages of the store as it takes; there is a
 * `next` unless no session follows that matches.
 */
export async function pageWhere(
  store: Pick<SessionStore, 'list'>,
  query: SessionQuery,
  isWanted: (summary: SessionSummary) => boolean | Promise<boolean>,
): Promise<SessionPage> {
  const { limit, order } = parseQuery(query)
  const sessions: SessionSummary[] = []
  let cursor = query.cursor
  let size = limit
  do {
    const page = await store.list({ ...query, limit: size, ...(cursor !== undefined && { cursor }) })
    size = maxLimit // many that are not wanted may follow
    for (const summary of page.sessions) {
      if (await isWanted(summary)) sessions.push(summary)
      if (sessions.length < limit) continue
      const isLast = page.next === undefined && summary === page.sessions.at(-1)
      return isLast ? { sessions } : { sessions, next: cursorAfter(summary, order) }
    }
    cursor = page.next
  } while (cursor !== undefined)
  return { sessions }
}

/** All sessions that match, page by page. */
export async function* eachSession(
  store: Pick<SessionStore, 'list'>,
  query: SessionQuery = {},
): AsyncGenerator<SessionSummary> {
  let cursor = query.cursor
  do {
    const { sessions, next } = await store.list({ limit: maxLimit, ...query, ...(cursor !== undefined && { cursor }) })
    yield* sessions
    cursor = next
  } while (cursor !== undefined)
}

/** All sessions that match, in a list. For stores of a size that a person can look through. */
export async function allSessions(store: SessionStore, query?: SessionQuery): Promise<SessionSummary[]> {
  const sessions: SessionSummary[] = []
  for await (const session of eachSession(store, query)) sessions.push(session)
  return sessions
}

/** The part of a list of entries that a range names. `entries` begins with entry `first`. */
export function entriesInRange<Entry>(entries: readonly Entry[], range: EntryRange = {}, first = 1): readonly Entry[] {
  const { from, to } = boundsOf(range, first + entries.length - 1)
  return entries.slice(Math.max(0, from - first), Math.max(0, to - first + 1))
}

/** The first and the last entry that a range names in a log of `head` entries; none if `to` is less than `from`. */
export function boundsOf(range: EntryRange, head: number): { readonly from: number; readonly to: number } {
  const { after = 0, before = Number.POSITIVE_INFINITY, limit = Number.POSITIVE_INFINITY, fromEnd = false } = range
  const [from, to] = [Math.max(1, after + 1), Math.min(head, before - 1)]
  if (to - from + 1 <= limit) return { from, to }
  return fromEnd ? { from: to - limit + 1, to } : { from, to: from + limit - 1 }
}
