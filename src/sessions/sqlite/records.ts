import { StoreError } from '../../core/errors.ts'
import { attentionOf, emptyRecord, recordAfter, type SessionRecord } from '../session-record.ts'
import { isSpilled, wholeEntry } from '../spill.ts'
import { findBlob } from './blobs.ts'
import { readSpan, type StoredEntries } from './log-reader.ts'
import { problemOf } from './problems.ts'
import type { SessionRow } from './session-rows.ts'
import type { Statements } from './statements.ts'
import { checksumOf, decodeText, encodeText, entryKey, entryKeysEnd, verifiedValue } from './stored-values.ts'

/** The record of a session. If it is damaged, it is computed from the log, which throws if that is damaged too. */
export function recordOf(database: Statements, row: SessionRow): SessionRecord {
  const record = savedRecord(row)
  // An older version, in another container, may have appended since the file was upgraded.
  return record?.head === row.head ? record : recordOfLog(database, row)
}

/** As `recordOf`, for lists: they show a session that cannot be read. */
export function recordToShow(database: Statements, row: SessionRow): SessionRecord {
  try {
    return recordOf(database, row)
  } catch (error) {
    const problem = problemOf(error, database.path)
    if (!(problem instanceof StoreError) || problem.code !== 'corrupt') throw error
    return unreadableRecord(database, row)
  }
}

/** With the time of the last entry, so that the session does not count as an old one. */
function unreadableRecord(database: Statements, { key, head }: SessionRow): SessionRecord {
  const { at } = database.statement(lastTimeSql).get(entryKey(key, 0), entryKeysEnd(key)) ?? {}
  const time = Number(at ?? 0)
  return { ...emptyRecord, head, createdAt: time, updatedAt: time, status: 'failed', title: '(cannot be read)' }
}

const lastTimeSql = 'SELECT max(at) AS at FROM entries WHERE place > ? AND place < ?'

function savedRecord({ key, record, record_sum }: SessionRow): SessionRecord | undefined {
  if (record === null || record_sum === null) return undefined
  return verifiedValue({ body: record, sum: record_sum }, key) as SessionRecord | undefined
}

/** The record of the first entries of a session, computed from them. */
function recordOfLog(database: Statements, row: SessionRow): SessionRecord {
  let record = emptyRecord
  while (record.head < row.head) record = recordAfterPiece(database, row, record, row.head)
  return record
}

/** The record after the next entries of a log, so many at a time that they fit into memory, and at most up to `head`. */
export function recordAfterPiece(
  database: Statements,
  row: SessionRow,
  record: SessionRecord,
  head: number,
): SessionRecord {
  const span = { from: record.head + 1, to: Math.min(record.head + pieceSize, head) }
  const { entries, bytes } = wholeEntries(database, row, readSpan(database, row, span))
  return recordAfter(record, entries, bytes)
}

/** So many entries are read at a time. */
export const pieceSize = 500

function wholeEntries(database: Statements, row: SessionRow, stored: StoredEntries): StoredEntries {
  let { bytes } = stored
  const entries = stored.entries.map((entry) => {
    const stub: unknown = entry
    if (!isSpilled(stub)) return entry
    const blob = findBlob(database, decodeText(row.id), stub.blob, row)
    bytes += blob?.length ?? 0
    return wholeEntry(decodeText(row.id), stub, blob)
  })
  return { entries, bytes }
}

/** An append to a session: its record before and after. */
interface RecordChange {
  readonly key: number
  readonly before: SessionRecord
  readonly after: SessionRecord
  /** Write only if the session has this epoch and is at the head of `before`. */
  readonly epoch?: number
}

/** Writes the record of a session, with its head. Returns whether the session was as expected. Requires a transaction. */
export function saveRecord(database: Statements, { key, before, after, epoch }: RecordChange): boolean {
  const body = JSON.stringify(after)
  const isFenced = epoch !== undefined
  const values = [after.head, body, checksumOf(body, key), after.updatedAt]
  const fence = isFenced ? [key, epoch, before.head] : [key]
  const isSame = isListedAlike(before, after)
  const { changes } = isSame
    ? database.statement(isFenced ? sameFenced : same).run(...values, ...fence)
    : database.statement(isFenced ? changedFenced : changed).run(...values, ...listedValues(after), ...fence)
  if (changes !== 1) return false
  if (isSame && before.tags === after.tags) touchTags(database, key, after)
  else replaceTags(database, key, after)
  return true
}

// Two statements, because SQLite writes every index that has a column of the statement.
const sameColumns = 'head = ?, record = ?, record_sum = ?, updated = ?'
const changedColumns = `${sameColumns}, created = ?, status = ?, needs_attention = ?, tenant = ?, kind = ?, folder = ?`
const same = `UPDATE sessions SET ${sameColumns} WHERE key = ?`
const sameFenced = `${same} AND epoch = ? AND head = ?`
const changed = `UPDATE sessions SET ${changedColumns} WHERE key = ?`
const changedFenced = `${changed} AND epoch = ? AND head = ?`

const isListedAlike = (a: SessionRecord, b: SessionRecord): boolean =>
  a.head > 0 && listedFields.every((field) => a[field] === b[field]) && needsAttention(a) === needsAttention(b)
const listedFields = ['createdAt', 'status', 'isActive', 'tenant', 'kind', 'folder'] as const

/** Whether it needs attention if no process holds it, even if no message waits. */
const needsAttention = (record: SessionRecord): boolean => attentionOf(record, 'none') !== undefined

function listedValues(record: SessionRecord): (string | number | null)[] {
  const { createdAt, tenant, kind, folder } = record
  const texts = [tenant, kind, folder].map((text) => (text === undefined ? null : encodeText(text)))
  return [createdAt, listedStatus(record), Number(needsAttention(record)), ...texts]
}

/** While a run is active, the status that a caller is shown depends on the lease too. */
function listedStatus({ status, isActive }: SessionRecord): string {
  return isActive && status !== 'parked' ? activeStatus(status) : status
}

export const activeStatus = (status: string): string => `active ${status}`

function touchTags(database: Statements, key: number, { tags = [], updatedAt }: SessionRecord): void {
  if (tags.length > 0) database.statement('UPDATE tags SET updated = ? WHERE session = ?').run(updatedAt, key)
}

function replaceTags(database: Statements, key: number, { tags = [], updatedAt, createdAt }: SessionRecord): void {
  database.statement('DELETE FROM tags WHERE session = ?').run(key)
  for (const tag of tags) database.statement(addTagSql).run(encodeText(tag), updatedAt, createdAt, key)
}

const addTagSql = `INSERT OR IGNORE INTO tags (session, tag, updated, created, id)
  SELECT key, ?, ?, ?, id FROM sessions WHERE key = ?`
