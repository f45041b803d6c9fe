import * as fs from 'node:fs'
import { join } from 'node:path'
import { logPath } from '../log-file.ts'
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
  stateIn,
} from './index-rows.ts'
import { lookAtSession, type SessionState } from './session-state.ts'

/** Looks at a session and corrects its row. Throws if another process is writing to the index. */
export async function refreshRow(database: IndexDatabase, dir: string, name: string): Promise<void> {
  for (let tries = 1; !(await tryToRefresh(database, dir, name, tries < maxTries)); tries++);
}

/**
 * Retries are limited because a log with bytes but no entry can be permanent: a process that dies while recreating a session
 * leaves one.
 */
const maxTries = 5

/** Returns false if the row was changed meanwhile, or is likely to be. */
async function tryToRefresh(
  database: IndexDatabase,
  dir: string,
  name: string,
  mayTryAgain: boolean,
): Promise<boolean> {
  const row = findRow(database, name)
  const known = row && stateIn(row)
  const state = await lookAtSession(dir, name, known)
  if (isSame(known, state) && !(row && !known)) return true
  return database.write(() => {
    const now = findRow(database, name)
    if (now?.key !== row?.key || now?.revision !== row?.revision) return false
    if (state) saveState(database, now ?? addRow(database, name, state), state, known)
    // In the transaction: it may have been made anew, and the process that did so writes its row before or after this.
    else if (mayTryAgain && hasLog(dir, name)) return false
    else removeRow(database, name)
    return true
  })
}

function hasLog(dir: string, name: string): boolean {
  return (fs.lstatSync(logPath(join(dir, name)), { throwIfNoEntry: false })?.size ?? 0) > 0
}

function isSame(known: SessionState | undefined, state: SessionState | undefined): boolean {
  if (!known || !state) return known === state
  return (
    known.summary === state.summary &&
    known.size === state.size &&
    known.mail === state.mail &&
    known.inbox === state.inbox &&
    known.leaseProcessId === state.leaseProcessId &&
    known.parent === state.parent
  )
}

function saveState(database: IndexDatabase, row: IndexRow, state: SessionState, known: SessionState | undefined): void {
  saveParent(database, row, state.parent)
  if (state.summary !== known?.summary || state.size !== known.size) saveLog(database, row, state, known?.summary)
  saveMail(database, row, state)
  saveLeaseProcess(database, row, state.leaseProcessId)
}
