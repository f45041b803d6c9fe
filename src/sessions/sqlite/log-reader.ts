import type { LogEntry } from '../../core/log.ts'
import type { EntryRange } from '../../core/store.ts'
import { baseOf } from './base.ts'
import { corruptError } from './problems.ts'
import type { SessionRow } from './session-rows.ts'
import type { SqlDatabase } from './statements.ts'
import { type Checksummed, decodeText, entryKey, verifiedValue } from './stored-values.ts'

/** Entries by their numbers, both included. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** The numbers of the entries that a range names, in a log with `head` entries. */
export function spanOf({ after = 0, before, limit, fromEnd = false }: EntryRange, head: number): Span {
  const from = Math.max(after, 0) + 1
  const to = Math.min(head, before === undefined ? head : before - 1)
  if (limit === undefined || to - from < limit) return { from, to }
  return fromEnd ? { from: to - limit + 1, to } : { from, to: from + limit - 1 }
}

/**
 * The entries of a span as they are stored: stubs in place of large entries. Includes the entries that the session shares with its
 * base. Throws if an entry is not what was written.
 */
export function readSpan(database: SqlDatabase, row: SessionRow, { from, to }: Span): StoredEntries {
  const base = from > (row.base_head ?? 0) ? undefined : baseOf(database, row)
  if (!base) return readOwn(database, row, { from, to })
  const shared = readSpan(database, base.row, { from, to: Math.min(to, base.sharedCount) })
  const own = readOwn(database, row, { from: base.sharedCount + 1, to })
  return { entries: [...shared.entries, ...own.entries], bytes: shared.bytes + own.bytes }
}

export interface StoredEntries {
  readonly entries: readonly LogEntry[]
  /** The size of the rows. */
  readonly bytes: number
}

function readOwn(database: SqlDatabase, row: SessionRow, { from, to }: Span): StoredEntries {
  if (to < from) return { entries: [], bytes: 0 }
  const entries: LogEntry[] = []
  let bytes = 0
  for (const stored of rowsOf(database, row.key, { from, to })) {
    const seq = from + entries.length
    const entry = verifiedEntry(stored, row.key, seq)
    if (!entry)
      throw corruptError(database.path, `entry ${seq} of session ${decodeText(row.id)} is not what was written`)
    entries.push(entry)
    bytes += stored.body.length
  }
  if (from + entries.length <= to)
    throw corruptError(database.path, `session ${decodeText(row.id)} has no entry ${from + entries.length}`)
  return { entries, bytes }
}

function rowsOf(database: SqlDatabase, session: number, { from, to }: Span): StoredEntry[] {
  const keys = [entryKey(session, from) - 1, entryKey(session, to) + 1] as const
  return database.statement<StoredEntry>(entriesSql).all(...keys)
}

type StoredEntry = Checksummed & { readonly place: number }
const entriesSql = 'SELECT place, sum, body FROM entries WHERE place > ? AND place < ? ORDER BY place'

/** An entry as it is stored. Undefined if it is not what was written. */
export function verifiedEntry(stored: StoredEntry, session: number, seq: number): LogEntry | undefined {
  if (stored.place !== entryKey(session, seq)) return undefined
  const entry = verifiedValue(stored, session) as LogEntry | undefined
  return entry?.seq === seq ? entry : undefined
}
