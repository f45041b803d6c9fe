import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../../core/clock.ts'
import {
  LeaseLostError,
  leaseLost,
  type SessionBusyError,
  SessionNotFoundError,
  sessionBusy,
} from '../../core/errors.ts'
import { failpoint, type InboxItem, type LogEntry } from '../../core/log.ts'
import type { Fence, Lease, LeaseRequest } from '../../core/store.ts'
import { thisProcess } from '../../platform/process-identity.ts'
import { withWriteErrors } from './file-errors.ts'
import { syncFolder } from './files.ts'
import { withFolderLock } from './folder-lock.ts'
import { compactInbox, hasNewlyDelivered, waitingMessages } from './inbox-file.ts'
import {
  isHeld,
  type LeaseRecord,
  mayStillWrite,
  readLease,
  renewLease,
  withoutClockJump,
  writeLease,
} from './lease-file.ts'
import { finishReplacing, isBeingReplaced, refuseBeingReplaced, replaceLog } from './log-file.ts'
import { LogWriter } from './log-writer.ts'
import {
  childrenOf,
  folderNameOf,
  lineageBelowHolder,
  lineageOf,
  makeChildFolder,
  makeSessionFolder,
  readMeta,
  removeTemporaryFiles,
} from './session-folder.ts'
import { Slots } from './slots.ts'
import type { Turns } from './turns.ts'

interface LeasesOptions {
  readonly dir: string
  /** Unique for each store object; `opener` in `lease.json`. */
  readonly storeInstanceId: string
  readonly clock: Clock
  readonly sync: boolean
  readonly turns: Turns
  /** Creates and checks the store before the first lease. */
  readonly prepare: () => Promise<unknown>
}

/** A lease of this store object, and the logs it has open under it. */
interface HeldLease {
  readonly epoch: number
  readonly log: LogWriter
  readonly children: Map<string, LogWriter>
  /** Children whose logs are being opened. */
  readonly opening: Map<string, Promise<LogWriter>>
}

interface Leases {
  lease(id: string, request: LeaseRequest): Promise<Lease>
  append(id: string, entries: readonly LogEntry[], fence: Fence): Promise<void>
  /** Closes the logs of a session that is about to be deleted. */
  forget(id: string): Promise<void>
  /** Waits for running operations, then releases all leases. */
  close(): Promise<void>
}

/** At most this many logs of children are open; the oldest is closed first. */
const maxOpenChildren = 64
/** As many as Node has threads for such work. */
const maxSyncs = 4

/** Takes, renews and releases leases, and appends under them. */
export function createLeases({ dir, storeInstanceId, clock, sync, turns, prepare }: LeasesOptions): Leases {
  const held = new Map<string, HeldLease>()
  /** Leases that were lost or given up while something was being written under them. */
  const closing = new Map<string, Promise<unknown>>()
  const underWay = new Set<Promise<unknown>>()
  const slots = new Slots(maxSyncs)
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
    await closeHeld(id)
    removeTemporaryFiles(folder)
    await closeAsChild(id) // the writer of its parent opens it again
    const mayHaveWriter = current && current.opener !== storeInstanceId && mayStillWrite(current)
    const wasChild = readMeta(folder)?.parent !== undefined
    if (mayHaveWriter || isBeingReplaced(folder) || (wasChild && mayBeOpenAbove(id))) await replaceTree(id)
    const epoch = (lastEpoch = Math.max(lastEpoch, current?.epoch ?? 0) + 1)
    const acquired = openRoot(id, folder, epoch)
    try {
      acquired.log.repairEnd()
      const expires = ttlMs === 0 ? 0 : now + ttlMs
      const lease = { epoch, owner, since: now, expires, ttlMs, opener: storeInstanceId, process: thisProcess() }
      writeLease(folder, lease)
      held.set(id, acquired) // at once, so that the writer of its parent sees both
      // Order: the taker writes lease.json, then removes the moved file. A reader checks the moved file, then the lease. So
      // it always sees one of them.
      await finishReplacing(folder)
      if (ttlMs === 0) await closeHeld(id)
    } catch (error) {
      await closeHeld(id)
      await acquired.log.close()
      throw error
    }
    if (wasChild || readMeta(folder)?.parent === undefined) return acquired
    return take(id, folder, request) // it became a child meanwhile, and the writer of its parent did not see this lease
  }

  /**
   * Whether another process may write a child under the lease of a session above it. That is not so if this store holds the
   * lease of the root and no session between was opened on its own.
   */
  function mayBeOpenAbove(id: string): boolean {
    const lineage = lineageOf(dir, id)
    const root = lineage.at(-1) ?? id
    if (held.get(root)?.log.isCurrent() !== true) return true
    return (
      otherWriters(id, { epoch: 0, head: 0, holder: root, ...(lineage[1] !== undefined && { parent: lineage[1] }) })
        .length > 0
    )
  }

  function openRoot(id: string, folder: string, epoch: number): HeldLease {
    const confirm = (): void => checkRoot(id, acquired)
    const log = new LogWriter({ id, folder, base: 0, sync, slots, confirm })
    const acquired: HeldLease = { epoch, log, children: new Map(), opening: new Map() }
    return acquired
  }

  /** Descendants are written under the lease of the root session, so their logs are replaced with it. */
  async function replaceTree(id: string): Promise<void> {
    await replaceLog(folderOf(id))
    for (const child of childrenOf(dir, id))
      await withFolderLock(folderOf(child), async () => {
        await replaceTree(child)
        await finishReplacing(folderOf(child))
      })
  }

  /** Extends or releases a lease under the lock of the folder. */
  async function change(id: string, folder: string, { ttlMs, epoch }: LeaseRequest): Promise<number> {
    const current = readLease(folder)
    if (current?.epoch !== epoch || current?.opener !== storeInstanceId) throw lost(id)
    const mine = held.get(id)
    if (ttlMs === 0) {
      await closeHeld(id) // what is being written is written before others may take the session
      writeLease(folder, { ...current, expires: 0 })
      return mine?.log.head ?? 0
    }
    // A process may have died while taking the session over: then the open log is no longer the current one.
    if (isBeingReplaced(folder) || mine?.log.isCurrent() === false) throw lost(id)
    const renewed = mine ?? openRoot(id, folder, current.epoch)
    if (!mine) renewed.log.repairEnd()
    held.set(id, renewed)
    writeLease(folder, { ...current, expires: clock.now() + ttlMs, ttlMs })
    return renewed.log.head
  }

  /** Extends a lease without a lock, which the writers of many sessions do often. Undefined if that is not possible. */
  function extend(id: string, folder: string, { ttlMs, epoch }: LeaseRequest): number | undefined {
    const mine = held.get(id)
    const current = readLease(folder)
    if (current?.epoch !== epoch || current?.opener !== storeInstanceId) throw lost(id)
    const expires = clock.now() + ttlMs
    if (!mine || current.ttlMs !== ttlMs || expires < current.expires) return undefined
    if (isBeingReplaced(folder) || !mine.log.isCurrent()) throw lost(id)
    renewLease(folder, expires)
    return mine.log.head
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
  async function openChild(id: string, rootLease: HeldLease, fence: Fence): Promise<LogWriter> {
    const { holder = id, parent = holder } = fence
    failpoint('jsonl.child.beforeOpen')
    const folder = await makeChildFolder(dir, id, parent)
    refuseBeingReplaced(folder)
    const confirm = (): void => checkChild(id, holder, rootLease, log)
    const log = new LogWriter({ id, folder, base: 0, sync, slots, confirm })
    try {
      failpoint('jsonl.child.afterOpen')
      if (!rootLease.log.isCurrent()) throw lost(holder)
      // Before their leases are read: see the order in `take`.
      for (const session of lineageBelowHolder(dir, id, fence)) refuseBeingReplaced(folderOf(session))
      refuseOtherWriters(id, fence)
      log.repairEnd()
      await syncFolder(folder)
      if (held.get(holder) !== rootLease) throw lost(holder)
      refuseOtherWriters(id, fence) // this store may have taken the child as a session of its own meanwhile
    } catch (error) {
      await log.close()
      throw error
    }
    if (rootLease.children.size >= maxOpenChildren) await closeChild(rootLease, idleChildOf(rootLease))
    rootLease.children.set(id, log)
    return log
  }

  function refuseOtherWriters(id: string, fence: Fence): void {
    const [other] = otherWriters(id, fence)
    if (other) throw busy(other.id, other.lease)
  }

  /** Takes a lease, which replaces the log that its old writer has open, and releases it at once (`ttlMs: 0`). */
  const fenceOff = (id: string): Promise<Lease> => lease(id, { owner: '', ttlMs: 0, create: true })

  async function append(id: string, entries: readonly LogEntry[], fence: Fence): Promise<void> {
    const { epoch, head, holder = id } = fence
    const open = held.get(holder)
    if (open?.epoch !== epoch) throw lost(holder)
    const log = holder === id ? open.log : (open.children.get(id) ?? (await openOnce(id, fence)))
    await log.append(entries, head)
  }

  async function openOnce(id: string, fence: Fence): Promise<LogWriter> {
    // A living process whose lease has expired may have the log open.
    for (const other of otherWriters(id, fence)) if (!isHeld(other.lease, clock.now())) await fenceOff(other.id)
    const { epoch, holder = id } = fence
    const rootLease = held.get(holder)
    if (rootLease?.epoch !== epoch) throw lost(holder)
    const opening = rootLease.opening.get(id) ?? openChild(id, rootLease, fence)
    rootLease.opening.set(id, opening)
    try {
      return await opening
    } finally {
      rootLease.opening.delete(id)
    }
  }

  function checkRoot(id: string, rootLease: HeldLease): void {
    if (rootLease.log.isCurrent()) return
    const error = lost(id)
    if (held.get(id) === rootLease) void closeHeld(id)
    throw error
  }

  function checkChild(id: string, holder: string, rootLease: HeldLease, log: LogWriter): void {
    checkRoot(holder, rootLease)
    if (log.isCurrent()) return
    if (rootLease.children.get(id) === log) void closeChild(rootLease, id)
    throw new LeaseLostError(`Session ${id} was deleted, or another process opened and writes it on its own`)
  }

  function lost(id: string): LeaseLostError {
    const lease = readLease(folderOf(id))
    const isOther = lease && (lease.opener !== storeInstanceId || lease.epoch !== held.get(id)?.epoch)
    return leaseLost(id, isOther ? lease.owner : undefined)
  }

  /** Forgets a lease at once; resolves when its files are closed. */
  async function closeHeld(id: string): Promise<void> {
    const old = held.get(id)
    held.delete(id)
    const logs = old ? [old.log, ...old.children.values()] : []
    const closed = Promise.all([closing.get(id), ...logs.map((log) => log.close())])
    closing.set(id, closed)
    await closed
    if (closing.get(id) === closed) closing.delete(id)
  }

  async function closeAsChild(id: string): Promise<void> {
    for (const rootLease of held.values()) {
      if (rootLease.opening.has(id)) await rootLease.opening.get(id)?.catch(() => {})
      if (rootLease.children.has(id)) await closeChild(rootLease, id)
    }
  }

  async function lease(id: string, request: LeaseRequest): Promise<Lease> {
    return tracked(takeOrRenew(id, request))
  }

  async function tracked<T>(operation: Promise<T>): Promise<T> {
    underWay.add(operation)
    try {
      return await operation
    } finally {
      underWay.delete(operation)
    }
  }

  async function takeOrRenew(id: string, request: LeaseRequest): Promise<Lease> {
    const { epoch, ttlMs, create = false } = request
    await prepare()
    if (!create && epoch === undefined && !existsSync(folderOf(id))) throw new SessionNotFoundError(id)
    if (epoch !== undefined && ttlMs > 0) {
      const head = extend(id, folderOf(id), request)
      if (head !== undefined) return { epoch, head, inbox: await inboxOf(folderOf(id)) }
    }
    await turns.next()
    if (epoch !== undefined && readLease(folderOf(id))?.epoch !== epoch) throw lost(id)
    let isNew = false
    const granted = await withFolderLock(await makeSessionFolder(dir, id), async () => {
      const folder = await makeSessionFolder(dir, id) // again: it may have been deleted while this waited
      if (epoch !== undefined)
        return { epoch, head: await change(id, folder, request), inbox: await compactInbox(folder) }
      const { epoch: newEpoch, log } = await take(id, folder, request)
      isNew = log.size === 0
      return { epoch: newEpoch, head: log.head, inbox: await compactInbox(folder) }
    })
    if (isNew) await withWriteErrors(dir, () => Promise.all([syncFolder(dir), syncFolder(folderOf(id))]))
    return granted
  }

  return {
    lease,
    append: (id, entries, fence) => tracked(append(id, entries, fence)),
    async forget(id) {
      await closeHeld(id)
      await closeAsChild(id)
    },
    async close() {
      await Promise.allSettled(underWay)
      for (const [id, { epoch }] of [...held]) {
        await lease(id, { owner: '', ttlMs: 0, epoch }).catch(() => {})
        await closeHeld(id)
      }
    },
  }
}

async function closeChild({ children }: HeldLease, id: string | undefined): Promise<void> {
  if (id === undefined) return
  const child = children.get(id)
  children.delete(id)
  await child?.close()
}

/** The inbox, which is compacted if it has messages that were delivered since. */
async function inboxOf(folder: string): Promise<readonly InboxItem[]> {
  const waiting = waitingMessages(folder)
  return hasNewlyDelivered(folder, waiting) ? withFolderLock(folder, () => compactInbox(folder)) : waiting
}

/** The child that has been open for longest, among those to which nothing is being written. */
function idleChildOf({ children }: HeldLease): string | undefined {
  for (const [id, log] of children) if (!log.isWriting) return id
  return undefined
}

const busy = (id: string, { owner, since }: LeaseRecord): SessionBusyError => sessionBusy(id, owner, since)
