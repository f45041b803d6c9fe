import type { SessionPage, SessionQuery, SessionSummary } from '../core/store.ts'
import {
  comparePositions,
  matches,
  nextPage,
  type ParsedQuery,
  type Position,
  parseQuery,
  positionOf,
} from './session-query.ts'
import { SortedList } from './sorted-list.ts'
import { attentionOf, type SessionPresence, type StoredSummary, summaryOf } from './stored-summary.ts'

/** A session as the index knows it. Whether it is held is asked when it is listed, because leases run out. */
export interface IndexedSession extends Omit<SessionPresence, 'isHeld'> {
  readonly record: StoredSummary
}

const orders = ['updated', 'created', 'id'] as const
type Lists = { readonly [Order in (typeof orders)[number]]: SortedList<Position> }

/** The sessions of a store by every order and filter of a query, in memory. A page takes time for its sessions only. */
export class SessionIndex {
  readonly #isHeld: (session: IndexedSession) => boolean
  readonly #sessions = new Map<string, IndexedSession>()
  /** By group: `all`, and one for each value of a filter. */
  readonly #groups = new Map<string, Lists>([[everything, createLists()]])

  /** `isHeld` tells whether a living process holds the lease of a session. */
  constructor(isHeld: (session: IndexedSession) => boolean) {
    this.#isHeld = isHeld
  }

  /** Adds or changes a session. One without entries is in no list. */
  set(session: IndexedSession): void {
    const { id, record } = session
    if (record.head === 0) {
      this.delete(id)
      return
    }
    const before = this.#sessions.get(id)
    const [oldGroups, groups] = [before ? groupsOf(before) : [], groupsOf(session)]
    for (const group of oldGroups) if (!groups.includes(group)) this.#remove(group, before!)
    for (const group of groups) {
      if (oldGroups.includes(group)) this.#move(group, before!, session)
      else this.#add(group, session)
    }
    this.#sessions.set(id, session)
  }

  delete(id: string): void {
    const session = this.#sessions.get(id)
    if (!session) return
    for (const group of groupsOf(session)) this.#remove(group, session)
    this.#sessions.delete(id)
  }

  all(): Iterable<IndexedSession> {
    return this.#sessions.values()
  }

  get(id: string): IndexedSession | undefined {
    return this.#sessions.get(id)
  }

  find(id: string): SessionSummary | undefined {
    const session = this.#sessions.get(id)
    return session && this.#summaryOf(session)
  }

  /** The ids of the children of a session. */
  childrenOf(id: string): string[] {
    const lists = this.#groups.get(`parent ${id}`)
    return lists ? Array.from(lists.id.after(), (item) => item.id) : []
  }

  page(given: SessionQuery | undefined): SessionPage {
    const query = parseQuery(given)
    const found: SessionSummary[] = []
    for (const { id } of this.#candidates(query)) {
      const summary = this.#summaryOf(this.#sessions.get(id)!)
      if (!matches(summary, query)) continue
      found.push(summary)
      if (found.length > query.limit) break
    }
    return nextPage(found, query)
  }

  #summaryOf(session: IndexedSession): SessionSummary {
    return summaryOf(session.record, { ...session, isHeld: this.#isHeld(session) })
  }

  /** In the order of the query, after its cursor: the sessions of the smallest group that its filters name. */
  #candidates(query: ParsedQuery): Iterable<Position> {
    const choices = groupsFor(query).map((names) => names.flatMap((name) => this.#groups.get(name) ?? []))
    const size = (lists: readonly Lists[]): number => lists.reduce((sum, { id }) => sum + id.size, 0)
    const smallest = choices.reduce((best, lists) => (size(lists) < size(best) ? lists : best))
    const { order, limit, prefix } = query
    const start = startOf(query)
    const all = this.#groups.get(everything)!.id
    if (prefix !== undefined && order === 'id')
      return merged(
        smallest.map((lists) => withPrefix(lists.id, prefix, start)),
        order,
      )
    // Looking at all that begin with the prefix may cost less than looking at the others until the page is full.
    if (prefix !== undefined && countWithPrefix(all, prefix) ** 2 < size(smallest) * (limit + 1)) {
      const found = Array.from(withPrefix(all, prefix), ({ id }) => placeOf(this.#sessions.get(id)!, order))
      const following = found.filter((place) => !start || comparePositions(place, start, order) > 0)
      return following.sort((a, b) => comparePositions(a, b, order))
    }
    return merged(
      smallest.map((lists) => lists[order].after(start)),
      order,
    )
  }

  #add(group: string, session: IndexedSession): void {
    const lists = this.#groups.get(group) ?? createLists()
    this.#groups.set(group, lists)
    for (const order of orders) lists[order].add(placeOf(session, order))
  }

  #move(group: string, before: IndexedSession, session: IndexedSession): void {
    const lists = this.#groups.get(group)!
    for (const order of orders) {
      const [from, to] = [placeOf(before, order), placeOf(session, order)]
      if (from.time === to.time) continue
      lists[order].remove(from)
      lists[order].add(to)
    }
  }

  #remove(group: string, session: IndexedSession): void {
    const lists = this.#groups.get(group)!
    for (const order of orders) lists[order].remove(placeOf(session, order))
    if (lists.id.size === 0 && group !== everything) this.#groups.delete(group)
  }
}

const everything = 'all'

function createLists(): Lists {
  const list = (order: (typeof orders)[number]) => new SortedList<Position>((a, b) => comparePositions(a, b, order))
  return { updated: list('updated'), created: list('created'), id: list('id') }
}

function placeOf({ id, record: { createdAt, updatedAt } }: IndexedSession, order: ParsedQuery['order']): Position {
  return positionOf({ id, createdAt, updatedAt }, order)
}

function groupsOf({ record, parent, mail }: IndexedSession): string[] {
  const { status, isActive, tags = [], tenant, kind, folder } = record
  return [
    everything,
    // A run is interrupted if no process holds the lease.
    isActive && status !== 'parked' ? `active ${status}` : `status ${status}`,
    parent === undefined ? 'root' : `parent ${parent}`,
    ...(attentionOf(record, mail) ? ['attention'] : []),
    ...new Set(tags.map((tag) => `tag ${tag}`)),
    ...(tenant === undefined ? [] : [`tenant ${tenant}`]),
    ...(kind === undefined ? [] : [`kind ${kind}`]),
    ...(folder === undefined ? [] : [`folder ${folder}`]),
  ]
}

/** For each filter the groups that contain all sessions that pass it. Groups of one filter have no session in common. */
function groupsFor({ statuses, attention, tags = [], tenant, kind, folder, parent }: ParsedQuery): string[][] {
  return [
    [everything],
    ...(statuses ? [[...new Set(statuses.flatMap(groupsOfStatus))]] : []),
    ...(attention ? [['attention']] : []),
    ...tags.map((tag) => [`tag ${tag}`]),
    ...(tenant === undefined ? [] : [[`tenant ${tenant}`]]),
    ...(kind === undefined ? [] : [[`kind ${kind}`]]),
    ...(folder === undefined ? [] : [[`folder ${folder}`]]),
    ...(parent === undefined ? [] : [[parent === null ? 'root' : `parent ${parent}`]]),
  ]
}

function groupsOfStatus(status: string): string[] {
  return status === 'interrupted'
    ? ['status interrupted', 'active working', 'active waiting']
    : [`status ${status}`, `active ${status}`]
}

/** The places of the ids that begin with a prefix, after `start`. */
function* withPrefix(ids: SortedList<Position>, prefix: string, start?: Position): Generator<Position, void> {
  const isBehind = start !== undefined && start.id >= prefix
  for (const place of isBehind ? ids.after(start) : ids.from({ time: 0, id: prefix })) {
    if (!place.id.startsWith(prefix)) return
    yield place
  }
}

function countWithPrefix(ids: SortedList<Position>, prefix: string): number {
  const last = prefix.replace(/\uffff+$/, '')
  const end = last && last.slice(0, -1) + String.fromCharCode(last.charCodeAt(last.length - 1) + 1)
  const before = ids.countBefore({ time: 0, id: prefix })
  return (end ? ids.countBefore({ time: 0, id: end }) : ids.size) - before
}

/** The place after which the first session of the page is: that of the cursor, or that of `updatedBefore`. */
function startOf({ order, after, updatedBefore }: ParsedQuery): Position | undefined {
  if (order !== 'updated' || updatedBefore === undefined) return after
  const latest = { time: updatedBefore, id: '' } // of those with this time, the last one
  return after && comparePositions(after, latest, order) > 0 ? after : latest
}

/** The items of several ordered lists, in order. */
function* merged(lists: readonly Iterator<Position>[], order: ParsedQuery['order']): Generator<Position, void> {
  const heads = lists.map((list) => list.next())
  for (;;) {
    let first = -1
    for (const [i, { done, value }] of heads.entries())
      if (!done && (first < 0 || comparePositions(value, heads[first]!.value, order) < 0)) first = i
    if (first < 0) return
    yield heads[first]!.value
    heads[first] = lists[first]!.next()
  }
}
