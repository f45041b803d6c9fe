import { join } from 'node:path'
import { type SessionBusyError, sessionBusy } from '../../core/errors.ts'
import { failpoint } from '../../core/log.ts'
import { isAlive, type ProcessIdentity } from '../../platform/process-identity.ts'
import { objectIn, replaceFile, textOf } from './small-files.ts'

/** Who may write a session, as `lease.json` says it. Read and changed under the lock of the folder. */
export interface LeaseRecord {
  readonly epoch: number
  readonly owner: string
  readonly since: number
  /** When it ends unless it is renewed; 0 once it was given back. */
  readonly expires: number
  /** How long it was last asked for. */
  readonly ttlMs?: number
  /** The store object that took it: only that one can write by it. */
  readonly opener: string
  readonly process?: ProcessIdentity
}

export function readLease(folder: string): LeaseRecord | undefined {
  const path = join(folder, 'lease.json')
  const text = textOf(path)
  if (text === undefined) return undefined
  const lease = objectIn<LeaseRecord>(text)
  if (lease && typeof lease.epoch === 'number') return lease
  // One that cannot be read keeps nobody out, but its writer may still be there.
  return { epoch: 0, owner: '', since: 0, expires: Number.NEGATIVE_INFINITY, opener: '' }
}

/** Not synced: what a power failure takes back, it takes from processes that are gone. */
export function writeLease(folder: string, lease: LeaseRecord): void {
  const text = `${JSON.stringify(lease, undefined, 2)}\n`
  const beforeRename = (): void => failpoint('jsonl.lease.beforeRename')
  replaceFile(join(folder, 'lease.json'), text, { sync: false, beforeRename })
}

/** A lease that lasts longer than it ever could was written before the clock went back: it counts from now on. */
export function withoutClockJump(lease: LeaseRecord, now: number): LeaseRecord {
  const latest = now + (lease.ttlMs ?? Number.POSITIVE_INFINITY)
  return lease.expires > latest ? { ...lease, expires: latest } : lease
}

/** Whether it keeps others out. That of a dead process does not, whatever the time says. */
export function isHeld(lease: LeaseRecord, now: number): boolean {
  return lease.expires > now && mayStillWrite(lease)
}

/** Whether somebody may still hold the file open and believe to be its writer, for instance a process that sleeps. */
export function mayStillWrite({ expires, process }: LeaseRecord): boolean {
  return expires !== 0 && (!process || isAlive(process))
}

export const busy = (id: string, { owner, since }: LeaseRecord): SessionBusyError => sessionBusy(id, owner, since)
