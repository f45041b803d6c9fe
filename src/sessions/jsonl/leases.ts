import * as fs from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../../core/clock.ts'
import { LeaseLostError, leaseLost, type SessionBusyError, sessionBusy } from '../../core/errors.ts'
import { failpoint, type LogEntry } from '../../core/log.ts'
import type { Fence, Lease, LeaseRequest } from '../../core/store.ts'
import { isAlive, type ProcessIdentity, thisProcess } from '../../platform/process-identity.ts'
import { parseObject, readText, replaceFile, syncFolder } from './files.ts'
import { withFolderLock } from './folder-lock.ts'
import { compactInbox } from './inbox-file.ts'
import {
  appendTo,
  entriesOf,
  finishReplacing,
  isBeingReplaced,
  isCurrent,
  type LogFile,
  openLog,
  refuseBeingReplaced,
  repairEnd,
  replaceLog,
} from './log-file.ts'
import {
  childrenOf,
  folderNameOf,
  lineageBelowHolder,
  makeChildFolder,
  makeSessionFolder,
  readMeta,
  removeTemporaryFiles,
} from './session-folder.ts'

interface LeasesOptions {
  readonly dir: string
  /** Unique for each store object; `opener` in `lease.json`. */
  readonly storeInstanceId: string
  readonly clock: Clock
  readonly sync: boolean
}

/** A lease of this store object, and the logs it has open under it. */
interface HeldLease {
  readonly epoch: number
  readonly log: LogFile
  readonly children: Map<string, LogFile>
}

interface Leases {
  lease(id: string, request: LeaseRequest): Promise<Lease>
  append(id: string, entries: readonly LogEntry[], fence: Fence): Promise<void>
  /** Closes the logs of a session that is about to be deleted. */
  forget(id: string): void
  /** Waits for running operations, then releases all leases. */
  close(): Promise<void>
}

const recheckAfterMs = 2

/** At most this many logs of children are open; the oldest is closed first. */
const maxOpenChildren = 64

/** Takes, renews and releases leases, and appends under them. */
export function createLeases({ dir, storeInstanceId, clock, sync }: LeasesOptions): Leases {
  const held = new Map<string, HeldLease>()
  const underWay = new Set<Promise<unknown>>()
  let lastEpoch = 0 // over all sessions, so that a session that is deleted and created again fences off its old writer

  const folderOf = (id: string): string => join(dir, folderNameOf(id))

  async function take(id: string, folder: string, request: LeaseRequest): Promise<HeldLease> {
    const { owner, ttlMs, takeOver = false } = request
    const current = readLease(folder)
    const now = clock.now()
    if (current && current.owner !== owner && !takeOver && isHeld(current, now)) {
      const corrected = withoutClockJump(current, now)
      if (corrected !== current) writeLease(folder, corrected)
      throw busy(id, current)
    }
    closeHeld(id)
    removeTemporaryFiles(folder)
    for (const rootLease of held.values()) closeChild(rootLease, id) // the writer of its parent opens it again
    const mayHaveWriter = current && current.opener !== storeInstanceId && mayStillWrite(current)
    // A child may also be open in the writer of its parent.
    const wasChild = readMeta(folder)?.parent !== undefined
    if (mayHaveWriter || isBeingReplaced(folder) || wasChild) await replaceTree(id)
    const epoch = Math.max(lastEpoch, current?.epoch ?? 0) + 1
    const log = openRepaired(folder)
    try {
      const expires = ttlMs === 0 ? 0 : now + ttlMs
      writeLease(folder, { epoch, owner, since: now, expires, ttlMs, opener: storeInstanceId, process: thisProcess() })
      // Order: the taker writes lease.json, then removes the moved file. A reader checks the moved file, then the lease. So
      // it always sees one of them.
      finishReplacing(folder)
    } catch (error) {
      fs.closeSync(log.fd)
      throw error
    }
    lastEpoch = epoch
    if (!wasChild && readMeta(folder)?.parent !== undefined) {
      fs.closeSync(log.fd) // it became a child meanwhile, and the writer of its parent did not see this lease
      return take(id, folder, request)
    }
    const acquired: HeldLease = { epoch, log, children: new Map() }
    if (ttlMs === 0) fs.closeSync(log.fd)
    else held.set(id, acquired)
    return acquired
  }

  /** Descendants are written under the lease of the root session, so their logs are replaced with it. */
  async function replaceTree(id: string): Promise<void> {
    replaceLog(folderOf(id))
    for (const child of childrenOf(dir, id))
      await withFolderLock(folderOf(child), async () => {
        await replaceTree(child)
        finishReplacing(folderOf(child))
      })
  }

  function renew(id: string, folder: string, { ttlMs }: LeaseRequest, current: LeaseRecord): number {
    const mine = held.get(id)
    // A process may have died while taking the session over: then the open log is no longer the current one.
    const isReplaced = isBeingReplaced(folder) || (mine !== undefined && !isCurrent(mine.log))
    if (ttlMs === 0) {
      writeLease(folder, { ...current, expires: 0 })
      closeHeld(id)
      return mine?.log.head ?? 0
    }
    if (isReplaced) throw lost(id)
    const renewed = mine ?? { epoch: current.epoch, log: openRepaired(folder), children: new Map() }
    held.set(id, renewed)
    writeLease(folder, { ...current, expires: clock.now() + ttlMs, ttlMs })
    return renewed.log.head
  }

  /** Leases of a child or its parents, taken by processes that opened them on their own and may still write. */
  function otherWriters(id: string, fence: Fence): { id: string; lease: LeaseRecord }[] {
    return lineageBelowHolder(dir, id, fence).flatMap((session) => {
      const lease = readLease(folderOf(session))
      const isOther = lease?.opener !== storeInstanceId || held.has(session)
      return lease && isOther && mayStillWrite(lease) ? [{ id: session, lease }] : []
    })
  }

  /**
   * Opens the log of a child. Open first, then check leases: a process that takes the child after the check replaces the
   * file that is open.
   */
  function openChild(id: string, rootLease: HeldLease, fence: Fence): LogFile {
    const { holder = id, parent = holder } = fence
    failpoint('jsonl.child.beforeOpen')
    const folder = makeChildFolder(dir, id, parent)
    refuseBeingReplaced(folder)
    const log = openLog(folder)
    try {
      failpoint('jsonl.child.afterOpen')
      if (!isCurrent(rootLease.log)) throw lost(holder)
      // Before their leases are read: see the order in `take`.
      for (const session of lineageBelowHolder(dir, id, fence)) refuseBeingReplaced(folderOf(session))
      const [other] = otherWriters(id, fence)
      if (other) throw busy(other.id, other.lease)
      repairEnd(log)
      syncFolder(folder)
    } catch (error) {
      fs.closeSync(log.fd)
      throw error
    }
    const [oldest] = rootLease.children.keys()
    if (oldest !== undefined && rootLease.children.size >= maxOpenChildren) closeChild(rootLease, oldest)
    rootLease.children.set(id, log)
    return log
  }

  /** Takes a lease, which replaces the log that its old writer has open, and releases it at once (`ttlMs: 0`). */
  const fenceOff = (id: string): Promise<Lease> => lease(id, { owner: '', ttlMs: 0 })

  async function append(id: string, entries: readonly LogEntry[], fence: Fence): Promise<void> {
    const { epoch, head, holder = id } = fence
    const isNew = holder !== id && held.get(holder)?.children.has(id) === false
    // A living process whose lease has expired may have the log open.
    for (const other of isNew ? otherWriters(id, fence) : [])
      if (!isHeld(other.lease, clock.now())) await fenceOff(other.id)
    const rootLease = held.get(holder)
    if (rootLease?.epoch !== epoch) throw lost(holder)
    const log = holder === id ? rootLease.log : (rootLease.children.get(id) ?? openChild(id, rootLease, fence))
    if (log.head !== head) checkRepeated(id, entries, log, head)
    if (log.head !== head || entries.length === 0) return
    checkNumbers(id, entries, head)
    // The check after the write decides. This earlier check stops a writer that was paused, before it appends to a log that
    // was moved meanwhile. It is skipped right after another check.
    if (performance.now() - log.checkedAt > recheckAfterMs) checkCurrent(id, holder, rootLease, log)
    appendTo(log, entries, { sync })
    checkCurrent(id, holder, rootLease, log)
    log.checkedAt = performance.now()
  }

  function checkCurrent(id: string, holder: string, rootLease: HeldLease, log: LogFile): void {
    if (!isCurrent(rootLease.log)) {
      const error = lost(holder)
      closeHeld(holder)
      throw error
    }
    if (log === rootLease.log || isCurrent(log)) return
    closeChild(rootLease, id)
    throw new LeaseLostError(`Session ${id} was deleted, or another process opened and writes it on its own`)
  }

  function lost(id: string): LeaseLostError {
    const lease = readLease(folderOf(id))
    const isOther = lease && (lease.opener !== storeInstanceId || lease.epoch !== held.get(id)?.epoch)
    return leaseLost(id, isOther ? lease.owner : undefined)
  }

  function closeHeld(id: string): boolean {
    const old = held.get(id)
    if (!old) return false
    for (const { fd } of [old.log, ...old.children.values()]) fs.closeSync(fd)
    return held.delete(id)
  }

  async function lease(id: string, request: LeaseRequest): Promise<Lease> {
    const operation = takeOrRenew(id, request)
    underWay.add(operation)
    try {
      return await operation
    } finally {
      underWay.delete(operation)
    }
  }

  async function takeOrRenew(id: string, request: LeaseRequest): Promise<Lease> {
    const { epoch } = request
    if (epoch !== undefined && readLease(folderOf(id))?.epoch !== epoch) throw lost(id)
    return withFolderLock(makeSessionFolder(dir, id), async () => {
      const folder = makeSessionFolder(dir, id) // again: it may have been deleted while this waited
      const current = readLease(folder)
      if (epoch === undefined) {
        const acquired = await take(id, folder, request)
        return { epoch: acquired.epoch, head: acquired.log.head, inbox: compactInbox(folder) }
      }
      if (current?.epoch !== epoch || current.opener !== storeInstanceId) throw lost(id)
      return { epoch, head: renew(id, folder, request, current), inbox: compactInbox(folder) }
    })
  }

  return {
    lease,
    append,
    forget(id) {
      closeHeld(id)
      for (const rootLease of held.values()) closeChild(rootLease, id)
    },
    async close() {
      await Promise.allSettled(underWay)
      for (const [id, { epoch }] of [...held]) {
        await lease(id, { owner: '', ttlMs: 0, epoch }).catch(() => {})
        closeHeld(id)
      }
    },
  }
}

function closeChild({ children }: HeldLease, id: string): void {
  const child = children.get(id)
  if (child) fs.closeSync(child.fd)
  children.delete(id)
}

function openRepaired(folder: string): LogFile {
  const log = openLog(folder)
  try {
    repairEnd(log)
    syncFolder(folder)
    return log
  } catch (error) {
    fs.closeSync(log.fd)
    throw error
  }
}

/** Repeating an append that succeeded is allowed; any other append at another head is not. */
function checkRepeated(id: string, entries: readonly LogEntry[], log: LogFile, head: number): void {
  const stored = log.head > head ? entriesOf(log) : []
  if (entries.every((entry, i) => stored[head + i]?.id === entry.id)) return
  throw new LeaseLostError(`Session ${id} has moved on to entry ${log.head}, expected ${head}`)
}

function checkNumbers(id: string, entries: readonly LogEntry[], head: number): void {
  const wrong = entries.find(({ seq }, i) => seq !== head + i + 1)
  if (wrong) throw new RangeError(`Entry ${wrong.id} of session ${id} has seq ${wrong.seq}, but ${head} are written`)
}

/** `lease.json`: the process that may write a session. Read and changed under the lock of the folder. */
interface LeaseRecord {
  readonly epoch: number
  readonly owner: string
  readonly since: number
  /** When it expires unless it is renewed; 0 once it is released. */
  readonly expires: number
  /** The duration of the last request. */
  readonly ttlMs?: number
  /** The store object that took it; only that object can write under it. */
  readonly opener: string
  readonly process?: ProcessIdentity
}

function readLease(folder: string): LeaseRecord | undefined {
  const path = join(folder, 'lease.json')
  const text = readText(path)
  if (text === undefined) return undefined
  const lease = parseObject<LeaseRecord>(text)
  if (lease && typeof lease.epoch === 'number') return lease
  // An unreadable lease excludes no process, but its writer may still live.
  return { epoch: 0, owner: '', since: 0, expires: Number.NEGATIVE_INFINITY, opener: '' }
}

/** Not synced: a power failure ends the processes that held the lease too. */
function writeLease(folder: string, lease: LeaseRecord): void {
  const text = `${JSON.stringify(lease, undefined, 2)}\n`
  const beforeRename = (): void => failpoint('jsonl.lease.beforeRename')
  replaceFile(join(folder, 'lease.json'), text, { sync: false, beforeRename })
}

/** If `expires` is further off than `ttlMs`, the clock was set back: `ttlMs` then counts from now. */
function withoutClockJump(lease: LeaseRecord, now: number): LeaseRecord {
  const latest = now + (lease.ttlMs ?? Number.POSITIVE_INFINITY)
  return lease.expires > latest ? { ...lease, expires: latest } : lease
}

/** Whether it excludes others. The lease of a dead process never does. */
function isHeld(lease: LeaseRecord, now: number): boolean {
  return lease.expires > now && mayStillWrite(lease)
}

/** Whether a process may still have the log open and write to it, such as a paused one (SIGSTOP). */
function mayStillWrite({ expires, process }: LeaseRecord): boolean {
  return expires !== 0 && (!process || isAlive(process))
}

const busy = (id: string, { owner, since }: LeaseRecord): SessionBusyError => sessionBusy(id, owner, since)
