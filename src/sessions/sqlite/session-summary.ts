import type { SessionSummary } from '../../core/store.ts'
import { type SessionPresence, summaryOf } from '../stored-summary.ts'
import type { RowReader } from './list-sessions.ts'
import { storedSummaryOrPlaceholder } from './read-stored-summary.ts'
import { type SessionRow, sessionColumns } from './session-rows.ts'
import type { SqlDatabase } from './statements.ts'
import type { LeaseLiveness } from './store-instances.ts'
import { decodeText } from './stored-values.ts'

/** What `listSessions` needs to make summaries of rows. */
export function rowReader(database: SqlDatabase, liveness: LeaseLiveness): RowReader<SessionRow> {
  return { columns: sessionColumns, summarize: (row) => summarize(database, liveness, row) }
}

/** The summary of a session. */
export function summarize(database: SqlDatabase, liveness: LeaseLiveness, row: SessionRow): SessionSummary {
  const summary = storedSummaryOrPlaceholder(database, row)
  const mail = inboxStateOf(database, row)
  const isHeld = liveness.isHeld(rootOf(database, row))
  const parent = row.parent === null ? undefined : decodeText(row.parent)
  return summaryOf(summary, { id: decodeText(row.id), parent, isHeld, mail })
}

function inboxStateOf(database: SqlDatabase, { key, has_mail }: SessionRow): SessionPresence['mail'] {
  if (!has_mail) return 'none'
  return database.statement(hasAnswerSql).get(key)?.has ? 'answer' : 'messages'
}

const hasAnswerSql = `SELECT EXISTS (SELECT 1 FROM inbox WHERE session = ? AND body IS NOT NULL
  AND json_valid(body) AND body ->> 'mode' = 'answer') AS has`

type LeaseColumns = Pick<SessionRow, 'parent' | 'leased_by' | 'expires'>

/** A child is written under the lease of its root. */
function rootOf(database: SqlDatabase, row: LeaseColumns): LeaseColumns {
  let root = row
  for (let depth = 0; root.parent !== null && depth < maxDepth; depth++) {
    const parent = database.statement<LeaseColumns>(leaseSql).get(root.parent)
    if (!parent) return root
    root = parent
  }
  return root
}

const leaseSql = 'SELECT parent, opener AS leased_by, expires FROM sessions WHERE id = ?'

/** So that a damaged file, in which a session is its own ancestor, does not hang the process. */
const maxDepth = 1000
