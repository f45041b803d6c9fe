import type { DatabaseSync } from 'node:sqlite'
import type { LogEntry } from '../../core/log.ts'
import { digestOf } from '../../platform/digest.ts'
import { ownerOf, placeOf } from './places.ts'
import { patience, type Row, salvage, scan } from './salvage.ts'
import { unseal } from './sealed.ts'

/** Collects what could not be brought over. */
export interface Losses {
  add(what: string, session?: string): void
}

/** The identity, so that the copy can take the place of the original, and the count of leases, so that none repeats. */
export function copyStore(source: DatabaseSync, target: DatabaseSync, losses: Losses): void {
  const values = new Map<unknown, unknown>()
  for (const { name, value } of scan(source, 'SELECT name, value FROM store')) values.set(name, value)
  const [identity, epochs] = [values.get('identity'), values.get('epochs')]
  const put = target.prepare('UPDATE store SET value = ? WHERE name = ?')
  if (typeof identity === 'string') put.run(identity, 'identity')
  else losses.add('the identity of the store')
  // Where the count is lost, the time is higher than any count can be.
  put.run(typeof epochs === 'number' ? epochs : Date.now(), 'epochs')
}

/** Names, parents and heads; from the index, where the row cannot be read. */
export function copySessions(source: DatabaseSync, target: DatabaseSync, losses: Losses): void {
  const insert = target.prepare('INSERT OR IGNORE INTO sessions (key, id, parent, head) VALUES (?, ?, ?, ?)')
  const problem = each(salvage(source, 'sessions', 'key, id, parent, head'), ({ key, id, parent, head }) => {
    if (!isCount(key) || typeof id !== 'string') return
    insert.run(key, id, typeof parent === 'string' ? parent : null, isCount(head) ? head : 0)
  })
  note(losses, 'sessions', problem)
  const names = 'SELECT key, id FROM sessions INDEXED BY sqlite_autoindex_sessions_1 WHERE id'
  for (const sql of [`${names} >= '' ORDER BY id`, `${names} >= '' ORDER BY id DESC`]) {
    for (const { key, id } of scan(source, sql)) {
      if (isCount(key) && typeof id === 'string') insert.run(key, id, null, 0)
    }
  }
}

/** Returns how many. */
export function copyEntries(source: DatabaseSync, target: DatabaseSync, losses: Losses): number {
  const insert = target.prepare('INSERT OR IGNORE INTO entries (place, at, sum, body) VALUES (?, ?, ?, ?)')
  let copied = 0
  const use = ({ place, sum, body }: Row): void => {
    if (!isCount(place) || typeof sum !== 'number' || typeof body !== 'string') return
    const { session, seq } = ownerOf(place)
    const entry = unseal({ body, sum }, session) as LogEntry | undefined
    if (entry?.seq !== seq) return // missed later, as a gap
    copied += Number(insert.run(place, typeof entry.at === 'number' ? entry.at : null, sum, body).changes)
  }
  const select = 'SELECT place, sum, body FROM entries'
  const forward = each(scan(source, `${select} ORDER BY place`), use)
  if (forward.problem === undefined) return copied
  losses.add(`a part of the table of entries: ${forward.problem}`)
  each(scan(source, `${select} ORDER BY place DESC`), use)
  for (const place of missingPlaces(target)) each(scan(source, `${select} WHERE place = ?`, place), use)
  return copied
}

/** Where entries should be that have not been found yet, for each session until there is nothing to be found any more. */
function* missingPlaces(target: DatabaseSync): Generator<number> {
  const isThere = target.prepare('SELECT 1 FROM entries WHERE place = ?')
  for (const { key, head } of target.prepare('SELECT key, head FROM sessions').all()) {
    let misses = 0
    for (let seq = 1; seq <= (Number(head) || patience) && misses < patience; seq++) {
      const place = placeOf(Number(key), seq)
      if (isThere.get(place) === undefined) yield place
      misses = isThere.get(place) === undefined ? misses + 1 : 0
    }
  }
}

/** Returns how many wait. Keys that were delivered are brought over too. */
export function copyMessages(source: DatabaseSync, target: DatabaseSync, losses: Losses): number {
  const insert = target.prepare('INSERT OR IGNORE INTO inbox VALUES (?, ?, ?, ?, ?)')
  let copied = 0
  const rows = salvage(source, 'inbox', 'position, session, client_key, sum, body')
  const problem = each(rows, ({ position, session, client_key, sum, body }) => {
    if (!isCount(position) || !isCount(session) || typeof client_key !== 'string') return
    if (body === null) insert.run(position, session, client_key, null, null)
    else if (typeof body !== 'string' || typeof sum !== 'number' || unseal({ body, sum }, session) === undefined)
      losses.add(`a message that waited, with the key ${client_key}`)
    else copied += Number(insert.run(position, session, client_key, sum, body).changes)
  })
  note(losses, 'messages', problem)
  return copied
}

/** Returns how many. */
export function copyBlobs(source: DatabaseSync, target: DatabaseSync, losses: Losses): number {
  const insert = target.prepare('INSERT OR IGNORE INTO blobs VALUES (?, ?, ?)')
  let copied = 0
  const problem = each(salvage(source, 'blobs', 'session, name, bytes'), ({ session, name, bytes }) => {
    if (typeof session !== 'string' || typeof name !== 'string' || !(bytes instanceof Uint8Array)) return
    if (digestOf(bytes) !== name) losses.add(`blob ${name}`, session)
    else copied += Number(insert.run(session, name, bytes).changes)
  })
  note(losses, 'blobs', problem)
  return copied
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0

function each<T>(rows: Generator<Row, T>, use: (row: Row) => void): T {
  let next = rows.next()
  for (; !next.done; next = rows.next()) use(next.value)
  return next.value
}

function note(losses: Losses, table: string, problem: string | undefined): void {
  if (problem !== undefined) losses.add(`a part of the table of ${table}: ${problem}`)
}
