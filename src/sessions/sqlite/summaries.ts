import type { SessionSummary } from '../../core/store.ts'
import { type SessionPresence, summaryOf } from '../session-record.ts'
import type { RowReader } from './list-sessions.ts'
import type { Holders } from './openers.ts'
import { recordToShow } from './records.ts'
import { type SessionRow, sessionColumns } from './session-rows.ts'
import type { Statements } from './statements.ts'
import { decodeText } from './stored-values.ts'

/** For `listSessions`. */
export function rowReader(database: Statements, holders: Holders): RowReader<SessionRow> {
  return { columns: sessionColumns, summarize: (row) => summarize(database, holders, row) }
}

/** The summary of a session. */
export function summarize(database: Statements, holders: Holders, row: SessionRow): SessionSummary {
  const record = recordToShow(database, row)
  const mail = mailOf(database, row)
  const isHeld = holders.isHeld(rootOf(database, row))
  const parent = row.parent === null ? undefined : decodeText(row.parent)
  return summaryOf(record, { id: decodeText(row.id), parent, isHeld, mail })
}

function mailOf(database: Statements, { key, has_mail }: SessionRow): SessionPresence['mail'] {
  if (!has_mail) return 'none'
  return database.statement(hasAnswerSql).get(key)?.has ? 'answer' : 'messages'
}

const hasAnswerSql = `SELECT EXISTS (SELECT 1 FROM inbox WHERE session = ? AND body IS NOT NULL
  AND json_valid(body) AND body ->> 'mode' = 'answer') AS has`

type Lease = Pick<SessionRow, 'parent' | 'opener' | 'expires'>

/** A child is written under the lease of its root. */
function rootOf(database: Statements, row: Lease): Lease {
  let root = row
  for (let depth = 0; root.parent !== null && depth < maxDepth; depth++) {
    const above = database.statement(leaseSql).get(root.parent) as Lease | undefined
    if (!above) return root
    root = above
  }
  return root
}

const leaseSql = 'SELECT parent, opener, expires FROM sessions WHERE id = ?'

/** So that a damaged file, in which a session is above itself, does not hang the process. */
const maxDepth = 1000
