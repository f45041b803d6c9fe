import { StoreError } from '../../core/errors.ts'
import { isSpilled, wholeEntry } from '../spill.ts'
import { applyEntries, emptySummary, type StoredSummary } from '../stored-summary.ts'
import { findBlob } from './blobs.ts'
import { readSpan, type StoredEntries } from './log-reader.ts'
import { problemOf } from './problems.ts'
import type { SessionRow } from './session-rows.ts'
import type { SqlDatabase } from './statements.ts'
import { decodeText, entryKey, entryKeysEnd, verifiedValue } from './stored-values.ts'

/**
 * The stored summary of a session. If it is damaged or outdated, it is computed from the log; throws if that is damaged too. It is
 * outdated if a process with an older version of this library, in another container, has appended since the file was upgraded.
 */
export function storedSummaryOf(database: SqlDatabase, row: SessionRow): StoredSummary {
  return summaryIn(row) ?? summaryFromLog(database, row)
}

/** The summary in a row. Undefined if it is damaged or outdated: see `storedSummaryOf`. */
export function summaryIn({ key, head, record, record_sum }: SessionRow): StoredSummary | undefined {
  if (record === null || record_sum === null) return undefined
  const summary = verifiedValue({ body: record, sum: record_sum }, key) as StoredSummary | undefined
  return summary?.head === head ? summary : undefined
}

/** As `storedSummaryOf`, for lists: a session that cannot be read is shown with a placeholder. */
export function storedSummaryOrPlaceholder(database: SqlDatabase, row: SessionRow): StoredSummary {
  try {
    return storedSummaryOf(database, row)
  } catch (error) {
    const problem = problemOf(error, database.path)
    if (!(problem instanceof StoreError) || problem.code !== 'corrupt') throw error
    return placeholderSummary(database, row)
  }
}

/** Stands for a summary that cannot be computed. It has the time of the last entry, so that retention does not take the session for an old one. */
function placeholderSummary(database: SqlDatabase, { key, head }: SessionRow): StoredSummary {
  const { at } = database.statement(lastTimeSql).get(entryKey(key, 0), entryKeysEnd(key)) ?? {}
  const time = Number(at ?? 0)
  return { ...emptySummary, head, createdAt: time, updatedAt: time, status: 'failed', title: '(cannot be read)' }
}

const lastTimeSql = 'SELECT max(at) AS at FROM entries WHERE place > ? AND place < ?'

/** The summary of a session, computed from its log. */
function summaryFromLog(database: SqlDatabase, row: SessionRow): StoredSummary {
  let summary = emptySummary
  while (summary.head < row.head) summary = applyNextEntries(database, row, summary, row.head)
  return summary
}

/** The summary with the next entries of the log: at most `pieceSize`, so that they fit into memory, and none after `head`. */
export function applyNextEntries(
  database: SqlDatabase,
  row: SessionRow,
  summary: StoredSummary,
  head: number,
): StoredSummary {
  const span = { from: summary.head + 1, to: Math.min(summary.head + pieceSize, head) }
  const { entries, bytes } = wholeEntries(database, row, readSpan(database, row, span))
  return applyEntries(summary, entries, bytes)
}

/** How many entries are read at a time. */
export const pieceSize = 100

function wholeEntries(database: SqlDatabase, row: SessionRow, stored: StoredEntries): StoredEntries {
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
