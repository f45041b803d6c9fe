import { join } from 'node:path'
import type { Clock } from '../../core/clock.ts'
import { SessionNotFoundError } from '../../core/errors.ts'
import type { InboxItem, LogEntry } from '../../core/log.ts'
import type { Fence, Lease, LeaseRequest } from '../../core/store.ts'
import { syncFolder } from '../../platform/files.ts'
import { thisProcess } from '../../platform/process-identity.ts'
import { shareEntries } from './base-parts.ts'
import { putBlob } from './blob-files.ts'
import { withWriteErrors } from './file-errors.ts'
import { withFolderLock } from './folder-lock.ts'
import { busy, type HeldLease, HeldLeases } from './held-leases.ts'
import { compactInbox, hasNewlyAccepted, waitingMessages } from './inbox-file.ts'
import {
  isHeld,
  type LeaseRecord,
  mayStillWrite,
  readLease,
  renewLease,
  withoutClockJump,
  writeLease,
} from './lease-file.ts'
import { finishReplacing, isBeingReplaced, replaceLog } from './log-file.ts'
import type { LogWriter } from './log-writer.ts'
import { ProcessStates, processIdOf } from './process-states.ts'
import { isUnwritten, sessionExists } from './session-existence.ts'
import {
  childrenOf,
  deleteFolder,
  folderNameOf,
  makeSessionFolder,
  type OnDelete,
  readMeta,
  removeTemporaryFiles,
  writeBase,
} from './session-folder.ts'
import type { StartPacer } from './start-pacer.ts'
import { Aspect } from './summaries/save-rows.ts'
import type { StoreIndex } from './summaries/store-index.ts'

interface LeasesOptions {
  readonly dir: string
  /** Unique for each store object. */
  readonly storeInstanceId: string
  readonly clock: Clock
  readonly sync: boolean
  readonly pacer: StartPacer
  readonly index: StoreIndex
  /** Creates and checks the store before the first lease. */
  readonly prepare: () => Promise<unknown>
}

interface AppendInput {
  readonly entries: readonly LogEntry[]
  /** The entries as the caller gave them. */
  readonly originalEntries: readonly LogEntry[]
  /** Blobs that the entries name, which are written first. */
  readonly blobs: readonly { readonly bytes: Uint8Array }[]
}

interface Leases {
  lease(id: string, request: LeaseRequest): Promise<Lease>
  append(id: string, input: AppendInput, fence: Fence): Promise<void>
  /** Throws if there is no such session, and removes what is left of one that was never written. Requires its lock. */
  requireSession(id: string): Promise<void>
  /** Closes the logs of a session that is about to be deleted. */
  forget(id: string): Promise<void>
  /** Waits for running operations, then releases all leases. */
  close(): Promise<void>
}

/** Takes, renews and releases leases, and appends under them. */
export function createLeases({ dir, storeInstanceId, clock, sync, pacer, index, prepare }: LeasesOptions): Leases {
  const held = new HeldLeases({ dir, storeInstanceId, sync })
  /** How many operations are under way. */
  let underWay = 0
  let whenIdle: (() => void) | undefined
  let lastEpoch = 0 // over all sessions, so that a session that is deleted and created again fences off its old writer

  const folderOf = (id: string): string => join(dir, folderNameOf(id))

  /** Changes a session under the lock of its folder. The index learns of its new lease and inbox. */
  async function locked<T>(id: string, work: () => Promise<T>): Promise<T> {
    const name = folderNameOf(id)
    index.beginChange(name)
    try {
      return await withFolderLock(folderOf(id), work)
    } finally {
      index.endChange(name, Aspect.lease | Aspect.mail)
    }
  }

  function endOperation(): void {
    if (--underWay === 0) whenIdle?.()
  }

  async function lease(id: string, request: LeaseRequest): Promise<Lease> {
    const { epoch } = request
    underWay++
    try {
      return await (epoch === undefined ? takeUnderLock(id, request) : renew(id, { ...request, epoch }))
    } finally {
      endOperation()
    }
  }

  async function takeUnderLock(id: string, request: LeaseRequest): Promise<Lease> {
    await prepare()
    const { create = false } = request
    const folder = folderOf(id)
    if (!create && !sessionExists(folder, clock.now())) throw new SessionNotFoundError(id)
    await pacer.wait()
    if (create) await makeSessionFolder(dir, id)
    let isNew = false
    const granted = await locked(id, async () => {
      // Again: it may have been deleted while this waited.
      if (create) await makeSessionFolder(dir, id)
      else await requireSession(id)
      const { epoch, log, died } = await take(id, folder, request)
      isNew = log.size === 0
      return { epoch, head: log.head, inbox: await compactInbox(folder), ...(died && { died }) }
    })
    if (isNew) await withWriteErrors(dir, () => Promise.all([syncFolder(dir), syncFolder(folder)]))
    return granted
  }

  async function requireSession(id: string): Promise<void> {
    if (sessionExists(folderOf(id), clock.now())) return
    await deleteFolder(dir, folderOf(id), unindexed)
    throw new SessionNotFoundError(id)
  }

  async function take(id: string, folder: string, request: LeaseRequest): Promise<HeldLease & Pick<Lease, 'died'>> {
    const { owner, ttlMs, takeOver = false } = request
    const current = readLease(folder)
    const now = clock.now()
    if (current && current.owner !== owner && !takeOver && isHeld(current, now)) {
      const corrected = withoutClockJump(current, now)
      if (corrected !== current) writeLease(folder, corrected)
      throw busy(id, current)
    }
    const died = current && (await deathOf(current, now))
    await held.close(id)
    removeTemporaryFiles(folder)
    await held.closeAsChild(id) // the writer of its parent opens it again
    const mayHaveWriter = current && current.storeInstanceId !== storeInstanceId && mayStillWrite(current)
    const wasChild = readMeta(folder)?.parent !== undefined
    if (mayHaveWriter || isBeingReplaced(folder) || (wasChild && held.mayHaveWriterUnderAncestorLease(id)))
      await replaceTree(id)
    const epoch = (lastEpoch = Math.max(lastEpoch, current?.epoch ?? 0) + 1)
    const acquired = held.open(id, epoch)
    try {
      acquired.log.repairEnd()
      const expires = ttlMs === 0 ? 0 : now + ttlMs
      const lease = { epoch, owner, since: now, expires, ttlMs, storeInstanceId, process: thisProcess() }
      writeLease(folder, lease)
      held.add(id, acquired) // at once, so that the writer of its parent sees both
      // Order: this writes lease.json, then removes the moved file. The writer of the parent (`HeldLeases.openChild`) checks the moved file
      // first, then the lease. So it always sees one of them.
      await finishReplacing(folder)
      if (ttlMs === 0) await held.close(id)
    } catch (error) {
      await held.close(id)
      await acquired.log.close()
      throw error
    }
    if (wasChild || readMeta(folder)?.parent === undefined) return { ...acquired, ...(died && { died }) }
    // It became a child meanwhile, and the writer of its parent did not see this lease.
    return { ...(await take(id, folder, request)), ...(died && { died }) }
  }

  /** If the last holder died while it held the lease: its process, and how many sessions it had. */
  async function deathOf({ expires, process }: LeaseRecord, now: number): Promise<Lease['died']> {
    if (expires === 0 || !process) return undefined
    const state = new ProcessStates().of(process)
    if (state !== 'dead' && !(state === 'unknown' && expires <= now)) return undefined
    return { processId: processIdOf(process), sessions: await index.leasesOfDead(process) }
  }

  /** Descendants are written under the lease of the root session, so their logs are replaced too. */
  async function replaceTree(id: string): Promise<void> {
    await replaceLog(folderOf(id))
    for (const child of childrenOf(dir, id))
      await withFolderLock(folderOf(child), async () => {
        await replaceTree(child)
        await finishReplacing(folderOf(child))
      })
  }

  async function renew(id: string, request: LeaseRequest & { epoch: number }): Promise<Lease> {
    await prepare()
    const { epoch, ttlMs } = request
    const folder = folderOf(id)
    const current = readLease(folder)
    if (current?.epoch !== epoch || current.storeInstanceId !== storeInstanceId) throw held.lost(id)
    const mine = held.get(id)
    const expires = clock.now() + ttlMs
    if (!mine || current.ttlMs !== ttlMs || expires < current.expires) {
      await pacer.wait()
      return locked(id, () => renewOrReleaseUnderLock(id, folder, request))
    }
    // Without a lock and without writing, because the writers of many sessions do it often.
    refuseReplaced(id, folder, mine)
    renewLease(folder, expires)
    return { epoch, head: mine.log.head, inbox: await inboxOf(folder) }
  }

  /** Renews or releases a lease. Requires the lock of the folder. */
  async function renewOrReleaseUnderLock(
    id: string,
    folder: string,
    request: LeaseRequest & { epoch: number },
  ): Promise<Lease> {
    const { ttlMs, epoch } = request
    const current = readLease(folder)
    if (current?.epoch !== epoch || current.storeInstanceId !== storeInstanceId) throw held.lost(id)
    const mine = held.get(id)
    if (ttlMs === 0) {
      await held.close(id) // what is being written is written before others may take the session
      writeLease(folder, { ...current, expires: 0 })
      const inbox = await compactInbox(folder)
      if (inbox.length === 0 && isUnwritten(folder)) await deleteFolder(dir, folder, unindexed)
      return { epoch, head: mine?.log.head ?? 0, inbox }
    }
    refuseReplaced(id, folder, mine)
    const renewed = mine ?? held.open(id, epoch)
    if (!mine) renewed.log.repairEnd()
    held.add(id, renewed)
    writeLease(folder, { ...current, expires: clock.now() + ttlMs, ttlMs })
    return { epoch, head: renewed.log.head, inbox: await compactInbox(folder) }
  }

  /** A process may have died while taking the session over: then the open log is no longer the current one. */
  function refuseReplaced(id: string, folder: string, mine: HeldLease | undefined): void {
    if (isBeingReplaced(folder) || mine?.log.isCurrent() === false) throw held.lost(id)
  }

  function append(id: string, input: AppendInput, fence: Fence): Promise<void> {
    const { holder = id } = fence
    const lease = held.leaseOf(fence, holder)
    return holder === id ? appendTo(lease.log, id, input, fence) : appendToChild(lease, id, input, fence)
  }

  async function appendToChild(rootLease: HeldLease, id: string, input: AppendInput, fence: Fence): Promise<void> {
    underWay++
    let log = rootLease.children.get(id)
    if (log) log.users++
    try {
      log ??= await openChild(id, fence)
      await appendTo(log, id, input, fence)
    } finally {
      if (log) log.users--
      endOperation()
    }
  }

  async function appendTo(log: LogWriter, id: string, input: AppendInput, fence: Fence): Promise<void> {
    const { entries, originalEntries, blobs } = input
    const { head, parent, base } = fence
    const { name } = log
    index.beginChange(name)
    underWay++
    let aspects: number = Aspect.unknown // if it fails, it is unknown what is in the log
    try {
      if (log.isEmpty) await linkBase(log, id, fence)
      if (!index.isPrepared(name, log)) await index.prepare(name, { id, parent, log, base })
      for (const { bytes } of blobs) await putBlob(folderOf(id), bytes)
      const written = log.append(entries, head)
      const lineBytes = typeof written === 'number' ? written : await written
      const blobBytes = blobs.reduce((sum, { bytes }) => sum + bytes.length, 0)
      aspects = lineBytes > 0 ? index.append(name, { originalEntries, lineBytes, blobBytes }) : 0
    } finally {
      index.endChange(name, aspects)
      endOperation()
    }
  }

  async function openChild(id: string, fence: Fence): Promise<LogWriter> {
    // Take expired leases of other processes and release them at once (`ttlMs: 0`). Taking one replaces the log file, so a
    // process that still has the old file open can no longer write to the child.
    for (const other of held.otherWriters(id, fence))
      if (!isHeld(other.lease, clock.now())) await lease(other.id, { owner: '', ttlMs: 0, create: true })
    return held.openChild(id, fence)
  }

  /** Before the first entry: links the entries that a fork shares with its original. Any other session shares none. */
  async function linkBase(log: LogWriter, id: string, { base, head }: Fence): Promise<void> {
    if (base !== undefined) await shareEntries({ dir, id, base, head })
    else await writeBase(folderOf(id), id, []) // a process may have died before the first entry of a fork
    if (log.isEmpty) log.beginAfter(base === undefined ? 0 : head) // another append may have been first
  }

  return {
    lease,
    append,
    requireSession,
    async forget(id) {
      await held.close(id)
      await held.closeAsChild(id)
    },
    async close() {
      if (underWay > 0) await new Promise<void>((resolve) => (whenIdle = resolve))
      for (const [id, epoch] of held.epochs()) {
        await lease(id, { owner: '', ttlMs: 0, epoch }).catch(() => {})
        await held.close(id)
      }
    },
  }
}

/** A session that was never written is not in the index. */
const unindexed: OnDelete = () => () => {}

/** The inbox, which is compacted if it has messages that are in the log by now. */
async function inboxOf(folder: string): Promise<readonly InboxItem[]> {
  return hasNewlyAccepted(folder) ? withFolderLock(folder, () => compactInbox(folder)) : waitingMessages(folder)
}
