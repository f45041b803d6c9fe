import { type SessionBusyError, SessionNotFoundError, sessionBusy } from '../../core/errors.ts'
import { failpoint } from '../../core/log.ts'
import type { Lease, LeaseRequest } from '../../core/store.ts'
import { isAlive, thisProcess } from '../../platform/process-identity.ts'
import type { Connection } from './connection.ts'
import { leaseTakenOver, readInbox } from './entries.ts'
import { parseProcess } from './open-database.ts'
import type { LeaseRow, SessionRow, SessionRows } from './session-rows.ts'
import { decodeText, encodeText } from './stored-values.ts'

/**
 * Takes or renews a lease, or releases it by a renewal with `ttlMs` 0. Requires a transaction. The
 * busy error is returned, because throwing it would roll back the clock correction: the caller throws it after the commit.
 */
export function lease(
  connection: Connection,
  rows: SessionRows,
  { id, now, request }: { id: string; now: number; request: LeaseRequest },
): Lease | SessionBusyError {
  const row = request.create && request.epoch === undefined ? rows.findOrCreate(id) : rows.find(id)
  if (!row && request.epoch === undefined) throw new SessionNotFoundError(id)
  const current = row && rows.leaseOf(row)
  if (!row || !current || (request.epoch !== undefined && row.epoch !== request.epoch))
    throw leaseTakenOver(id, current)
  if (request.epoch !== undefined) renew(connection, row, now, request.ttlMs)
  else if (isHeld(current, now, request)) return busyAfterClockFix(connection, row, current, now)
  else take(connection, row, now, request)
  failpoint('sqlite.lease.beforeCommit')
  const { epoch, head } = rows.find(id) ?? row
  return { epoch, head, inbox: readInbox(connection, row) }
}

/** A lease ends with its process, even before it expires. */
function isHeld(current: LeaseRow, now: number, { owner, takeOver }: LeaseRequest): boolean {
  if (takeOver || current.expires <= now || decodeText(current.owner) === owner) return false
  const process = parseProcess(current.process)
  return !process || isAlive(process)
}

function take(connection: Connection, { key }: SessionRow, now: number, { owner, ttlMs }: LeaseRequest): void {
  const process = JSON.stringify(thisProcess())
  connection.statement(nextEpochSql).run()
  connection.statement(takeLeaseSql).run(encodeText(owner), now, endOf(now, ttlMs), ttlMs, process, key)
}

// One counter for all sessions, so that a session that is deleted and created again fences off its old writer.
const nextEpochSql = `UPDATE store SET value = value + 1 WHERE name = 'epochs'`
const takeLeaseSql = `UPDATE sessions SET epoch = (SELECT value FROM store WHERE name = 'epochs'),
  owner = ?, since = ?, expires = ?, ttl = ?, process = ? WHERE key = ?`

function renew(connection: Connection, { key }: SessionRow, now: number, ttlMs: number): void {
  const process = JSON.stringify(thisProcess())
  connection.statement(renewLeaseSql).run(endOf(now, ttlMs), ttlMs, process, key)
}

const renewLeaseSql = 'UPDATE sessions SET expires = ?, ttl = ?, process = ? WHERE key = ?'

const endOf = (now: number, ttlMs: number): number => (ttlMs === 0 ? 0 : now + ttlMs)

/** Returns the busy error. A lease that expires more than one ttl from now shows that the clock was set back: its expiry is corrected first. */
function busyAfterClockFix(
  connection: Connection,
  { key, id }: SessionRow,
  current: LeaseRow,
  now: number,
): SessionBusyError {
  if (current.expires > now + current.ttl)
    connection.statement('UPDATE sessions SET expires = ? WHERE key = ?').run(now + current.ttl, key)
  return sessionBusy(decodeText(id), decodeText(current.owner), current.since)
}
