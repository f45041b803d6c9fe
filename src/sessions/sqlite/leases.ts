import { type SessionBusyError, sessionBusy } from '../../core/errors.ts'
import { failpoint } from '../../core/log.ts'
import type { Lease, LeaseRequest } from '../../core/store.ts'
import { isAlive, thisProcess } from '../../platform/process-identity.ts'
import type { Connection } from './connection.ts'
import { leaseTakenOver, readInbox } from './entries.ts'
import { parseProcess } from './open-database.ts'
import type { LeaseRow, SessionRow, SessionRows } from './session-rows.ts'
import { keyOfText, textOfKey } from './stored-values.ts'

/** Takes, renews or releases a lease. Requires a transaction; a returned error is to be thrown after it is committed. */
export function lease(
  connection: Connection,
  rows: SessionRows,
  { id, now, request }: { id: string; now: number; request: LeaseRequest },
): Lease | SessionBusyError {
  const row = request.epoch === undefined ? rows.findOrCreate(id) : rows.find(id)
  const held = row && rows.leaseOf(row)
  if (!row || !held || (request.epoch !== undefined && row.epoch !== request.epoch)) throw leaseTakenOver(id, held)
  if (request.epoch !== undefined) renew(connection, row, now, request.ttlMs)
  else if (isHeld(held, now, request)) return busy(connection, row, held, now)
  else take(connection, row, now, request)
  failpoint('sqlite.lease.beforeCommit')
  const { epoch, head } = rows.find(id) ?? row
  return { epoch, head, inbox: readInbox(connection, row) }
}

/** A lease ends with its process, even before it expires. */
function isHeld(held: LeaseRow, now: number, { owner, takeOver }: LeaseRequest): boolean {
  if (takeOver || held.expires <= now || keyOfText(held.owner) === owner) return false
  const process = parseProcess(held.process)
  return !process || isAlive(process)
}

function take(connection: Connection, { key }: SessionRow, now: number, { owner, ttlMs }: LeaseRequest): void {
  const process = JSON.stringify(thisProcess())
  connection.statement(nextEpoch).run()
  connection.statement(takeLease).run(textOfKey(owner), now, endOf(now, ttlMs), ttlMs, process, key)
}

// One counter for all sessions, so that a session that is deleted and created again fences off its old writer.
const nextEpoch = `UPDATE store SET value = value + 1 WHERE name = 'epochs'`
const takeLease = `UPDATE sessions SET epoch = (SELECT value FROM store WHERE name = 'epochs'),
  owner = ?, since = ?, expires = ?, ttl = ?, process = ? WHERE key = ?`

function renew(connection: Connection, { key }: SessionRow, now: number, ttlMs: number): void {
  const process = JSON.stringify(thisProcess())
  connection.statement(renewLease).run(endOf(now, ttlMs), ttlMs, process, key)
}

const renewLease = 'UPDATE sessions SET expires = ?, ttl = ?, process = ? WHERE key = ?'

const endOf = (now: number, ttlMs: number): number => (ttlMs === 0 ? 0 : now + ttlMs)

/** If `expires` is further off than the duration, the clock was set back: the duration then counts from now. */
function busy(connection: Connection, { key, id }: SessionRow, held: LeaseRow, now: number): SessionBusyError {
  if (held.expires > now + held.ttl)
    connection.statement('UPDATE sessions SET expires = ? WHERE key = ?').run(now + held.ttl, key)
  return sessionBusy(keyOfText(id), keyOfText(held.owner), held.since)
}
