import { StoreError } from '../../core/errors.ts'
import { emptyRecord, recordAfter, type SessionRecord } from '../session-record.ts'
import { isSpilled, wholeEntry } from '../spill.ts'
import { findBlob } from './blobs.ts'
import { readSpan, type StoredEntries } from './log-reader.ts'
import { problemOf } from './problems.ts'
import type { SessionRow } from './session-rows.ts'
import type { Statements } from './statements.ts'
import { decodeText, entryKey, entryKeysEnd, verifiedValue } from './stored-values.ts'

/** The record of a session. If it is damaged, it is computed from the log, which throws if that is damaged too. */
export function sessionRecordOf(database: Statements, row: SessionRow): SessionRecord {
  const record = savedRecord(row)
  // An older version, in another container, may have appended since the file was upgraded.
  return record?.head === row.head ? record : recordOfLog(database, row)
}

/** As `sessionRecordOf`, for lists: they show a session that cannot be read. */
export function recordToShow(database: Statements, row: SessionRow): SessionRecord {
  try {
    return sessionRecordOf(database, row)
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
export const pieceSize = 100

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
