import { AgentError, LeaseLostError, leaseLost } from '../../core/errors.ts'
import { failpoint, type LogEntry } from '../../core/log.ts'
import type { Fence } from '../../core/store.ts'
import type { Spilled } from '../spill.ts'
import { applyEntries, emptySummary, type StoredSummary } from '../stored-summary.ts'
import { shareEntries } from './base.ts'
import { putBlob } from './blobs.ts'
import { markDelivered } from './inbox.ts'
import { readSpan } from './log-reader.ts'
import type { KnownSession, SessionRow, SessionRows } from './session-rows.ts'
import type { Statements } from './statements.ts'
import { storedSummaryOf } from './stored-summaries.ts'
import { checksumOf, decodeText, encodeText, entryKey } from './stored-values.ts'
import { saveSummary } from './summary-columns.ts'

interface Append {
  readonly id: string
  /** The entries as they are stored: large ones as their stubs. */
  readonly entries: readonly LogEntry[]
  /** The stored entries as JSON. */
  readonly bodies: readonly string[]
  readonly spilled: Spilled
  readonly fence: Fence
  /** For the first append of a fork. */
  readonly origin?: ForkOrigin | undefined
}

/** The session that is forked. */
export interface ForkOrigin {
  /** The key of its row. */
  readonly originKey: number
  /** The summary of the entries that the fork shares. */
  readonly summaryAtFork: StoredSummary
}

/**
 * Appends all entries, if the fence allows it and they are not stored yet, and changes the summary of the session. Requires a
 * transaction. Returns what may be cached about the session after the commit; undefined if nothing was appended.
 */
export function appendEntries(database: Statements, rows: SessionRows, append: Append): KnownSession | undefined {
  const { id, entries, bodies, spilled, fence } = append
  checkNumbers(append)
  const known = moveHeadIfKnown(database, rows, append) ?? moveHead(database, rows, append)
  if (!known) return undefined
  const { key } = known
  for (const { name, bytes } of spilled.blobs) putBlob(database, id, name, bytes)
  const insert = database.statement('INSERT INTO entries (place, at, sum, body) VALUES (?, ?, ?, ?)')
  for (const [i, entry] of entries.entries()) {
    const body = bodies[i]!
    const at = typeof entry.at === 'number' ? entry.at : null
    insert.run(entryKey(key, fence.head + i + 1), at, checksumOf(body, key), body)
    if ('clientKey' in entry && entry.clientKey) markDelivered(database, key, entry.clientKey)
  }
  failpoint('sqlite.append.beforeCommit', entries)
  return known
}

function checkNumbers({ id, entries, fence: { head } }: Append): void {
  for (const [i, { seq }] of entries.entries())
    if (seq !== head + i + 1) throw new AgentError(`Entry ${seq} of session ${id} must have the number ${head + i + 1}`)
}

/** `moveHead` in one statement, for a session whose summary is known. Undefined if that is not possible or the fence does not match. */
function moveHeadIfKnown(database: Statements, rows: SessionRows, append: Append): KnownSession | undefined {
  const { id, fence } = append
  const { epoch, head, holder = id } = fence
  const known = rows.known(id)
  if (known?.summary.head !== head || epoch === 0 || holder !== id || append.entries.length === 0) return undefined
  const { key, summary } = known
  const after = summaryAfterAppend(summary, append)
  // If the session was deleted, SQLite may have given its row key to another session. That one has another epoch, so the
  // UPDATE changes no row.
  return saveSummary(database, { key, before: summary, after, epoch }) ? { key, summary: after } : undefined
}

function summaryAfterAppend(summary: StoredSummary, { bodies, spilled }: Append): StoredSummary {
  let bytes = 0
  for (const body of bodies) bytes += body.length
  for (const blob of spilled.blobs) bytes += blob.bytes.length
  return applyEntries(summary, spilled.originalEntries, bytes)
}

/**
 * Checks the fence and saves head and summary; the caller inserts the entries. A child is written under the lease of another
 * session, the holder. Returns undefined if the entries are already stored.
 */
function moveHead(database: Statements, rows: SessionRows, append: Append): KnownSession | undefined {
  const { id, fence } = append
  const { epoch, head, holder = id, parent } = fence
  const holderRow = rows.find(holder)
  if (!holderRow?.epoch || holderRow.epoch !== epoch) throw leaseTakenOver(holder, holderRow)
  const row = holder === id ? holderRow : rows.findOrCreate(id)
  const sharedSummary = row.head === 0 ? shareBase(database, rows, row, append) : undefined
  if (row.head !== head && !sharedSummary) {
    if (areStored(database, row, append)) return undefined
    throw new LeaseLostError(`Session ${id} has moved on to entry ${row.head}, expected ${head}`)
  }
  if (append.entries.length === 0) return undefined
  if (parent !== undefined && row.parent !== encodeText(parent))
    database.statement('UPDATE sessions SET parent = ? WHERE key = ?').run(encodeText(parent), row.key)
  const before = row.head === 0 ? emptySummary : storedSummaryOf(database, row)
  const after = summaryAfterAppend(sharedSummary ?? before, append)
  saveSummary(database, { key: row.key, before, after })
  return { key: row.key, summary: after }
}

/** Gives a fork the first entries of its original. Returns their summary, or undefined if the original does not have them. */
function shareBase(
  database: Statements,
  rows: SessionRows,
  fork: SessionRow,
  append: Append,
): StoredSummary | undefined {
  const { origin, fence } = append
  if (!origin || fence.base === undefined) return undefined
  const base = rows.find(fence.base)
  if (base?.key !== origin.originKey || base.head < fence.head) return undefined
  shareEntries(database, fork, { row: base, head: fence.head })
  failpoint('sqlite.fork.shared')
  return origin.summaryAtFork
}

/** Whether the same append has succeeded before. */
function areStored(database: Statements, row: SessionRow, { entries, fence: { head } }: Append): boolean {
  if (head + entries.length > row.head) return false
  const stored = readSpan(database, row, { from: head + 1, to: head + entries.length }).entries
  return entries.every((entry, i) => stored[i]?.id === entry.id)
}

/** The error that another writer has taken the lease. */
export function leaseTakenOver(id: string, row: SessionRow | undefined): LeaseLostError {
  return leaseLost(id, row && decodeText(row.owner))
}
