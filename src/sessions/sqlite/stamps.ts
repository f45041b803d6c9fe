import type { SessionStamp } from '../shared-poller.ts'
import type { Statements } from './statements.ts'
import { decodeText, encodeText } from './stored-values.ts'

/** What changes with the entries and the messages of these sessions, and when one is made or deleted, by one query for all. */
export function stampsOf(database: Statements, ids: readonly string[]): Map<string, SessionStamp> {
  const stamps = new Map(ids.map((id) => [id, missing]))
  for (const { id, key, head, mail } of database.statement(stampsSql).all(JSON.stringify(ids.map(encodeText))))
    stamps.set(decodeText(String(id)), { entries: `${key} ${head}`, inbox: `${key} ${mail ?? ''}` })
  return stamps
}

const missing: SessionStamp = { entries: '', inbox: '' }

const stampsSql = `SELECT session.id, session.key, session.head, CASE WHEN session.has_mail THEN
    (SELECT max(position) FROM inbox WHERE inbox.session = session.key AND inbox.body IS NOT NULL) END AS mail
  FROM json_each(?) AS watched CROSS JOIN sessions AS session ON session.id = watched.value`
