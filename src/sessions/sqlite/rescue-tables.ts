import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import { messageOf } from '../../core/errors.ts'
import type { LogEntry } from '../../core/log.ts'
import { digestOf } from '../../platform/digest.ts'
import { decodeFormat2, encodeText, entryKey, entryKeyParts, verifiedValue } from './stored-values.ts'

/** Collects what could not be copied. */
export interface Losses {
  add(what: string, session?: string): void
}

/** The damaged database. */
export interface Source {
  readonly database: DatabaseSync
  /** The version of its tables. */
  readonly format: number
}

/** A text of a caller in the present encoding. */
const recoded = ({ format }: Source, text: string): string => (format < 3 ? encodeText(decodeFormat2(text)) : text)

/** Copies the identity, so that the copy can replace the original, and the epoch counter, so that no epoch repeats. */
export function copyStore({ database }: Source, target: DatabaseSync, losses: Losses): void {
  const values = new Map<unknown, unknown>()
  for (const { name, value } of scan(database, 'SELECT name, value FROM store')) values.set(name, value)
  const [identity, epochs] = [values.get('identity'), values.get('epochs')]
  const put = target.prepare('UPDATE store SET value = ? WHERE name = ?')
  if (typeof identity === 'string') put.run(identity, 'identity')
  else losses.add('the identity of the store')
  // If the counter is lost, the current time is used: it is higher than any epoch can be.
  put.run(typeof epochs === 'number' ? epochs : Date.now(), 'epochs')
}

/** Copies names, parents, heads and what forks share; uses the index for rows that cannot be read. */
export function copySessions(source: Source, target: DatabaseSync, losses: Losses): void {
  const insert = target.prepare(
    'INSERT OR IGNORE INTO sessions (key, id, parent, head, base, base_head, base_sum) VALUES (?, ?, ?, ?, ?, ?, ?)',
  )
  const columns = `key, id, parent, head${source.format < 3 ? '' : ', base, base_head, base_sum'}`
  const problem = each(salvage(source.database, 'sessions', columns), ({ key, id, parent, head, ...row }) => {
    if (!isPositiveInteger(key) || typeof id !== 'string') return
    const parentId = typeof parent === 'string' ? recoded(source, parent) : null
    const shared = [row.base, row.base_head, row.base_sum].map((value) => (typeof value === 'number' ? value : null))
    insert.run(key, recoded(source, id), parentId, isPositiveInteger(head) ? head : 0, ...shared)
  })
  note(losses, 'sessions', problem)
  const names = 'SELECT key, id FROM sessions INDEXED BY sqlite_autoindex_sessions_1 WHERE id'
  for (const sql of [`${names} >= '' ORDER BY id`, `${names} >= '' ORDER BY id DESC`]) {
    for (const { key, id } of scan(source.database, sql)) {
      if (isPositiveInteger(key) && typeof id === 'string')
        insert.run(key, recoded(source, id), null, 0, null, null, null)
    }
  }
}

/** Returns the number copied. */
export function copyEntries({ database }: Source, target: DatabaseSync, losses: Losses): number {
  const insert = target.prepare('INSERT OR IGNORE INTO entries (place, at, sum, body) VALUES (?, ?, ?, ?)')
  let copied = 0
  const use = ({ place, sum, body }: Row): void => {
    if (!isPositiveInteger(place) || typeof sum !== 'number' || typeof body !== 'string') return
    const { session, seq } = entryKeyParts(place)
    const entry = verifiedValue({ body, sum }, session) as LogEntry | undefined
    if (entry?.seq !== seq) return // found later as a gap
    copied += Number(insert.run(place, typeof entry.at === 'number' ? entry.at : null, sum, body).changes)
  }
  const select = 'SELECT place, sum, body FROM entries'
  const forward = each(scan(database, `${select} ORDER BY place`), use)
  if (forward.problem === undefined) return copied
  losses.add(`a part of the table of entries: ${forward.problem}`)
  each(scan(database, `${select} ORDER BY place DESC`), use)
  for (const key of missingKeys(target)) each(scan(database, `${select} WHERE place = ?`, key), use)
  return copied
}

/** The keys of entries that are missing, for each session until too many are missing in a row. */
function* missingKeys(target: DatabaseSync): Generator<number> {
  const isThere = target.prepare('SELECT 1 FROM entries WHERE place = ?')
  for (const { key, head } of target.prepare('SELECT key, head FROM sessions').all()) {
    let misses = 0
    for (let seq = 1; seq <= (Number(head) || maxMisses) && misses < maxMisses; seq++) {
      const place = entryKey(Number(key), seq)
      if (isThere.get(place) === undefined) yield place
      misses = isThere.get(place) === undefined ? misses + 1 : 0
    }
  }
}

/** Returns the number of waiting messages. Keys of delivered ones are copied too. */
export function copyMessages(source: Source, target: DatabaseSync, losses: Losses): number {
  const insert = target.prepare('INSERT OR IGNORE INTO inbox VALUES (?, ?, ?, ?, ?)')
  let copied = 0
  const rows = salvage(source.database, 'inbox', 'position, session, client_key, sum, body')
  const problem = each(rows, ({ position, session, client_key, sum, body }) => {
    if (!isPositiveInteger(position) || !isPositiveInteger(session) || typeof client_key !== 'string') return
    const clientKey = recoded(source, client_key)
    if (body === null) insert.run(position, session, clientKey, null, null)
    else if (typeof body !== 'string' || typeof sum !== 'number' || verifiedValue({ body, sum }, session) === undefined)
      losses.add(`a message that waited, with the key ${client_key}`)
    else copied += Number(insert.run(position, session, clientKey, sum, body).changes)
  })
  note(losses, 'messages', problem)
  return copied
}

/** Returns the number copied. */
export function copyBlobs(source: Source, target: DatabaseSync, losses: Losses): number {
  const insert = target.prepare('INSERT OR IGNORE INTO blobs VALUES (?, ?, ?)')
  let copied = 0
  const problem = each(salvage(source.database, 'blobs', 'session, name, bytes'), ({ session, name, bytes }) => {
    if (typeof session !== 'string' || typeof name !== 'string' || !(bytes instanceof Uint8Array)) return
    if (digestOf(bytes) !== name) losses.add(`blob ${name}`, session)
    else copied += Number(insert.run(recoded(source, session), name, bytes).changes)
  })
  note(losses, 'blobs', problem)
  return copied
}

const isPositiveInteger = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0

function each<T>(rows: Generator<Row, T>, use: (row: Row) => void): T {
  let next = rows.next()
  for (; !next.done; next = rows.next()) use(next.value)
  return next.value
}

function note(losses: Losses, table: string, problem: string | undefined): void {
  if (problem !== undefined) losses.add(`a part of the table of ${table}: ${problem}`)
}

type Row = Record<string, SQLOutputValue>

/** After this many missing or unreadable rows in a row the search ends. */
const maxMisses = 10_000

/**
 * All rows of a damaged table that can be read: from its beginning, from its end, and one by one in between. Some may come
 * twice. Returns the error at which reading stopped, or undefined if the table is intact.
 */
function* salvage(database: DatabaseSync, table: string, columns: string): Generator<Row, string | undefined> {
  const select = `SELECT rowid AS salvaged, ${columns} FROM ${table} NOT INDEXED`
  const forward = yield* scan(database, `${select} ORDER BY rowid`)
  if (forward.problem === undefined) return undefined
  const backward = yield* scan(database, `${select} ORDER BY rowid DESC`)
  const end = backward.last ?? Number.MAX_SAFE_INTEGER
  let misses = 0
  for (let rowid = (forward.last ?? 0) + 1; rowid < end && misses < maxMisses; rowid++) {
    const { last } = yield* scan(database, `${select} WHERE rowid = ?`, rowid)
    misses = last === undefined ? misses + 1 : 0
  }
  return forward.problem
}

interface Scanned {
  /** The rowid of the last row that was read. */
  readonly last?: number
  readonly problem?: string
}

/** Yields rows until the end or the first unreadable one. */
function* scan(database: DatabaseSync, sql: string, ...values: number[]): Generator<Row, Scanned> {
  let last: number | undefined
  try {
    for (const row of database.prepare(sql).iterate(...values)) {
      if (typeof row.salvaged === 'number') last = row.salvaged
      yield row
    }
    return last === undefined ? {} : { last }
  } catch (error) {
    return { ...(last !== undefined && { last }), problem: messageOf(error) }
  }
}
