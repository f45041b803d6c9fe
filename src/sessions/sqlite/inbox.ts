import type { InboxItem } from '../../core/log.ts'
import { failpoint } from '../../core/log.ts'
import type { Connection } from './connection.ts'
import { keyOfText, textOfKey } from './keys.ts'
import { corruptError } from './problems.ts'
import { type Sealed, sumOf, unseal } from './sealed.ts'
import type { SessionRow } from './session-rows.ts'

/** Inside a transaction: leaves a message, unless its key is known. Returns whether it was not. */
export function leaveMessage(connection: Connection, { key }: SessionRow, item: InboxItem): boolean {
  const body = JSON.stringify(item)
  const { changes } = connection.statement(leave).run(key, textOfKey(item.clientKey), sumOf(body, key), body)
  failpoint('sqlite.send.beforeCommit')
  return changes > 0
}

const leave = 'INSERT INTO inbox (session, client_key, sum, body) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING'

/** Inside a transaction: the message of that key, if there is one, is in the log now, and the key stays known. */
export function deliver(connection: Connection, session: number, clientKey: string): void {
  connection.statement(delivered).run(session, textOfKey(clientKey))
}

const delivered = `INSERT INTO inbox (session, client_key) VALUES (?, ?)
  ON CONFLICT (session, client_key) DO UPDATE SET sum = NULL, body = NULL WHERE body IS NOT NULL`

/** What waits, oldest first. */
export function readInbox(connection: Connection, { key, id }: SessionRow): InboxItem[] {
  const found = connection.statement(waiting).all(key) as unknown as Sealed[]
  return found.map((row) => {
    const item = unseal(row, key)
    if (item === undefined)
      throw corruptError(connection.path, `a message of session ${keyOfText(id)} is not what was sent`)
    return item as InboxItem
  })
}

const waiting = 'SELECT sum, body FROM inbox WHERE session = ? AND body IS NOT NULL ORDER BY position'
