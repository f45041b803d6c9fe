import { type SessionBusyError, SessionNotFoundError, sessionBusy } from '../../core/errors.ts'
import { failpoint } from '../../core/log.ts'
import type { Lease, LeaseRequest } from '../../core/store.ts'
import { leaseTakenOver } from './append.ts'
import { readInbox } from './inbox.ts'
import type { SessionRow, SessionRows } from './session-rows.ts'
import type { SqlDatabase } from './statements.ts'
import {
  deleteInstanceIfUnused,
  dropIfUnwritten,
  insertInstance,
  LeaseLiveness,
  type StoreInstance,
} from './store-instances.ts'
import { decodeText, encodeText } from './stored-values.ts'

interface IncomingRequest {
  readonly id: string
  readonly now: number
  readonly instance: StoreInstance
  readonly request: LeaseRequest
}

/**
 * Takes or renews a lease, or gives it back by a renewal with `ttlMs` 0. Requires a transaction. If another process has the lease, its
 * expiry may be corrected (see `busyWithExpiryCorrected`); therefore the error is returned, and the caller throws it after the commit.
 */
export function lease(database: SqlDatabase, rows: SessionRows, incoming: IncomingRequest): Lease | SessionBusyError {
  const { id, now, instance, request } = incoming
  if (request.epoch !== undefined) return renew(database, rows, incoming)
  const row = request.create ? rows.findOrCreate(id) : rows.find(id)
  if (!row) throw new SessionNotFoundError(id)
  const liveness = new LeaseLiveness(database, instance, now)
  const mayTake = request.takeOver || decodeText(row.owner) === request.owner || !liveness.isHeld(row)
  if (!mayTake) return busyWithExpiryCorrected(database, row, now)
  const died = liveness.deathOf(row)
  const epoch = take(database, row, incoming)
  failpoint('sqlite.lease.beforeCommit')
  return { epoch, head: row.head, inbox: readInbox(database, row), ...(died && { died }) }
}

function take(database: SqlDatabase, row: SessionRow, { now, instance, request }: IncomingRequest): number {
  const { owner, ttlMs } = request
  insertInstance(database, instance) // a process in another container may have taken this one for dead, and deleted the row
  const epoch = Number(database.statement(nextEpochSql).get()?.value)
  database
    .statement(takeLeaseSql)
    .run(epoch, encodeText(owner), now, expiryOf(now, ttlMs), ttlMs, instance.key, row.key)
  if (row.leased_by !== null) deleteInstanceIfUnused(database, row.leased_by)
  return epoch
}

// One counter for all sessions, so that a session that is deleted and created again fences off its old writer.
const nextEpochSql = `UPDATE store SET value = value + 1 WHERE name = 'epochs' RETURNING value`
// The column `opener` is `leased_by` of `SessionRow`: the store instance that has the lease.
const takeLeaseSql = `UPDATE sessions SET epoch = ?, owner = ?, since = ?, expires = ?, ttl = ?, opener = ? WHERE key = ?`

const expiryOf = (now: number, ttlMs: number): number => (ttlMs === 0 ? 0 : now + ttlMs)

function renew(database: SqlDatabase, rows: SessionRows, { id, now, instance, request }: IncomingRequest): Lease {
  const { epoch, ttlMs } = request
  const row = rows.find(id)
  if (!row || row.epoch !== epoch) throw leaseTakenOver(id, row)
  const inbox = readInbox(database, row)
  const isGivenBack = ttlMs === 0
  if (!isGivenBack || !dropIfUnwritten(database, row.key))
    database.statement(renewLeaseSql).run(expiryOf(now, ttlMs), ttlMs, isGivenBack ? null : instance.key, row.key)
  failpoint('sqlite.lease.beforeCommit')
  return { epoch, head: row.head, inbox }
}

const renewLeaseSql = 'UPDATE sessions SET expires = ?, ttl = ?, opener = ? WHERE key = ?'

/** The busy error. A lease that expires more than one ttl from now shows that the clock was set back; its expiry is corrected. */
function busyWithExpiryCorrected(database: SqlDatabase, row: SessionRow, now: number): SessionBusyError {
  if (row.expires > now + row.ttl)
    database.statement('UPDATE sessions SET expires = ? WHERE key = ?').run(now + row.ttl, row.key)
  return sessionBusy(decodeText(row.id), decodeText(row.owner), row.since)
}
