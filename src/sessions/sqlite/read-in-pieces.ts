import type { LogEntry } from '../../core/log.ts'
import type { EntryRange } from '../../core/store.ts'
import { emptySummary, type StoredSummary } from '../stored-summary.ts'
import type { ForkBase } from './append.ts'
import { readSpan, type Span, spanOf } from './log-reader.ts'
import { applyNextEntries, pieceSize, storedSummaryOf } from './read-stored-summary.ts'
import type { SessionRow, SessionRows } from './session-rows.ts'
import type { SqlDatabase } from './statements.ts'

/** Runs a function in a transaction. */
type Read = <T>(work: (database: { readonly connection: SqlDatabase; readonly rows: SessionRows }) => T) => Promise<T>

/** The entries of a range, read in several transactions, so that the process can do other work between them. */
export async function readInPieces(read: Read, id: string, range: EntryRange): Promise<readonly LogEntry[]> {
  const entries: LogEntry[] = []
  let rest: Span | undefined
  const isRead = await eachPiece(read, id, (database, row) => {
    const { from, to } = rest ?? spanOf(range, row.head)
    const end = Math.min(to, from + pieceSize - 1)
    for (const entry of readSpan(database, row, { from, to: end }).entries) entries.push(entry)
    rest = { from: end + 1, to }
    return end >= to
  })
  return isRead ? entries : []
}

/** Reads what the first append of a fork needs of the session that is forked. Undefined if that session has fewer than `head` entries. */
export async function readForkBase(read: Read, id: string, head: number): Promise<ForkBase | undefined> {
  let key = 0
  let summary: StoredSummary = emptySummary
  const isRead = await eachPiece(read, id, (database, row) => {
    key = row.key
    if (row.head === head) summary = storedSummaryOf(database, row)
    else if (row.head > head) summary = applyNextEntries(database, row, summary, head)
    return row.head <= head || summary.head === head
  })
  return isRead && summary.head === head ? { baseKey: key, summaryAtFork: summary } : undefined
}

/** Calls `work` in one transaction after another until it returns true. Returns false if the session does not exist, or was deleted meanwhile. */
async function eachPiece(
  read: Read,
  id: string,
  work: (database: SqlDatabase, row: SessionRow) => boolean,
): Promise<boolean> {
  let key: number | undefined
  for (;;) {
    const isDone = await read(({ connection, rows }) => {
      const row = rows.find(id)
      key ??= row?.key
      return row && row.key === key ? work(connection, row) : undefined
    })
    if (isDone !== false) return isDone ?? false
    await new Promise((resolve) => setImmediate(resolve))
  }
}
