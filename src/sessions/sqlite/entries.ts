import { AgentError, LeaseLostError, leaseLost } from '../../core/errors.ts'
import { failpoint, type InboxItem, type LogEntry } from '../../core/log.ts'
import type { Fence } from '../../core/store.ts'
import { digestOf } from '../../platform/digest.ts'
import type { Connection } from './connection.ts'
import { corruptError } from './problems.ts'
import type { LeaseRow, SessionRow, SessionRows } from './session-rows.ts'
import {
  type Checksummed,
  checksumOf,
  decodeText,
  encodeText,
  entryKey,
  entryKeysEnd,
  verifiedValue,
} from './stored-values.ts'

interface Append {
  readonly id: string
  readonly entries: readonly LogEntry[]
  /** The entries as JSON. */
  readonly bodies: readonly string[]
  readonly fence: Fence
}

/** Appends all entries, if the fence allows it and they are not stored yet. Requires a transaction. */
export function appendEntries(connection: Connection, rows: SessionRows, append: Append): void {
  const { id, entries, bodies, fence } = append
  const key = rows.advance(id, fence, entries.length) ?? advanceHead(connection, rows, append)
  if (key === undefined) return
  const insert = connection.statement('INSERT INTO entries (place, at, sum, body) VALUES (?, ?, ?, ?)')
  for (let i = 0; i < entries.length; i++) {
    const [entry, body] = [entries[i]!, bodies[i]!]
    const seq = fence.head + i + 1
    if (entry.seq !== seq) throw new AgentError(`Entry ${entry.seq} of session ${id} must have the number ${seq}`)
    insert.run(entryKey(key, seq), typeof entry.at === 'number' ? entry.at : null, checksumOf(body, key), body)
    if ('clientKey' in entry && entry.clientKey) markDelivered(connection, key, entry.clientKey)
  }
  failpoint('sqlite.append.beforeCommit', entries)
}

/**
 * Like `SessionRows.advance`, for all cases. A child session is written under the lease of another session, the holder.
 * Returns the key of the session, or undefined if the entries are already stored.
 */
function advanceHead(connection: Connection, rows: SessionRows, append: Append): number | undefined {
  const { id, entries, fence } = append
  const { epoch, head, holder = id, parent } = fence
  const holderRow = rows.find(holder)
  if (!holderRow?.epoch || holderRow.epoch !== epoch) throw leaseTakenOver(holder, holderRow && rows.leaseOf(holderRow))
  const row = holder === id ? holderRow : rows.findOrCreate(id)
  if (row.head !== head) {
    if (areStored(connection, row, append)) return undefined
    throw new LeaseLostError(`Session ${id} has moved on to entry ${row.head}, expected ${head}`)
  }
  const update = 'UPDATE sessions SET head = ?, parent = ifnull(?, parent) WHERE key = ?'
  connection.statement(update).run(head + entries.length, parent === undefined ? null : encodeText(parent), row.key)
  return row.key
}

/** The entries of a session after number `from`. Throws if one is not what was written. */
export function readEntries(connection: Connection, row: SessionRow, from: number): LogEntry[] {
  const { path } = connection
  const after = Math.max(from, 0) // smaller keys belong to another session
  if (after >= row.head) return []
  const rows = connection
    .statement(followingEntriesSql)
    .all(entryKey(row.key, after), entryKeysEnd(row.key)) as unknown as Placed[]
  const entries: LogEntry[] = []
  for (const stored of rows) {
    const entry = verifiedValue(stored, row.key) as LogEntry | undefined
    const seq = after + entries.length + 1
    if (stored.place !== entryKey(row.key, seq) || entry?.seq !== seq)
      throw corruptError(path, `entry ${seq} of session ${decodeText(row.id)} is not what was written`)
    entries.push(entry)
  }
  if (after + entries.length !== row.head)
    throw corruptError(path, `session ${decodeText(row.id)} has no entry ${after + entries.length + 1}`)
  return entries
}

type Placed = Checksummed & { readonly place: number }
const followingEntriesSql = 'SELECT place, sum, body FROM entries WHERE place > ? AND place < ? ORDER BY place'

/** Whether the same append has succeeded before. */
function areStored(connection: Connection, row: SessionRow, { entries, fence: { head } }: Append): boolean {
  if (head + entries.length > row.head) return false
  const stored = readEntries(connection, row, head)
  return entries.every((entry, i) => stored[i]?.id === entry.id)
}

/** The error that another writer has taken the lease. */
export function leaseTakenOver(id: string, lease: LeaseRow | undefined): LeaseLostError {
  return leaseLost(id, lease && decodeText(lease.owner))
}

/** Adds a message, unless its key is known. Returns whether it was new. Requires a transaction. */
export function addMessage(connection: Connection, { key }: SessionRow, item: InboxItem): boolean {
  const body = JSON.stringify(item)
  const { changes } = connection
    .statement(insertMessageSql)
    .run(key, encodeText(item.clientKey), checksumOf(body, key), body)
  failpoint('sqlite.send.beforeCommit')
  return changes > 0
}

const insertMessageSql = 'INSERT INTO inbox (session, client_key, sum, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING'

/** Removes a message that is in the log now; its key stays known. Requires a transaction. */
function markDelivered(connection: Connection, session: number, clientKey: string): void {
  connection.statement(markDeliveredSql).run(session, encodeText(clientKey))
}

const markDeliveredSql = `INSERT INTO inbox (session, client_key) VALUES (?, ?)
  ON CONFLICT (session, client_key) DO UPDATE SET sum = NULL, body = NULL WHERE body IS NOT NULL`

/** The inbox, oldest message first. */
export function readInbox(connection: Connection, { key, id }: SessionRow): InboxItem[] {
  const rows = connection.statement(waitingMessagesSql).all(key) as unknown as Checksummed[]
  return rows.map((row) => {
    const item = verifiedValue(row, key)
    if (item === undefined)
      throw corruptError(connection.path, `a message of session ${decodeText(id)} is not what was sent`)
    return item as InboxItem
  })
}

const waitingMessagesSql = 'SELECT sum, body FROM inbox WHERE session = ? AND body IS NOT NULL ORDER BY position'

/** Stores bytes under a name. Requires a transaction. */
export function putBlob(connection: Connection, session: string, name: string, bytes: Uint8Array): void {
  connection
    .statement('INSERT INTO blobs VALUES (?, ?, ?) ON CONFLICT DO NOTHING')
    .run(encodeText(session), name, bytes)
  failpoint('sqlite.blob.beforeCommit')
}

/** The bytes of a name. Throws if they are not what was stored. */
export function getBlob(connection: Connection, session: string, name: string): Uint8Array | undefined {
  const row = connection
    .statement('SELECT bytes FROM blobs WHERE session = ? AND name = ?')
    .get(encodeText(session), encodeText(name))
  if (!row) return undefined
  const bytes = row.bytes
  if (!(bytes instanceof Uint8Array) || digestOf(bytes) !== name)
    throw corruptError(connection.path, `blob ${name} of session ${session} is not what was put`)
  return bytes
}

export function blobNames(connection: Connection, session: string): string[] {
  return connection
    .statement('SELECT name FROM blobs WHERE session = ?')
    .all(encodeText(session))
    .map(({ name }) => String(name))
}

/** Requires a transaction. */
export function deleteBlob(connection: Connection, session: string, name: string): void {
  connection.statement('DELETE FROM blobs WHERE session = ? AND name = ?').run(encodeText(session), encodeText(name))
}
