import { type Clock, createIds } from '../../core/clock.ts'
import { type LeaseLostError, leaseLost, SessionBusyError, SessionNotFoundError } from '../../core/errors.ts'
import { type EntryBody, type InboxItem, Log, type LogEntry } from '../../core/log.ts'
import type { SessionStore } from '../../core/store.ts'
import { inboxOf } from '../../sessions/pending.ts'
import { openSession } from '../../sessions/session.ts'
import { WriteLease } from '../../sessions/write-lease.ts'
import { type Checkpoint, readCheckpoint, ScheduleLedger, schedulesLogId } from './schedule-ledger.ts'

interface ScheduleLogOptions {
  readonly store: SessionStore
  readonly reader: ScheduleReader
  readonly clock: Clock
  readonly leaseMs: number
}

/** The log of the schedules, with the lease to write it. */
export interface ScheduleLog {
  /** A write failed, so the content of the store is unknown: the log must be opened again. */
  readonly isBroken: boolean
  append(entry: EntryBody): Promise<void>
  subscribe(listener: (entry: LogEntry) => void): () => void
  /** Moves changes from the inbox into the log, until `signal` aborts. */
  listen(signal: AbortSignal, onLost: (error: LeaseLostError) => void): Promise<void>
  /** Gives the lease back when all is written. May be called twice. */
  release(): Promise<void>
}

const firstEntry: EntryBody = { type: 'details', kind: 'schedules' }

/** Sends a change to the process that writes the log. Creates the log if there is none. */
export async function sendChange(store: SessionStore, item: InboxItem): Promise<void> {
  try {
    await store.send(schedulesLogId, item)
  } catch (error) {
    if (!(error instanceof SessionNotFoundError)) throw error
    await createLog(store)
    await store.send(schedulesLogId, item)
  }
}

async function createLog(store: SessionStore): Promise<void> {
  const log = await openSession(store, schedulesLogId, { kind: 'schedules' })
  await log.save().catch((error) => {
    if (!(error instanceof SessionBusyError)) throw error // another process creates it
  })
}

/**
 * Takes the lease of the log, and moves waiting changes into it; rejects if another process has the lease. A session would
 * read the whole log; here the reader has its state, and only later entries are read.
 */
export async function openScheduleLog({ store, reader, clock, leaseMs }: ScheduleLogOptions): Promise<ScheduleLog> {
  const newId = createIds()
  const owner = `scheduler#${newId()}`
  let log: Log | undefined
  const admitAll = (inbox: readonly InboxItem[]): void => {
    // Without this, messages would be lost if watching the store has failed.
    for (const item of inbox) log?.accept(item)?.catch(() => {})
  }
  const lease = new WriteLease({ store, owner, ttlMs: leaseMs, clock, onRenewed: admitAll })

  async function commit(entries: readonly LogEntry[]): Promise<void> {
    const { epoch } = lease
    if (epoch === undefined) throw leaseLost(schedulesLogId)
    await store.append(schedulesLogId, entries, { epoch, head: entries[0]!.seq - 1 })
  }

  async function release(): Promise<void> {
    while (log?.isWriting) await log.flushed()
    await lease.release()
  }

  try {
    const { inbox } = await lease.take(schedulesLogId, { create: true })
    await reader.catchUp()
    const opened = new Log({ id: schedulesLogId, clock, newId, after: reader.head, commit })
    if (opened.head === 0) await opened.append(firstEntry)
    for (const item of inbox) await opened.accept(item)
    log = opened
    return {
      get isBroken() {
        return opened.isBroken
      },
      append: async (entry) => opened.append(entry),
      subscribe: (listener) => opened.subscribe(listener),
      async listen(signal, onLost) {
        lease.onLost = onLost
        for await (const { inbox: sent } of store.watch(schedulesLogId, {
          after: opened.head,
          signal,
          inboxOnly: true,
        })) {
          if (signal.aborted) return
          for (const item of sent) await opened.accept(item)
        }
      },
      release,
    }
  } catch (error) {
    await release()
    throw error
  }
}

/** How many of the last entries are searched for a checkpoint, and the factor for the next search. */
const firstSearch = 2500
const searchFactor = 8

/** Reads the schedules of a store: each entry of their log once, and of a long log only the end. */
export class ScheduleReader {
  ledger = new ScheduleLedger()
  /** The `upTo` of the last checkpoint; 0 without one. */
  checkpoint = 0
  readonly #store: SessionStore
  #last: Pick<LogEntry, 'seq' | 'id'> = { seq: 0, id: '' }
  #wasEmpty = false
  #reading: Promise<unknown> = Promise.resolve()

  constructor(store: SessionStore) {
    this.#store = store
  }

  /** The number of the last entry that was read. */
  get head(): number {
    return this.#last.seq
  }

  /** The schedules of the log. */
  catchUp(): Promise<ScheduleLedger> {
    return this.#serially(() => this.#readOn())
  }

  /** The schedules of the log, with the changes that wait in the inbox. */
  current(): Promise<ScheduleLedger> {
    return this.#serially(async () => {
      await this.#readOn()
      if (this.#last.seq === 0) return new ScheduleLedger(this.ledger)
      const inbox = await inboxOf(this.#store, schedulesLogId, this.#last.seq)
      // Finds changes that moved from the inbox into the log meanwhile.
      const current = new ScheduleLedger(await this.#readOn())
      for (const item of inbox) current.applyMessage(item)
      return current
    })
  }

  /** Applies an entry that was just written, and returns the id of the schedule that changed. */
  take(entry: LogEntry): string | undefined {
    if (entry.seq !== this.#last.seq + 1) return undefined // already read, or read later
    this.#last = { seq: entry.seq, id: entry.id }
    this.checkpoint = readCheckpoint(entry)?.upTo ?? this.checkpoint
    return this.ledger.apply(entry)
  }

  async #readOn(): Promise<ScheduleLedger> {
    const { seq, id } = this.#last
    if (seq === 0) return this.#begin()
    const entries = await this.#store.read(schedulesLogId, { after: seq - 1 })
    // The log was deleted and created again.
    if (entries[0]?.id !== id) return this.#begin()
    for (const entry of entries) this.take(entry)
    return this.ledger
  }

  /** Reads from the last checkpoint, or from the beginning. */
  async #begin(): Promise<ScheduleLedger> {
    // A log that was empty before is short.
    const head = this.#wasEmpty ? 0 : await this.#findHead()
    for (let count = firstSearch; count < head; count *= searchFactor) {
      const after = head - count
      const entries = await this.#store.read(schedulesLogId, { after })
      const found = entries.map(readCheckpoint).findLast((one) => one !== undefined)
      // The entries between the two are needed as well.
      if (found && found.upTo >= after) return this.#startFrom(found, entries)
    }
    return this.#startFrom({ upTo: 0, kept: [] }, await this.#store.read(schedulesLogId))
  }

  #startFrom({ upTo, kept }: Checkpoint, entries: readonly LogEntry[]): ScheduleLedger {
    const before = entries.filter(({ seq }) => seq <= upTo)
    const last = before.at(-1)
    this.ledger = ScheduleLedger.of(kept, before)
    this.checkpoint = upTo
    this.#last = { seq: upTo, id: last?.id ?? '' }
    this.#wasEmpty = entries.length === 0
    for (const entry of entries.slice(before.length)) this.take(entry)
    return this.ledger
  }

  async #findHead(): Promise<number> {
    return (await this.#store.find(schedulesLogId))?.head ?? 0
  }

  #serially<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#reading.then(work)
    this.#reading = result.catch(() => {})
    return result
  }
}
