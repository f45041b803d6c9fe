import * as fs from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../../core/clock.ts'
import { LeaseLostError, leaseLost } from '../../core/errors.ts'
import type { LogEntry } from '../../core/log.ts'
import { failpoint } from '../../core/log.ts'
import type { Fence, Lease, LeaseRequest } from '../../core/store.ts'
import { thisProcess } from '../../platform/process-identity.ts'
import { withFolderLock } from './folder-lock.ts'
import { folderNameOf } from './folder-names.ts'
import { tidyInbox } from './inbox-file.ts'
import { busy, isHeld, type LeaseRecord, mayStillWrite, readLease, withoutClockJump, writeLease } from './lease-file.ts'
import {
  appendTo,
  entriesOf,
  finishReplacing,
  isBeingReplaced,
  isInPlace,
  type LogFile,
  openLog,
  refuseReplaced,
  replaceLog,
  settleLog,
} from './log-file.ts'
import { childrenOf, lineOf, makeChildFolder, makeSessionFolder, readMeta, sweep } from './session-folder.ts'
import { syncFolder } from './small-files.ts'

export interface LeasesOptions {
  readonly dir: string
  /** Names the store object among all that ever opened the folder. */
  readonly opener: string
  readonly clock: Clock
  readonly sync: boolean
}

/** A right to write that this store object has, and the logs that it holds open by it. */
interface Held {
  readonly epoch: number
  readonly log: LogFile
  readonly children: Map<string, LogFile>
}

export interface Leases {
  lease(id: string, request: LeaseRequest): Promise<Lease>
  append(id: string, entries: readonly LogEntry[], fence: Fence): Promise<void>
  /** Lets go of what was held open of a session that is about to be deleted. */
  forget(id: string): void
  /** Waits for what is under way, then gives everything back. */
  close(): Promise<void>
}

/** In milliseconds. */
const aMoment = 2

/** So many logs of children are held open at most; one more closes the one that was opened first. */
const mostChildren = 64

/** Takes, renews and gives back the right to write, and writes by it. */
export function createLeases({ dir, opener, clock, sync }: LeasesOptions): Leases {
  const held = new Map<string, Held>()
  const underWay = new Set<Promise<unknown>>()
  let lastEpoch = 0 // over all sessions, so that one deleted and made anew fences off its old writer

  const folderOf = (id: string): string => join(dir, folderNameOf(id))

  async function take(id: string, folder: string, request: LeaseRequest): Promise<Held> {
    const { owner, ttlMs, takeOver = false } = request
    const current = readLease(folder)
    const now = clock.now()
    if (current && current.owner !== owner && !takeOver && isHeld(current, now)) {
      const corrected = withoutClockJump(current, now)
      if (corrected !== current) writeLease(folder, corrected)
      throw busy(id, current)
    }
    letGo(id)
    sweep(folder)
    for (const top of held.values()) closeChild(top, id) // its parent's writer opens it anew
    const isRisky = current && current.opener !== opener && mayStillWrite(current)
    // A child may also be held open by the writer of its parent.
    const isChild = readMeta(folder)?.parent !== undefined
    if (isRisky || isBeingReplaced(folder) || isChild) await replaceFamily(id)
    const epoch = Math.max(lastEpoch, current?.epoch ?? 0) + 1
    const log = openSettled(folder)
    try {
      const expires = ttlMs === 0 ? 0 : now + ttlMs
      writeLease(folder, { epoch, owner, since: now, expires, ttlMs, opener, process: thisProcess() })
      finishReplacing(folder) // last: who finds nothing moved aside finds the lease
    } catch (error) {
      fs.closeSync(log.fd)
      throw error
    }
    lastEpoch = epoch
    if (!isChild && readMeta(folder)?.parent !== undefined) {
      fs.closeSync(log.fd) // it became one meanwhile, and whoever made it did not see our lease
      return take(id, folder, request)
    }
    const taken: Held = { epoch, log, children: new Map() }
    if (ttlMs === 0) fs.closeSync(log.fd)
    else held.set(id, taken)
    return taken
  }

  /** Children are written under the lease of the session at the top, so they are fenced with it. */
  async function replaceFamily(id: string): Promise<void> {
    replaceLog(folderOf(id))
    for (const child of childrenOf(dir, id))
      await withFolderLock(folderOf(child), async () => {
        await replaceFamily(child)
        finishReplacing(folderOf(child))
      })
  }

  function renew(id: string, folder: string, { ttlMs }: LeaseRequest, current: LeaseRecord): number {
    const mine = held.get(id)
    // Somebody was about to take over and died in it: the log is no longer the one that we would write to.
    const isMoved = isBeingReplaced(folder) || (mine !== undefined && !isInPlace(mine.log))
    if (ttlMs === 0) {
      writeLease(folder, { ...current, expires: 0 })
      letGo(id)
      return mine?.log.head ?? 0
    }
    if (isMoved) throw lost(id)
    const renewed = mine ?? { epoch: current.epoch, log: openSettled(folder), children: new Map() }
    held.set(id, renewed)
    writeLease(folder, { ...current, expires: clock.now() + ttlMs, ttlMs })
    return renewed.log.head
  }

  /** Whoever wrote a child, or one above it, as a session of its own, and may go on with it. */
  function rivalsOf(id: string, fence: Fence): { id: string; lease: LeaseRecord }[] {
    return lineOf(dir, id, fence).flatMap((one) => {
      const lease = readLease(folderOf(one))
      const isTheirs = lease?.opener !== opener || held.has(one)
      return lease && isTheirs && mayStillWrite(lease) ? [{ id: one, lease }] : []
    })
  }

  /** The log of a child. Its file is open before any lease is looked at, so a later taker finds and replaces it. */
  function openChild(id: string, top: Held, fence: Fence): LogFile {
    const { holder = id, parent = holder } = fence
    failpoint('jsonl.child.beforeOpen')
    const folder = makeChildFolder(dir, id, parent)
    refuseReplaced(folder)
    const log = openLog(folder)
    try {
      failpoint('jsonl.child.afterOpen')
      if (!isInPlace(top.log)) throw lost(holder)
      for (const one of lineOf(dir, id, fence)) refuseReplaced(folderOf(one)) // before their leases, see take
      const [rival] = rivalsOf(id, fence)
      if (rival) throw busy(rival.id, rival.lease)
      settleLog(log)
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
    // One who is silent and lives may hold the log open: taking it from him puts a copy in its place.
    for (const rival of isNew ? rivalsOf(id, fence) : [])
      if (!isHeld(rival.lease, clock.now())) await lease(rival.id, { owner: '', ttlMs: 0 })
    const top = held.get(holder)
    if (top?.epoch !== epoch) throw lost(holder)
    const log = holder === id ? top.log : (top.children.get(id) ?? openChild(id, top, fence))
    if (log.head !== head) checkRepeated(id, entries, log, head)
    if (log.head !== head || entries.length === 0) return
    checkNumbers(id, entries, head)
    // What counts is the look after the write. This one keeps a writer that slept from adding to a log that a taker
    // moved before he died; one that looked a moment ago need not look again.
    if (performance.now() - log.seenAt > aMoment) checkPlace(id, holder, top, log)
    appendTo(log, entries, { sync })
    checkPlace(id, holder, top, log)
    log.seenAt = performance.now()
  }

  function checkPlace(id: string, holder: string, top: Held, log: LogFile): void {
    if (!isInPlace(top.log)) {
      const error = lost(holder)
      letGo(holder)
      throw error
    }
    if (log === top.log || isInPlace(log)) return
    closeChild(top, id)
    throw new LeaseLostError(`Session ${id} was deleted, or is written by somebody else as a session of its own`)
  }

  function lost(id: string): LeaseLostError {
    const lease = readLease(folderOf(id))
    const isTheirs = lease && (lease.opener !== opener || lease.epoch !== held.get(id)?.epoch)
    return leaseLost(id, isTheirs ? lease.owner : undefined)
  }

  function letGo(id: string): boolean {
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
      const folder = makeSessionFolder(dir, id) // once more: it may have been deleted while we waited
      const current = readLease(folder)
      if (epoch === undefined) {
        const taken = await take(id, folder, request)
        return { epoch: taken.epoch, head: taken.log.head, inbox: tidyInbox(folder) }
      }
      if (current?.epoch !== epoch || current.opener !== opener) throw lost(id)
      return { epoch, head: renew(id, folder, request, current), inbox: tidyInbox(folder) }
    })
  }

  return {
    lease,
    append,
    forget(id) {
      letGo(id)
      for (const top of held.values()) closeChild(top, id)
    },
    async close() {
      await Promise.allSettled(underWay)
      for (const [id, { epoch }] of [...held]) {
        await lease(id, { owner: '', ttlMs: 0, epoch }).catch(() => {})
        letGo(id)
      }
    },
  }
}

function closeChild({ children }: Held, id: string): void {
  const child = children.get(id)
  if (child) fs.closeSync(child.fd)
  children.delete(id)
}

function openSettled(folder: string): LogFile {
  const log = openLog(folder)
  try {
    settleLog(log)
    syncFolder(folder)
    return log
  } catch (error) {
    fs.closeSync(log.fd)
    throw error
  }
}

/** Repeating an append that did happen is fine; anything else at another head is not. */
function checkRepeated(id: string, entries: readonly LogEntry[], log: LogFile, head: number): void {
  const there = log.head > head ? entriesOf(log) : []
  if (entries.every((entry, i) => there[head + i]?.id === entry.id)) return
  throw new LeaseLostError(`Session ${id} has moved on to entry ${log.head}, expected ${head}`)
}

function checkNumbers(id: string, entries: readonly LogEntry[], head: number): void {
  const wrong = entries.find(({ seq }, i) => seq !== head + i + 1)
  if (wrong) throw new RangeError(`Entry ${wrong.id} of session ${id} has seq ${wrong.seq}, but ${head} are written`)
}
