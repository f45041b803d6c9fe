import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { IndexDatabase } from './index-database.ts'
import {
  addRow,
  findRow,
  type IndexRow,
  removeRow,
  saveLeaseProcess,
  saveLog,
  saveMail,
  saveParent,
  storedSummaryIn,
} from './index-rows.ts'
import { isCurrent, type OwnSession, type OwnSessions } from './own-sessions.ts'
import { refreshRow } from './refresh-row.ts'
import { leaseProcessOf, mailState } from './session-state.ts'

/** What may have changed of a session, as bits. */
export const Aspect = {
  /** This store object appended entries, and has counted them in the summary. */
  log: 1,
  /** Entries were appended that may take messages out of the inbox. */
  accepted: 2,
  mail: 4,
  lease: 8,
  /** It is unknown what has changed: the files have to be looked at. */
  unknown: 16,
  /** The session was deleted. Another one may have its name by now. */
  deleted: 32,
} as const

interface Unsaved {
  readonly dir: string
  /** Aspects by the name of the folder. */
  readonly changes: ReadonlyMap<string, number>
  readonly own: OwnSessions
}

/** The most rows that are written at a time, so that the event loop is not blocked for long. */
const maxRows = 64

/** Writes the changes of this store object to the index. Throws if another process is writing. */
export async function saveRows(database: IndexDatabase, { dir, changes, own }: Unsaved): Promise<void> {
  const unclear: string[] = []
  const rows = [...changes].filter(([, aspects]) => aspects !== 0)
  for (let i = 0; i < rows.length; i += maxRows) {
    if (i > 0) await setImmediate()
    database.write(() => {
      for (const [name, aspects] of rows.slice(i, i + maxRows)) {
        if (aspects & Aspect.deleted) removeRow(database, name) // a new session may look as if it continued the old one
        const isUnclear = (aspects & (Aspect.unknown | Aspect.deleted)) !== 0
        if (isUnclear || !saveRow(database, dir, name, aspects, own)) unclear.push(name)
      }
    })
  }
  for (const name of unclear) await refreshRow(database, dir, name)
}

/** Returns false if the files have to be looked at. */
function saveRow(database: IndexDatabase, dir: string, name: string, aspects: number, own: OwnSessions): boolean {
  const folder = join(dir, name)
  let row = findRow(database, name)
  if (aspects & Aspect.log) {
    const session = own.get(name)
    // In the transaction: another process may have taken or deleted the session since, and its row is the right one.
    if (!session || !isCurrent(session, folder) || (row && row.head > session.summary.head)) return false
    row ??= addRow(database, name, session)
    saveSession(database, row, name, session, own)
  }
  if (!row) return true // it has no entries
  if (aspects & Aspect.mail || (aspects & Aspect.accepted && row.has_mail > 0))
    saveMail(database, row, mailState(folder))
  if (aspects & Aspect.lease) saveLeaseProcess(database, row, leaseProcessOf(folder))
  return true
}

function saveSession(
  database: IndexDatabase,
  row: IndexRow,
  name: string,
  session: OwnSession,
  own: OwnSessions,
): void {
  const { summary, saved } = session
  saveParent(database, row, session.parent)
  saveLog(database, row, session, saved?.body === row.record ? saved.summary : storedSummaryIn(row))
  own.setSaved(name, { summary, body: JSON.stringify(summary) })
}
