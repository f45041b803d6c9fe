import { AgentError, headMoved, LeaseLostError, leaseLost } from '../../core/errors.ts'
import { failpoint, type LogEntry } from '../../core/log.ts'
import type { Fence } from '../../core/store.ts'
import type { AppendContent } from '../spill.ts'
import { applyEntries, type StoredSummary } from '../stored-summary.ts'
import { shareEntries } from './base.ts'
import { putBlob } from './blobs.ts'
import { removeFromInbox } from './inbox.ts'
import { readSpan } from './log-reader.ts'
import { storedSummaryOf, summaryIn } from './read-stored-summary.ts'
import { saveHeadAndSummary } from './save-stored-summary.ts'
import type { CachedSession, SessionRow, SessionRows } from './session-rows.ts'
import type { SqlDatabase } from './statements.ts'
import { checksumOf, decodeText, encodeText, entryKey } from './stored-values.ts'

interface Append {
  readonly id: string
  /** The entries as they are stored. A large one is replaced by a short entry that names the blob with its content. */
  readonly entries: readonly LogEntry[]
  /** The stored entries as JSON. */
  readonly bodies: readonly string[]
  readonly content: AppendContent
  readonly fence: Fence
  /** For the first append of a fork. */
  readonly forkBase?: ForkBase | undefined
}

/**
 * What the first append of a fork needs of its base, the session that was forked. This is read before the transaction, because to
 * summarize a long log takes time; the transaction checks that the base is still the same session.
 */
export interface ForkBase {
  /** The key of the row of the base. */
  readonly baseKey: number
  /** The summary of the entries that the fork shares. */
  readonly summaryAtFork: StoredSummary
}

/**
 * Appends all entries, if the fence allows it and they are not stored yet, and changes the summary of the session. Requires a
 * transaction. Returns what may be cached about the session after the commit; undefined if nothing was appended.
 */
export function appendEntries(database: SqlDatabase, rows: SessionRows, append: Append): CachedSession | undefined {
  const { id, entries, bodies, content, fence } = append
  checkNumbers(append)
  const session = advanceIfCached(database, rows, append) ?? checkFenceAndAdvance(database, rows, append)
  if (!session) return undefined
  const { key } = session
  for (const { name, bytes } of content.blobs) putBlob(database, id, name, bytes)
  const insert = database.statement('INSERT INTO entries (place, at, sum, body) VALUES (?, ?, ?, ?)')
  for (const [i, entry] of entries.entries()) {
    const body = bodies[i]!
    const at = typeof entry.at === 'number' ? entry.at : null
    insert.run(entryKey(key, fence.head + i + 1), at, checksumOf(body, key), body)
    if ('clientKey' in entry && entry.clientKey) removeFromInbox(database, key, entry.clientKey)
  }
  failpoint('sqlite.append.beforeCommit', entries)
  return session
}

function checkNumbers({ id, entries, fence: { head } }: Append): void {
  for (const [i, { seq }] of entries.entries())
    if (seq !== head + i + 1) throw new AgentError(`Session ${id}: expected entry ${head + i + 1}, got entry ${seq}`)
}

/**
 * Fast path of `checkFenceAndAdvance`: one UPDATE, if the session's summary is cached. If it returns undefined, the caller has
 * to use `checkFenceAndAdvance`.
 */
function advanceIfCached(database: SqlDatabase, rows: SessionRows, append: Append): CachedSession | undefined {
  const { id, fence } = append
  const { epoch, head, holder = id } = fence
  const cached = rows.cached(id)
  if (cached?.summary.head !== head || epoch === 0 || holder !== id || append.entries.length === 0) return undefined
  const { key, summary } = cached
  const after = summaryAfterAppend(summary, append)
  // The condition of the UPDATE contains the epoch, so it changes no row if another process has taken the lease. The same holds
  // if the session was deleted and another one got its row key: that session has another epoch.
  return saveHeadAndSummary(database, { key, before: summary, after, fence }) ? { key, summary: after } : undefined
}

function summaryAfterAppend(summary: StoredSummary, { bodies, content }: Append): StoredSummary {
  let bytes = 0
  for (const body of bodies) bytes += body.length
  for (const blob of content.blobs) bytes += blob.bytes.length
  return applyEntries(summary, content.originalEntries, bytes)
}

/**
 * Checks the fence and saves head and summary; the caller inserts the entries. A child is written under the lease of another
 * session, which is called the holder. Returns undefined if there is nothing to insert: the entries are stored already, or the list
 * of entries is empty.
 */
function checkFenceAndAdvance(database: SqlDatabase, rows: SessionRows, append: Append): CachedSession | undefined {
  const { id, fence } = append
  const { epoch, head, holder = id, parent } = fence
  const holderRow = rows.find(holder)
  if (!holderRow?.epoch || holderRow.epoch !== epoch) throw leaseTakenOver(holder, holderRow)
  const row = holder === id ? holderRow : rows.findOrCreate(id)
  const isNew = row.head === 0
  const summaryAtFork = isNew ? shareBase(database, rows, row, append) : undefined
  // In the first append of a fork it is right that the heads differ: the fence counts the shared entries, and the row has head 0.
  if (row.head !== head && !summaryAtFork) {
    if (areStored(database, row, append)) return undefined // a retry of an append that had succeeded
    const { base } = fence
    if (!isNew || base === undefined) throw headMoved(id, row.head, head)
    throw new LeaseLostError(`Session ${base} cannot be forked as ${id}: it no longer has entry ${head}`)
  }
  if (append.entries.length === 0) return undefined
  if (parent !== undefined && row.parent !== encodeText(parent))
    database.statement('UPDATE sessions SET parent = ? WHERE key = ?').run(encodeText(parent), row.key)
  const before = summaryIn(row)
  const after = summaryAfterAppend(summaryAtFork ?? before ?? storedSummaryOf(database, row), append)
  saveHeadAndSummary(database, { key: row.key, before, after })
  return { key: row.key, summary: after }
}

/**
 * If this is the first append of a fork: lets the fork share the first entries of its base, and returns the summary of these
 * entries. Undefined otherwise, or if the base does not have these entries.
 */
function shareBase(
  database: SqlDatabase,
  rows: SessionRows,
  fork: SessionRow,
  append: Append,
): StoredSummary | undefined {
  const { forkBase, fence } = append
  if (!forkBase || fence.base === undefined) return undefined
  const base = rows.find(fence.base)
  if (base?.key !== forkBase.baseKey || base.head < fence.head) return undefined
  shareEntries(database, fork, { row: base, sharedCount: fence.head })
  failpoint('sqlite.fork.shared')
  return forkBase.summaryAtFork
}

/** Whether the same append has succeeded before. */
function areStored(database: SqlDatabase, row: SessionRow, { entries, fence: { head } }: Append): boolean {
  if (head + entries.length > row.head) return false
  const stored = readSpan(database, row, { from: head + 1, to: head + entries.length }).entries
  return entries.every((entry, i) => stored[i]?.id === entry.id)
}

/** The error that another writer has taken the lease. */
export function leaseTakenOver(id: string, row: SessionRow | undefined): LeaseLostError {
  return leaseLost(id, row && decodeText(row.owner))
}
