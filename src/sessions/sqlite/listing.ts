import type { SessionInfo } from '../../core/store.ts'
import type { Connection } from './connection.ts'
import { keyOfText, textOfKey } from './keys.ts'

/** Every session, oldest first. */
export function listSessions(connection: Connection): SessionInfo[] {
  return connection
    .statement(all)
    .all()
    .map(({ id, head, parent, createdAt, updatedAt }) => ({
      id: keyOfText(String(id)),
      head: Number(head),
      ...(typeof parent === 'string' && { parent: keyOfText(parent) }),
      ...(typeof createdAt === 'number' && { createdAt }),
      ...(typeof updatedAt === 'number' && { updatedAt }),
    }))
}

const all = `SELECT id, head, parent,
  (SELECT at FROM entries WHERE place = (key << 26) + 1) AS createdAt,
  (SELECT at FROM entries WHERE place = (key << 26) + head) AS updatedAt
  FROM sessions NOT INDEXED ORDER BY key`

/** Inside a transaction: a session with its descendants and all that is theirs. Returns their ids. */
export function deleteFamily(connection: Connection, id: string): string[] {
  const ids = connection
    .statement(family)
    .all(textOfKey(id))
    .map(({ member }) => String(member))
  for (const member of ids) {
    connection.statement('DELETE FROM blobs WHERE session = ?').run(member)
    connection.statement(entriesOf).run(member)
    connection.statement('DELETE FROM sessions WHERE id = ?').run(member)
  }
  return ids.map(keyOfText)
}

const entriesOf = `DELETE FROM entries WHERE place > (SELECT key << 26 FROM sessions WHERE id = ?1)
  AND place < (SELECT (key + 1) << 26 FROM sessions WHERE id = ?1)`

const family = `WITH RECURSIVE family(member) AS (
    SELECT ?1 UNION SELECT sessions.id FROM sessions JOIN family ON sessions.parent = family.member
  ) SELECT member FROM family`
