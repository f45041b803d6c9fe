import { attentionOf, type StoredSummary } from '../stored-summary.ts'
import type { SqlDatabase } from './statements.ts'
import { checksumOf, encodeText } from './stored-values.ts'

/** A change of the summary of a session. */
interface SummaryChange {
  readonly key: number
  /** The summary in the row. Undefined if there is none, or it is damaged or outdated: then all columns are written. */
  readonly before: StoredSummary | undefined
  readonly after: StoredSummary
  /** Write only if the session has this epoch and head. */
  readonly fence?: { readonly epoch: number; readonly head: number }
}

/** Writes the summary of a session, with its head. Returns whether the session was as expected. Requires a transaction. */
export function saveHeadAndSummary(database: SqlDatabase, { key, before, after, fence }: SummaryChange): boolean {
  const body = JSON.stringify(after)
  const values = [after.head, body, checksumOf(body, key), after.updatedAt]
  const whereValues = fence ? [key, fence.epoch, fence.head] : [key]
  const isListedAlike = before !== undefined && haveSameListedValues(before, after)
  const { changes } = isListedAlike
    ? database.statement(fence ? summaryFencedSql : summarySql).run(...values, ...whereValues)
    : database.statement(fence ? listedFencedSql : listedSql).run(...values, ...listedValues(after), ...whereValues)
  if (changes !== 1) return false
  if (isListedAlike && before.tags === after.tags) touchTags(database, key, after)
  else replaceTags(database, key, after)
  return true
}

// The columns that lists use are written only if they change: SQLite rewrites each index on a column that an UPDATE names.
const summaryColumns = 'head = ?, record = ?, record_sum = ?, updated = ?'
const listedColumns = 'created = ?, status = ?, needs_attention = ?, tenant = ?, kind = ?, folder = ?'
const summarySql = `UPDATE sessions SET ${summaryColumns} WHERE key = ?`
const summaryFencedSql = `${summarySql} AND epoch = ? AND head = ?`
const listedSql = `UPDATE sessions SET ${summaryColumns}, ${listedColumns} WHERE key = ?`
const listedFencedSql = `${listedSql} AND epoch = ? AND head = ?`

const haveSameListedValues = (a: StoredSummary, b: StoredSummary): boolean =>
  listedFields.every((field) => a[field] === b[field]) && needsAttention(a) === needsAttention(b)
const listedFields = ['createdAt', 'status', 'isActive', 'tenant', 'kind', 'folder'] as const

/** Whether the session needs attention, if no process holds it, even when its inbox is empty. */
const needsAttention = (summary: StoredSummary): boolean => attentionOf(summary, 'none') !== undefined

function listedValues(summary: StoredSummary): (string | number | null)[] {
  const { createdAt, tenant, kind, folder } = summary
  const texts = [tenant, kind, folder].map((text) => (text === undefined ? null : encodeText(text)))
  return [createdAt, listedStatus(summary), Number(needsAttention(summary)), ...texts]
}

/**
 * The value of the column `status`. While a run is active it is `active <status>`: a caller is shown <status> if a living process
 * holds the lease, else `interrupted`.
 */
function listedStatus({ status, isActive }: StoredSummary): string {
  return isActive && status !== 'parked' ? activeStatus(status) : status
}

export const activeStatus = (status: string): string => `active ${status}`

function touchTags(database: SqlDatabase, key: number, { tags = [], updatedAt }: StoredSummary): void {
  if (tags.length > 0) database.statement('UPDATE tags SET updated = ? WHERE session = ?').run(updatedAt, key)
}

function replaceTags(database: SqlDatabase, key: number, { tags = [], updatedAt, createdAt }: StoredSummary): void {
  database.statement('DELETE FROM tags WHERE session = ?').run(key)
  for (const tag of tags) database.statement(addTagSql).run(encodeText(tag), updatedAt, createdAt, key)
}

const addTagSql = `INSERT OR IGNORE INTO tags (session, tag, updated, created, id)
  SELECT key, ?, ?, ?, id FROM sessions WHERE key = ?`
