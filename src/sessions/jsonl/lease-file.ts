import * as fs from 'node:fs'
import { join } from 'node:path'
import { failpoint } from '../../core/log.ts'
import { isAlive, type ProcessIdentity } from '../../platform/process-identity.ts'
import { withReadErrors, withWriteErrors } from './file-errors.ts'
import { openForReading, parseObject, readBytes, replaceFileUnsynced } from './files.ts'
import { ProcessStates } from './process-states.ts'

/**
 * `lease.json`: the process that may write a session. Read and changed under the lock of the folder, except for a renewal,
 * which only changes the time of the file: see `renewLease`.
 */
export interface LeaseRecord {
  readonly epoch: number
  readonly owner: string
  readonly since: number
  /** When it expires unless it is renewed; 0 once it is released. */
  readonly expires: number
  /** The duration of the last request. */
  readonly ttlMs?: number
  /** The store object that took it; only that object can write under it. */
  readonly storeInstanceId: string
  readonly process?: ProcessIdentity
}

/** A lease as JSON. */
type StoredLease = Omit<LeaseRecord, 'storeInstanceId'> & { readonly opener: string }

const leasePath = (folder: string): string => join(folder, 'lease.json')

export function readLease(folder: string): LeaseRecord | undefined {
  const path = leasePath(folder)
  const fd = openForReading(path)
  if (fd === undefined) return undefined
  try {
    return withReadErrors(path, () => leaseIn(readBytes(fd).toString(), fs.fstatSync(fd).mtimeMs))
  } finally {
    fs.closeSync(fd)
  }
}

function leaseIn(text: string, renewedTo: number): LeaseRecord {
  const stored = parseObject<StoredLease>(text)
  // An unreadable lease excludes no process, but its writer may still live.
  if (typeof stored?.epoch !== 'number')
    return { epoch: 0, owner: '', since: 0, expires: Number.NEGATIVE_INFINITY, storeInstanceId: '' }
  const { opener: storeInstanceId, ...others } = stored
  const lease = { ...others, storeInstanceId }
  return lease.expires > 0 && renewedTo > lease.expires ? { ...lease, expires: renewedTo } : lease
}

/** Not synced: a power failure ends the processes that held the lease too. */
export function writeLease(folder: string, { storeInstanceId: opener, ...lease }: LeaseRecord): void {
  const stored: StoredLease = { ...lease, opener }
  replaceFileUnsynced(leasePath(folder), `${JSON.stringify(stored, undefined, 2)}\n`, (temporary) => {
    setTime(temporary, lease.expires)
    failpoint('jsonl.lease.beforeRename')
  })
}

/**
 * Extends a lease without a lock and without writing: the time of the file tells when the lease expires. If another process
 * takes the lease at this moment, its lease gets that time until it is renewed, which does no harm.
 */
export function renewLease(folder: string, expires: number): void {
  const path = leasePath(folder)
  withWriteErrors(path, () => setTime(path, expires))
}

const setTime = (path: string, ms: number): void => fs.utimesSync(path, ms / 1000, ms / 1000)

/** If `expires` is further off than `ttlMs`, the clock was set back: `ttlMs` then counts from now. */
export function withoutClockJump(lease: LeaseRecord, now: number): LeaseRecord {
  const latest = now + (lease.ttlMs ?? Number.POSITIVE_INFINITY)
  return lease.expires > latest ? { ...lease, expires: latest } : lease
}

/**
 * Whether the lease excludes other writers. That of a dead process never does. That of another process that lives on this
 * machine always does, whatever the clock says. The clock decides about a lease of this process, and about one of a process
 * whose state cannot be known.
 */
export function isHeld({ expires, process }: LeaseRecord, now: number, states = new ProcessStates()): boolean {
  if (expires === 0) return false
  const state = states.of(process)
  return state === 'alive' || (state !== 'dead' && expires > now)
}

/** Whether a process may still have the log open and write to it, such as a paused one (SIGSTOP). */
export function mayStillWrite({ expires, process }: LeaseRecord): boolean {
  return expires !== 0 && (!process || isAlive(process))
}
