import { failpoint, type InboxItem } from '../../core/log.ts'
import { corruptError } from './problems.ts'
import type { SessionRow } from './session-rows.ts'
import type { SqlDatabase } from './statements.ts'
import { type Checksummed, checksumOf, decodeText, encodeText, verifiedValue } from './stored-values.ts'

/** Adds a message, unless the inbox has had a message with the same key. Returns whether it was added. Requires a transaction. */
export function addMessage(database: SqlDatabase, { key }: SessionRow, item: InboxItem): boolean {
  const body = JSON.stringify(item)
  const { changes } = database
    .statement(insertMessageSql)
    .run(key, encodeText(item.clientKey), checksumOf(body, key), body)
  if (changes > 0) database.statement('UPDATE sessions SET has_mail = 1 WHERE key = ? AND has_mail = 0').run(key)
  failpoint('sqlite.send.beforeCommit')
  return changes > 0
}

const insertMessageSql = 'INSERT INTO inbox (session, client_key, sum, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING'

/** Removes a message that is in the log now; its key stays known. Requires a transaction. */
export function removeFromInbox(database: SqlDatabase, session: number, clientKey: string): void {
  const key = encodeText(clientKey)
  if (database.statement(emptyMessageSql).run(session, key).changes > 0)
    database.statement(updateHasMailSql).run(session, session)
  else
    database.statement('INSERT INTO inbox (session, client_key) VALUES (?, ?) ON CONFLICT DO NOTHING').run(session, key)
}

const emptyMessageSql = `UPDATE inbox SET sum = NULL, body = NULL
  WHERE session = ? AND client_key = ? AND body IS NOT NULL`
const updateHasMailSql = `UPDATE sessions SET has_mail = 0
  WHERE key = ? AND NOT EXISTS (SELECT 1 FROM inbox WHERE session = ? AND body IS NOT NULL)`

/** The inbox, oldest message first. */
export function readInbox(database: SqlDatabase, { key, id }: SessionRow): InboxItem[] {
  const rows = database.statement<Checksummed>(waitingMessagesSql).all(key)
  return rows.map((row) => {
    const item = verifiedValue(row, key)
    if (item === undefined)
      throw corruptError(database.path, `a message of session ${decodeText(id)} is not what was sent`)
    return item as InboxItem
  })
}

const waitingMessagesSql = 'SELECT sum, body FROM inbox WHERE session = ? AND body IS NOT NULL ORDER BY position'
