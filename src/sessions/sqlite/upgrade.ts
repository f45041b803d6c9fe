import { failpoint } from '../../core/log.ts'
import { storedSummaryOrPlaceholder } from './read-stored-summary.ts'
import { saveHeadAndSummary } from './save-stored-summary.ts'
import { type SessionRow, sessionColumns } from './session-rows.ts'
import type { SqlDatabase } from './statements.ts'
import { decodeFormat2, encodeText, isTombstone } from './stored-values.ts'

/** Encodes the texts of callers as format 3 does. Requires a transaction. */
export function recodeTexts(database: SqlDatabase): void {
  for (const { table, key, column } of textColumns) {
    const rows = database.statement(`SELECT ${key} AS key, ${column} AS text FROM ${table}`).all()
    const changed = rows.flatMap(({ key, text }) => {
      const recoded = typeof text === 'string' ? encodeText(decodeFormat2(text)) : text
      return recoded === text ? [] : [{ key: Number(key), recoded: String(recoded) }]
    })
    const update = database.statement(`UPDATE ${table} SET ${column} = ? WHERE ${key} = ?`)
    // In two passes, because the new text of one row may be the old text of another row, and some of these columns are unique.
    for (const { key } of changed) update.run(`\u0001${key}`, key)
    for (const { key, recoded } of changed) update.run(recoded, key)
  }
}

const textColumns = [
  { table: 'sessions', key: 'key', column: 'id' },
  { table: 'sessions', key: 'key', column: 'parent' },
  { table: 'sessions', key: 'key', column: 'owner' },
  { table: 'inbox', key: 'position', column: 'client_key' },
  { table: 'blobs', key: 'rowid', column: 'session' },
]

/** Computes the summaries of all sessions from their logs. Requires a transaction. */
export function fillSummaries(database: SqlDatabase): void {
  database.statement(fillHasMailSql).run()
  for (const { key, id } of database.statement('SELECT key, id FROM sessions WHERE head > 0').all()) {
    if (isTombstone(String(id))) continue
    failpoint('sqlite.migrate.session')
    const row = database.statement<SessionRow>(sessionSql).get(key!)!
    saveHeadAndSummary(database, {
      key: row.key,
      before: undefined,
      after: storedSummaryOrPlaceholder(database, row),
    })
  }
}

const sessionSql = `SELECT ${sessionColumns} FROM sessions AS row WHERE key = ?`
const fillHasMailSql = `UPDATE sessions SET has_mail =
  EXISTS (SELECT 1 FROM inbox WHERE inbox.session = sessions.key AND body IS NOT NULL)`
