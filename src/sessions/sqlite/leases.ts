import { type SessionBusyError, sessionBusy } from '../../core/errors.ts'
import { failpoint } from '../../core/log.ts'
import type { Lease, LeaseRequest } from '../../core/store.ts'
import { isAlive, thisProcess } from '../../platform/process-identity.ts'
import type { Connection } from './connection.ts'
import { takenOver } from './entries.ts'
import { readInbox } from './inbox.ts'
import { keyOfText, textOfKey } from './keys.ts'
import { processOf } from './openers.ts'
import type { LeaseRow, SessionRow, SessionRows } from './session-rows.ts'

/** Inside a transaction: takes, renews or gives back the right to write. An error that is returned is to be thrown after it. */
export function lease(
  connection: Connection,
  rows: SessionRows,
  { id, now, request }: { id: string; now: number; request: LeaseRequest },
): Lease | SessionBusyError {
  const row = request.epoch === undefined ? rows.findOrCreate(id) : rows.find(id)
  const held = row && rows.leaseOf(row)
  if (!row || !held || (request.epoch !== undefined && row.epoch !== request.epoch)) throw takenOver(id, held)
  if (request.epoch !== undefined) renew(connection, row, now, request.ttlMs)
  else if (isHeld(held, now, request)) return busy(connection, row, held, now)
  else take(connection, row, now, request)
  failpoint('sqlite.lease.beforeCommit')
  const { epoch, head } = rows.find(id) ?? row
  return { epoch, head, inbox: readInbox(connection, row) }
}

/** A lease ends with its process, whatever the clock says. */
function isHeld(held: LeaseRow, now: number, { owner, takeOver }: LeaseRequest): boolean {
  if (takeOver || held.expires <= now || keyOfText(held.owner) === owner) return false
  const process = processOf(held.process)
  return !process || isAlive(process)
}

function take(connection: Connection, { key }: SessionRow, now: number, { owner, ttlMs }: LeaseRequest): void {
  const process = JSON.stringify(thisProcess())
  connection.statement(nextEpoch).run()
  connection.statement(taken).run(textOfKey(owner), now, endOf(now, ttlMs), ttlMs, process, key)
}

// One counter for all sessions, so that one that is deleted and made anew fences off its old writer.
const nextEpoch = `UPDATE store SET value = value + 1 WHERE name = 'epochs'`
const taken = `UPDATE sessions SET epoch = (SELECT value FROM store WHERE name = 'epochs'),
  owner = ?, since = ?, expires = ?, ttl = ?, process = ? WHERE key = ?`

function renew(connection: Connection, { key }: SessionRow, now: number, ttlMs: number): void {
  const process = JSON.stringify(thisProcess())
  connection.statement(renewed).run(endOf(now, ttlMs), ttlMs, process, key)
}

const renewed = 'UPDATE sessions SET expires = ?, ttl = ?, process = ? WHERE key = ?'

const endOf = (now: number, ttlMs: number): number => (ttlMs === 0 ? 0 : now + ttlMs)

/** A lease that lasts longer than it ever could was written before the clock went back: it counts from now on. */
function busy(connection: Connection, { key, id }: SessionRow, held: LeaseRow, now: number): SessionBusyError {
  if (held.expires > now + held.ttl)
    connection.statement('UPDATE sessions SET expires = ? WHERE key = ?').run(now + held.ttl, key)
  return sessionBusy(keyOfText(id), keyOfText(held.owner), held.since)
}
