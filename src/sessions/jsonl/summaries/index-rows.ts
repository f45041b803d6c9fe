import { saveHeadAndSummary } from '../../sqlite/save-stored-summary.ts'
import type { SqlDatabase } from '../../sqlite/statements.ts'
import { decodeText, encodeText, verifiedValue } from '../../sqlite/stored-values.ts'
import type { SessionPresence, StoredSummary } from '../../stored-summary.ts'
import type { LogState, MailState, SessionState } from './session-state.ts'

/** A session in the index. Its id and parent are encoded by `encodeText`. */
export interface IndexRow {
  readonly key: number
  readonly id: string
  readonly parent: string | null
  readonly head: number
  /** Null in a row that is just being added. */
  readonly record: string | null
  readonly record_sum: number | null
  readonly has_mail: number
  readonly name: string
  readonly size: number
  readonly inbox: string
  /** The column `opener`: `leaseProcessId` of the `SessionState`. */
  readonly lease_process: string | null
  readonly revision: number
}

export const rowColumns =
  'row.key, row.id, row.parent, row.head, row.record, row.record_sum, row.has_mail, row.name, row.size, row.inbox, row.opener AS lease_process, row.revision'

/** The row of the folder with this name. */
export function findRow(database: SqlDatabase, name: string): IndexRow | undefined {
  return database.statement<IndexRow>(findRowSql).get(name)
}

const findRowSql = `SELECT ${rowColumns} FROM sessions AS row WHERE row.name = ?`

/** The row of the session with this encoded id. */
export function findById(database: SqlDatabase, id: string): IndexRow | undefined {
  return database.statement<IndexRow>(findByIdSql).get(id)
}

const findByIdSql = `SELECT ${rowColumns} FROM sessions AS row WHERE row.id = ?`

const mails: readonly SessionPresence['mail'][] = ['none', 'messages', 'answer']

/** The summary of a row. Undefined if it is damaged. */
export function storedSummaryIn({ key, record, record_sum }: IndexRow): StoredSummary | undefined {
  if (record === null || record_sum === null) return undefined
  return verifiedValue({ body: record, sum: record_sum }, key) as StoredSummary | undefined
}

export const mailIn = ({ has_mail }: IndexRow): SessionPresence['mail'] => mails[has_mail] ?? 'none'

/** What a row says. Undefined if it is damaged. */
export function stateIn(row: IndexRow): SessionState | undefined {
  const summary = storedSummaryIn(row)
  if (!summary) return undefined
  const { size, inbox, lease_process: leaseProcessId } = row
  const parent = row.parent === null ? undefined : decodeText(row.parent)
  return { id: decodeText(row.id), parent, summary, size, inbox, leaseProcessId, mail: mailIn(row) }
}

/** Creates the row of a session. Returns it. Requires a transaction. */
export function addRow(
  database: SqlDatabase,
  name: string,
  { id, parent }: Pick<SessionState, 'id' | 'parent'>,
): IndexRow {
  const encodedParent = parent === undefined ? null : encodeText(parent)
  database
    .statement('INSERT INTO sessions (id, parent, name) VALUES (?, ?, ?)')
    .run(encodeText(id), encodedParent, name)
  return findRow(database, name)!
}

/** Requires a transaction. */
export function removeRow(database: SqlDatabase, name: string): void {
  database.statement('DELETE FROM sessions WHERE name = ?').run(name)
}

/** Writes the summary of a session. `before` is that of the row; undefined if it is damaged. Requires a transaction. */
export function saveLog(
  database: SqlDatabase,
  { key }: IndexRow,
  { summary, size }: LogState,
  before: StoredSummary | undefined,
): void {
  saveHeadAndSummary(database, { key, before, after: summary })
  database.statement('UPDATE sessions SET size = ?, revision = revision + 1 WHERE key = ?').run(size, key)
}

/** Requires a transaction. */
export function saveMail(database: SqlDatabase, { key, has_mail }: IndexRow, { mail, inbox }: MailState): void {
  const value = mails.indexOf(mail)
  // A separate UPDATE: SQLite rewrites every index on any column that the statement sets.
  if (value !== has_mail) database.statement('UPDATE sessions SET has_mail = ? WHERE key = ?').run(value, key)
  database.statement('UPDATE sessions SET inbox = ?, revision = revision + 1 WHERE key = ?').run(inbox, key)
}

/** Requires a transaction. */
export function saveLeaseProcess(database: SqlDatabase, { key, lease_process }: IndexRow, id: string | null): void {
  if (lease_process === id) return
  database.statement('UPDATE sessions SET opener = ?, revision = revision + 1 WHERE key = ?').run(id, key)
}

/** A child may get another parent. Requires a transaction. */
export function saveParent(database: SqlDatabase, { key, parent: before }: IndexRow, parent: string | undefined): void {
  const encoded = parent === undefined ? null : encodeText(parent)
  if (before === encoded) return
  database.statement('UPDATE sessions SET parent = ?, revision = revision + 1 WHERE key = ?').run(encoded, key)
}

/**
 * How many sessions a dead process has the leases of. It is counted once, because others take them one after the other.
 * Requires a transaction.
 */
export function countLeases(database: SqlDatabase, process: string): number {
  const counted = database.statement('SELECT leases FROM deaths WHERE process = ?').get(process)
  if (counted) return Number(counted.leases)
  database.statement(forgetDeathsSql).run()
  const { n } = database.statement('SELECT count(*) AS n FROM sessions WHERE opener = ?').get(process) ?? {}
  database.statement('INSERT INTO deaths VALUES (?, ?)').run(process, Number(n))
  return Number(n)
}

/** Of processes whose leases all belong to others now. */
const forgetDeathsSql = 'DELETE FROM deaths WHERE process NOT IN (SELECT opener FROM sessions WHERE opener IS NOT NULL)'
