import { failpoint } from '../../core/log.ts'
import type { SqlDatabase } from './statements.ts'
import { decodeText, encodeText, entryKey, entryKeysEnd, tombstoneId } from './stored-values.ts'

/** Deletes a session with its descendants and all their data. Returns their ids. Requires a transaction. */
export function deleteTree(database: SqlDatabase, id: string): string[] {
  const members = database.statement<SessionToDelete>(familySql).all(encodeText(id))
  database.statement('PRAGMA secure_delete = ON').get() // deleted messages must not stay readable in free pages
  try {
    for (const member of members) {
      deleteSession(database, member)
      failpoint('sqlite.delete.session')
    }
  } finally {
    database.statement('PRAGMA secure_delete = OFF').get()
  }
  return members.map((member) => decodeText(member.id))
}

const familySql = `WITH RECURSIVE family(id) AS (
    SELECT ?1 UNION SELECT sessions.id FROM sessions JOIN family ON sessions.parent = family.id
  ) SELECT sessions.key, sessions.id, sessions.base FROM family JOIN sessions ON sessions.id = family.id`

/** What deleting needs to know of a session. */
interface SessionToDelete {
  readonly key: number
  readonly id: string
  readonly base: number | null
}

function deleteSession(database: SqlDatabase, session: SessionToDelete): void {
  const { shared } = database
    .statement('SELECT max(base_head) AS shared FROM sessions WHERE base = ?')
    .get(session.key)!
  if (typeof shared === 'number') keepForForks(database, session, shared)
  else remove(database, session)
}

/** Keeps the entries that forks share, and all blobs, because any of these entries may name a blob. The id becomes free. */
function keepForForks(database: SqlDatabase, { key, id }: SessionToDelete, shared: number): void {
  deleteEntries(database, key, shared)
  for (const table of ['inbox', 'tags']) database.statement(`DELETE FROM ${table} WHERE session = ?`).run(key)
  database.statement('UPDATE blobs SET session = ? WHERE session = ?').run(tombstoneId(key), id)
  database.statement(toTombstoneSql).run(tombstoneId(key), shared, key)
}

// With epoch 0, no writer can append to the session.
const toTombstoneSql = `UPDATE sessions SET id = ?, parent = NULL, head = ?, record = NULL, record_sum = NULL, created = NULL,
  has_mail = 0, epoch = 0, opener = NULL, expires = 0 WHERE key = ?`

/** Also removes the session that this one was forked from, if it was deleted before and kept for this fork alone. */
function remove(database: SqlDatabase, { key, id, base }: SessionToDelete): void {
  database.statement('DELETE FROM blobs WHERE session = ?').run(id)
  deleteEntries(database, key, 0)
  database.statement('DELETE FROM sessions WHERE key = ?').run(key)
  const tombstone =
    base === null ? undefined : database.statement<SessionToDelete>(unneededTombstoneSql).get(base, tombstoneId(base))
  if (tombstone) remove(database, tombstone)
}

const unneededTombstoneSql = `SELECT key, id, base FROM sessions
  WHERE key = ? AND id = ? AND NOT EXISTS (SELECT 1 FROM sessions AS forks WHERE forks.base = sessions.key)`

function deleteEntries(database: SqlDatabase, session: number, after: number): void {
  const keys = [entryKey(session, after), entryKeysEnd(session)]
  database.statement('DELETE FROM entries WHERE place > ? AND place < ?').run(...keys)
}
