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
  /** Identifies the store object among all that ever opened the folder. */
  readonly opener: string
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
const mostChildren = 64

/** Takes, renews and releases leases, and appends under them. */
export function createLeases({ dir, opener, clock, sync }: LeasesOptions): Leases {
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
    for (const top of held.values()) closeChild(top, id) // the writer of its parent opens it again
    const mayHaveWriter = current && current.opener !== opener && mayStillWrite(current)
    // A child may also be open in the writer of its parent.
    const isChild = readMeta(folder)?.parent !== undefined
    if (mayHaveWriter || isBeingReplaced(folder) || isChild) await replaceTree(id)
    const epoch = Math.max(lastEpoch, current?.epoch ?? 0) + 1
    const log = openRepaired(folder)
    try {
      const expires = ttlMs === 0 ? 0 : now + ttlMs
      writeLease(folder, { epoch, owner, since: now, expires, ttlMs, opener, process: thisProcess() })
      finishReplacing(folder) // last: a process that finds no moved file finds the lease
    } catch (error) {
      fs.closeSync(log.fd)
      throw error
    }
    lastEpoch = epoch
    if (!isChild && readMeta(folder)?.parent !== undefined) {
      fs.closeSync(log.fd) // it became a child meanwhile, and the writer of its parent did not see this lease
      return take(id, folder, request)
    }
    const taken: HeldLease = { epoch, log, children: new Map() }
    if (ttlMs === 0) fs.closeSync(log.fd)
    else held.set(id, taken)
    return taken
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
    const isMoved = isBeingReplaced(folder) || (mine !== undefined && !isCurrent(mine.log))
    if (ttlMs === 0) {
      writeLease(folder, { ...current, expires: 0 })
      closeHeld(id)
      return mine?.log.head ?? 0
    }
    if (isMoved) throw lost(id)
    const renewed = mine ?? { epoch: current.epoch, log: openRepaired(folder), children: new Map() }
    held.set(id, renewed)
    writeLease(folder, { ...current, expires: clock.now() + ttlMs, ttlMs })
    return renewed.log.head
  }

  /** Leases of a child or its parents, taken by processes that opened them on their own and may still write. */
  function otherWriters(id: string, fence: Fence): { id: string; lease: LeaseRecord }[] {
    return lineageBelowHolder(dir, id, fence).flatMap((one) => {
      const lease = readLease(folderOf(one))
      const isOther = lease?.opener !== opener || held.has(one)
      return lease && isOther && mayStillWrite(lease) ? [{ id: one, lease }] : []
    })
  }

  /** Opens the log of a child. It is opened before any lease is checked, so that a later process that takes the child replaces it. */
  function openChild(id: string, top: HeldLease, fence: Fence): LogFile {
    const { holder = id, parent = holder } = fence
    failpoint('jsonl.child.beforeOpen')
    const folder = makeChildFolder(dir, id, parent)
    refuseBeingReplaced(folder)
    const log = openLog(folder)
    try {
      failpoint('jsonl.child.afterOpen')
      if (!isCurrent(top.log)) throw lost(holder)
      for (const one of lineageBelowHolder(dir, id, fence)) refuseBeingReplaced(folderOf(one)) // before their leases, see take
      const [other] = otherWriters(id, fence)
      if (other) throw busy(other.id, other.lease)
      repairEnd(log)
      syncFolder(folder)
    } catch (error) {
      fs.closeSync(log.fd)
      throw error
    }
    const [oldest] = top.children.keys()
    if (oldest !== undefined && top.children.size >= mostChildren) closeChild(top, oldest)
    top.children.set(id, log)
    return log
  }

  async function append(id: string, entries: readonly LogEntry[], fence: Fence): Promise<void> {
    const { epoch, head, holder = id } = fence
    const isNew = holder !== id && held.get(holder)?.children.has(id) === false
    // A living process whose lease has expired may have the log open: taking the lease replaces the log by a copy.
    for (const other of isNew ? otherWriters(id, fence) : [])
      if (!isHeld(other.lease, clock.now())) await lease(other.id, { owner: '', ttlMs: 0 })
    const top = held.get(holder)
    if (top?.epoch !== epoch) throw lost(holder)
    const log = holder === id ? top.log : (top.children.get(id) ?? openChild(id, top, fence))
    if (log.head !== head) checkRepeated(id, entries, log, head)
    if (log.head !== head || entries.length === 0) return
    checkNumbers(id, entries, head)
    // The check after the write decides. This one keeps a writer that was suspended from appending to a log that a dead
    // process had moved. It is skipped right after another check.
    if (performance.now() - log.checkedAt > recheckAfterMs) checkCurrent(id, holder, top, log)
    appendTo(log, entries, { sync })
    checkCurrent(id, holder, top, log)
    log.checkedAt = performance.now()
  }

  function checkCurrent(id: string, holder: string, top: HeldLease, log: LogFile): void {
    if (!isCurrent(top.log)) {
      const error = lost(holder)
      closeHeld(holder)
      throw error
    }
    if (log === top.log || isCurrent(log)) return
    closeChild(top, id)
    throw new LeaseLostError(`Session ${id} was deleted, or another process opened and writes it on its own`)
  }

  function lost(id: string): LeaseLostError {
    const lease = readLease(folderOf(id))
    const isOther = lease && (lease.opener !== opener || lease.epoch !== held.get(id)?.epoch)
    return leaseLost(id, isOther ? lease.owner : undefined)
  }

  function closeHeld(id: string): boolean {
    const old = held.get(id)
    if (!old) return false
    for (const { fd } of [old.log, ...old.children.values()]) fs.closeSync(fd)
    return held.delete(id)
  }

  async function lease(id: string, request: LeaseRequest): Promise<Lease> {
    const turn = takeOrRenew(id, request)
    underWay.add(turn)
    try {
      return await turn
    } finally {
      underWay.delete(turn)
    }
  }

  async function takeOrRenew(id: string, request: LeaseRequest): Promise<Lease> {
    const { epoch } = request
    if (epoch !== undefined && readLease(folderOf(id))?.epoch !== epoch) throw lost(id)
    return withFolderLock(makeSessionFolder(dir, id), async () => {
      const folder = makeSessionFolder(dir, id) // again: it may have been deleted while this waited
      const current = readLease(folder)
      if (epoch === undefined) {
        const taken = await take(id, folder, request)
        return { epoch: taken.epoch, head: taken.log.head, inbox: compactInbox(folder) }
      }
      if (current?.epoch !== epoch || current.opener !== opener) throw lost(id)
      return { epoch, head: renew(id, folder, request, current), inbox: compactInbox(folder) }
    })
  }

  return {
    lease,
    append,
    forget(id) {
      closeHeld(id)
      for (const top of held.values()) closeChild(top, id)
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
  const there = log.head > head ? entriesOf(log) : []
  if (entries.every((entry, i) => there[head + i]?.id === entry.id)) return
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

/** A lease that ends later than possible was written before the clock was set back: its duration then counts from now on. */
function withoutClockJump(lease: LeaseRecord, now: number): LeaseRecord {
  const latest = now + (lease.ttlMs ?? Number.POSITIVE_INFINITY)
  return lease.expires > latest ? { ...lease, expires: latest } : lease
}

/** Whether it excludes others. The lease of a dead process never does. */
function isHeld(lease: LeaseRecord, now: number): boolean {
  return lease.expires > now && mayStillWrite(lease)
}

/** Whether a process may still have the log open and write to it, such as a suspended one. */
function mayStillWrite({ expires, process }: LeaseRecord): boolean {
  return expires !== 0 && (!process || isAlive(process))
}

const busy = (id: string, { owner, since }: LeaseRecord): SessionBusyError => sessionBusy(id, owner, since)
