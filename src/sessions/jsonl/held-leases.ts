import { join } from 'node:path'
import { LeaseLostError, leaseLost, type SessionBusyError, sessionBusy } from '../../core/errors.ts'
import { failpoint } from '../../core/log.ts'
import type { Fence } from '../../core/store.ts'
import { syncFolder } from '../../platform/files.ts'
import { type LeaseRecord, mayStillWrite, readLease } from './lease-file.ts'
import { refuseBeingReplaced } from './log-file.ts'
import { LogWriter } from './log-writer.ts'
import { folderNameOf, lineageBelowHolder, lineageOf, makeChildFolder } from './session-folder.ts'
import { Slots } from './slots.ts'

interface HeldLeasesOptions {
  readonly dir: string
  /** Unique for each store object. */
  readonly storeInstanceId: string
  readonly sync: boolean
}

/** A lease of this store object, and the logs it has open under it. */
export interface HeldLease {
  readonly epoch: number
  readonly log: LogWriter
  readonly children: Map<string, LogWriter>
  /** Children whose logs are being opened. */
  readonly opening: Map<string, Promise<LogWriter>>
}

/** The most logs of children that are kept open while no append uses them. */
const maxOpenChildren = 64
/** As many as Node has threads for such work. */
const maxSyncs = 4

/** The leases of a store object, with the logs of their sessions and of the children that are written under them. */
export class HeldLeases {
  readonly #dir: string
  readonly #storeInstanceId: string
  readonly #sync: boolean
  readonly #held = new Map<string, HeldLease>()
  /** Leases that were lost or given up while something was being written under them. */
  readonly #closing = new Map<string, Promise<unknown>>()
  readonly #slots = new Slots(maxSyncs)

  constructor({ dir, storeInstanceId, sync }: HeldLeasesOptions) {
    this.#dir = dir
    this.#storeInstanceId = storeInstanceId
    this.#sync = sync
  }

  get(id: string): HeldLease | undefined {
    return this.#held.get(id)
  }

  add(id: string, lease: HeldLease): void {
    this.#held.set(id, lease)
  }

  /** The epochs of all leases, by session. */
  epochs(): [id: string, epoch: number][] {
    return [...this.#held].map(([id, { epoch }]) => [id, epoch])
  }

  /** The lease that a fence names. Throws if this store no longer holds it. */
  leaseOf({ epoch }: Fence, holder: string): HeldLease {
    const lease = this.#held.get(holder)
    if (lease?.epoch !== epoch) throw this.lost(holder)
    return lease
  }

  /** Opens the log of a session whose lease is being taken. */
  open(id: string, epoch: number): HeldLease {
    const log = this.#openLog(id, () => this.#checkRoot(id, lease))
    const lease: HeldLease = { epoch, log, children: new Map(), opening: new Map() }
    return lease
  }

  #openLog(id: string, checkStillWriter: () => void): LogWriter {
    return new LogWriter({ id, folder: this.#folderOf(id), sync: this.#sync, slots: this.#slots, checkStillWriter })
  }

  /** Opens the log of a child for an append. It counts as one of the `users` of the log. */
  async openChild(id: string, fence: Fence): Promise<LogWriter> {
    const rootLease = this.leaseOf(fence, fence.holder ?? id)
    const opening = rootLease.opening.get(id) ?? this.#openChild(id, rootLease, fence)
    rootLease.opening.set(id, opening)
    try {
      const log = await opening
      log.users++
      return log
    } finally {
      rootLease.opening.delete(id)
    }
  }

  /**
   * Opens the log before checking leases. If another process takes the child after the check, it replaces the file that is
   * open here, and `isCurrent()` then notices.
   */
  async #openChild(id: string, rootLease: HeldLease, fence: Fence): Promise<LogWriter> {
    const { holder = id, parent = holder } = fence
    failpoint('jsonl.child.beforeOpen')
    const folder = await makeChildFolder(this.#dir, id, parent)
    refuseBeingReplaced(folder)
    const log = this.#openLog(id, () => this.#checkChild(id, holder, rootLease, log))
    try {
      failpoint('jsonl.child.afterOpen')
      if (!rootLease.log.isCurrent()) throw this.lost(holder)
      // Look for moved files before reading the leases. A taker does the opposite: it writes lease.json, then removes the moved
      // file. So at least one of the two is seen here.
      for (const session of lineageBelowHolder(this.#dir, id, fence)) refuseBeingReplaced(this.#folderOf(session))
      this.#refuseOtherWriters(id, fence)
      log.repairEnd()
      await syncFolder(folder)
      if (this.#held.get(holder) !== rootLease) throw this.lost(holder)
      this.#refuseOtherWriters(id, fence) // this store may have taken the child as a session of its own meanwhile
    } catch (error) {
      await log.close()
      throw error
    }
    makeRoomForChild(rootLease)
    rootLease.children.set(id, log)
    return log
  }

  #refuseOtherWriters(id: string, fence: Fence): void {
    const [other] = this.otherWriters(id, fence)
    if (other) throw busy(other.id, other.lease)
  }

  /** Leases of a child or its parents, taken by processes that opened these sessions directly and may still write. */
  otherWriters(id: string, fence: Fence): { id: string; lease: LeaseRecord }[] {
    return lineageBelowHolder(this.#dir, id, fence).flatMap((session) => {
      const lease = readLease(this.#folderOf(session))
      const isOther = lease?.storeInstanceId !== this.#storeInstanceId || this.#held.has(session)
      return lease && isOther && mayStillWrite(lease) ? [{ id: session, lease }] : []
    })
  }

  /**
   * Whether another process may still be writing to this child under the lease of an ancestor. That is ruled out if this store holds the
   * lease of the root, and no session on the way from the root to the child has a lease of its own with another writer.
   */
  mayHaveWriterUnderAncestorLease(id: string): boolean {
    const [, parent, ...above] = lineageOf(this.#dir, id)
    const holder = above.at(-1) ?? parent
    if (parent === undefined || holder === undefined) return false
    if (this.#held.get(holder)?.log.isCurrent() !== true) return true
    return this.otherWriters(id, { epoch: 0, head: 0, holder, parent }).length > 0
  }

  #checkRoot(id: string, lease: HeldLease): void {
    if (lease.log.isCurrent()) return
    const error = this.lost(id)
    if (this.#held.get(id) === lease) void this.close(id)
    throw error
  }

  #checkChild(id: string, holder: string, rootLease: HeldLease, log: LogWriter): void {
    this.#checkRoot(holder, rootLease)
    if (log.isCurrent()) return
    if (rootLease.children.get(id) === log) void closeChild(rootLease, id)
    throw new LeaseLostError(
      `Session ${id} was deleted, or another process opened it directly, not through its parent, and is writing to it`,
    )
  }

  /** The error for a lease that is no longer held; it names the new owner. */
  lost(id: string): LeaseLostError {
    const lease = readLease(this.#folderOf(id))
    const isOther =
      lease && (lease.storeInstanceId !== this.#storeInstanceId || lease.epoch !== this.#held.get(id)?.epoch)
    return leaseLost(id, isOther ? lease.owner : undefined)
  }

  /** Forgets a lease at once; resolves when its files are closed. */
  async close(id: string): Promise<void> {
    const old = this.#held.get(id)
    this.#held.delete(id)
    const logs = old ? [old.log, ...old.children.values()] : []
    const closed = Promise.all([this.#closing.get(id), ...logs.map((log) => log.close())])
    this.#closing.set(id, closed)
    await closed
    if (this.#closing.get(id) === closed) this.#closing.delete(id)
  }

  /** Closes the log of a child that is written under the lease of another session. */
  async closeAsChild(id: string): Promise<void> {
    for (const rootLease of this.#held.values()) {
      if (rootLease.opening.has(id)) await rootLease.opening.get(id)?.catch(() => {})
      if (rootLease.children.has(id)) await closeChild(rootLease, id)
    }
  }

  #folderOf(id: string): string {
    return join(this.#dir, folderNameOf(id))
  }
}

async function closeChild({ children }: HeldLease, id: string): Promise<void> {
  const child = children.get(id)
  children.delete(id)
  await child?.close()
}

/** Closes the logs of children that no append uses, those first that have been open for longest. */
function makeRoomForChild({ children, opening }: HeldLease): void {
  for (const [id, log] of children) {
    if (children.size < maxOpenChildren) return
    if (log.users > 0 || opening.has(id)) continue
    children.delete(id)
    void log.close() // at once, because nothing is being written
  }
}

export const busy = (id: string, { owner, since }: LeaseRecord): SessionBusyError => sessionBusy(id, owner, since)
