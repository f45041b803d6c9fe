import type { SessionStamp } from '../shared-poller.ts'
import type { Statements } from './statements.ts'
import { decodeText, encodeText } from './stored-values.ts'

/** What changes with the entries and the messages of these sessions, by one query for all. */
export function stampsOf(database: Statements, ids: readonly string[]): Map<string, SessionStamp> {
  const rows = database.statement(stampsSql).all(JSON.stringify(ids.map(encodeText)))
  return new Map(
    rows.map(({ id, key, head, mail }) => [
      decodeText(String(id)),
      { entries: `${key} ${head}`, inbox: `${key} ${mail ?? ''}` },
    ]),
  )
}

const stampsSql = `SELECT found.id, found.key, found.head, CASE WHEN found.has_mail THEN
    (SELECT max(position) FROM inbox WHERE inbox.session = found.key AND inbox.body IS NOT NULL) END AS mail
  FROM json_each(?) AS watched CROSS JOIN sessions AS found ON found.id = watched.value`
