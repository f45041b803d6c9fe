import { type SessionBusyError, SessionNotFoundError, sessionBusy } from '../../core/errors.ts'
import { failpoint } from '../../core/log.ts'
import type { Lease, LeaseRequest } from '../../core/store.ts'
import { leaseTakenOver } from './append.ts'
import { readInbox } from './inbox.ts'
import { dropIfUnwritten, Holders, insertOpener, type Opener, removeUnused } from './openers.ts'
import type { SessionRow, SessionRows } from './session-rows.ts'
import type { Statements } from './statements.ts'
import { decodeText, encodeText } from './stored-values.ts'

interface LeaseCall {
  readonly id: string
  readonly now: number
  readonly opener: Opener
  readonly request: LeaseRequest
}

/**
 * Takes or renews a lease, or gives it back by a renewal with `ttlMs` 0. Requires a transaction. The busy error is returned,
 * because throwing it would roll back the clock correction: the caller throws it after the commit.
 */
export function lease(database: Statements, rows: SessionRows, call: LeaseCall): Lease | SessionBusyError {
  const { id, now, opener, request } = call
  if (request.epoch !== undefined) return renew(database, rows, call)
  const row = request.create ? rows.findOrCreate(id) : rows.find(id)
  if (!row) throw new SessionNotFoundError(id)
  const holders = new Holders(database, opener, now)
  const mayTake = request.takeOver || decodeText(row.owner) === request.owner || !holders.isHeld(row)
  if (!mayTake) return busyAfterClockFix(database, row, now)
  const died = holders.deathOf(row)
  const epoch = take(database, row, call)
  failpoint('sqlite.lease.beforeCommit')
  return { epoch, head: row.head, inbox: readInbox(database, row), ...(died && { died }) }
}

function take(database: Statements, row: SessionRow, { now, opener, request: { owner, ttlMs } }: LeaseCall): number {
  insertOpener(database, opener) // a process of another container may have removed it
  const epoch = Number(database.statement(nextEpochSql).get()?.value)
  database.statement(takeLeaseSql).run(epoch, encodeText(owner), now, endOf(now, ttlMs), ttlMs, opener.key, row.key)
  if (row.opener !== null) removeUnused(database, row.opener)
  return epoch
}

// One counter for all sessions, so that a session that is deleted and created again fences off its old writer.
const nextEpochSql = `UPDATE store SET value = value + 1 WHERE name = 'epochs' RETURNING value`
const takeLeaseSql = `UPDATE sessions SET epoch = ?, owner = ?, since = ?, expires = ?, ttl = ?, opener = ? WHERE key = ?`

const endOf = (now: number, ttlMs: number): number => (ttlMs === 0 ? 0 : now + ttlMs)

function renew(database: Statements, rows: SessionRows, { id, now, opener, request }: LeaseCall): Lease {
  const { epoch, ttlMs } = request
  const row = rows.find(id)
  if (!row || row.epoch !== epoch) throw leaseTakenOver(id, row)
  const inbox = readInbox(database, row)
  const isEnd = ttlMs === 0
  if (!isEnd || !dropIfUnwritten(database, row.key))
    database.statement(renewLeaseSql).run(endOf(now, ttlMs), ttlMs, isEnd ? null : opener.key, row.key)
  failpoint('sqlite.lease.beforeCommit')
  return { epoch, head: row.head, inbox }
}

const renewLeaseSql = 'UPDATE sessions SET expires = ?, ttl = ?, opener = ? WHERE key = ?'

/** Returns the busy error. A lease that expires more than one ttl from now shows that the clock was set back: its expiry is corrected first. */
function busyAfterClockFix(database: Statements, row: SessionRow, now: number): SessionBusyError {
  if (row.expires > now + row.ttl)
    database.statement('UPDATE sessions SET expires = ? WHERE key = ?').run(now + row.ttl, row.key)
  return sessionBusy(decodeText(row.id), decodeText(row.owner), row.since)
}
