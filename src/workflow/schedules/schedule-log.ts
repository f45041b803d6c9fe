import { type Clock, createIds } from '../../core/clock.ts'
import { type LeaseLostError, leaseLost } from '../../core/errors.ts'
import { type EntryBody, type InboxItem, Log, type LogEntry } from '../../core/log.ts'
import type { SessionStore } from '../../core/store.ts'
import { inboxOf } from '../../sessions/pending.ts'
import { withSpill } from '../../sessions/spill.ts'
import { WriteLease } from '../../sessions/write-lease.ts'
import { type Checkpoint, greeting, readCheckpoint, ScheduleLedger, schedulesLogId } from './schedule-ledger.ts'

interface ScheduleLogOptions {
  readonly store: SessionStore
  readonly reader: ScheduleReader
  readonly clock: Clock
  readonly leaseMs: number
}

/** The log of the schedules, in the hands of the one who may write it. */
export interface ScheduleLog {
  /** A write failed, so what the store holds is unknown: it has to be opened anew. */
  readonly isBroken: boolean
  append(entry: EntryBody): Promise<void>
  subscribe(listener: (entry: LogEntry) => void): () => void
  /** Moves changes that others sent into the log, until `signal` says stop. */
  listen(signal: AbortSignal, onLost: (error: LeaseLostError) => void): Promise<void>
  /** Gives the right to write back, when all is written. Doing it twice is harmless. */
  release(): Promise<void>
}

/**
 * Takes the right to write the log, and lets in what waits; rejects where somebody else has it. A session would read
 * all that was ever written; here the reader knows what that amounts to, and only what follows is gone through.
 */
export async function openScheduleLog({ store, reader, clock, leaseMs }: ScheduleLogOptions): Promise<ScheduleLog> {
  const newId = createIds()
  const spilling = withSpill(store)
  const owner = `scheduler#${newId()}`
  let log: Log | undefined
  const hear = (inbox: readonly InboxItem[]): void => {
    // Messages arrive late, but they do, where watching the store has failed.
    for (const item of inbox) log?.admit(item)?.catch(() => {})
  }
  const lease = new WriteLease({ store, owner, ttlMs: leaseMs, clock, onRenewed: hear })

  async function commit(entries: readonly LogEntry[]): Promise<void> {
    const { epoch } = lease
    if (epoch === undefined) throw leaseLost(schedulesLogId)
    await spilling.append(schedulesLogId, entries, { epoch, head: entries[0]!.seq - 1 })
  }

  async function release(): Promise<void> {
    while (log?.isWriting) await log.flushed()
    await lease.release()
  }

  try {
    const inbox = await lease.take(schedulesLogId, false)
    await reader.catchUp()
    const opened = new Log({ id: schedulesLogId, clock, newId, after: reader.head, commit })
    for (const item of inbox) await opened.admit(item)
    log = opened
    return {
      get isBroken() {
        return opened.isBroken
      },
      append: async (entry) => opened.append(entry),
      subscribe: (listener) => opened.subscribe(listener),
      async listen(signal, onLost) {
        lease.onLost = onLost
        for await (const { inbox: sent } of store.watch(schedulesLogId, { after: opened.head, signal })) {
          if (signal.aborted) return
          for (const item of sent) await opened.admit(item)
        }
      },
      release,
    }
  } catch (error) {
    await release()
    throw error
  }
}

/** How many entries are looked at first for a checkpoint, and how many times as many next. */
const firstLook = 2500
const lookFurther = 8

/** Reads the schedules of a store, each entry of their log once, and of a long log only the end. */
export class ScheduleReader {
  ledger = new ScheduleLedger()
  /** Up to which entry the last checkpoint goes; 0 where there is none. */
  checkpoint = 0
  readonly #store: SessionStore
  #last: Pick<LogEntry, 'seq' | 'id'> = { seq: 0, id: '' }
  #wasEmpty = false
  #reading: Promise<unknown> = Promise.resolve()

  constructor(store: SessionStore) {
    this.#store = withSpill(store) // a checkpoint may be large
  }

  /** The number of the last entry it knows. */
  get head(): number {
    return this.#last.seq
  }

  /** What the log says. */
  catchUp(): Promise<ScheduleLedger> {
    return this.#oneByOne(() => this.#readOn())
  }

  /** What the log says, and what still waits to be written into it. */
  current(): Promise<ScheduleLedger> {
    return this.#oneByOne(async () => {
      await this.#readOn()
      if (this.#last.seq === 0) await this.#store.send(schedulesLogId, greeting)
      const inbox = await inboxOf(this.#store, schedulesLogId, this.#last.seq)
      // What went from the inbox into the log meanwhile is found here, so that nothing falls between the two.
      const current = new ScheduleLedger(await this.#readOn())
      for (const item of inbox) current.applyMessage(item)
      return current
    })
  }

  /** An entry that was just written. Says which schedule it changed. */
  take(entry: LogEntry): string | undefined {
    if (entry.seq !== this.#last.seq + 1) return undefined // read already, or it will be
    this.#last = { seq: entry.seq, id: entry.id }
    this.checkpoint = readCheckpoint(entry)?.upTo ?? this.checkpoint
    return this.ledger.apply(entry)
  }

  async #readOn(): Promise<ScheduleLedger> {
    const { seq, id } = this.#last
    if (seq === 0) return this.#begin()
    const entries = await this.#store.read(schedulesLogId, seq - 1)
    // The log is another one than before: somebody has deleted it.
    if (entries[0]?.id !== id) return this.#begin()
    for (const entry of entries) this.take(entry)
    return this.ledger
  }

  /** From the last checkpoint on; from the beginning where there is none. */
  async #begin(): Promise<ScheduleLedger> {
    // One that was empty a moment ago is short.
    const head = this.#wasEmpty ? 0 : await this.#findHead()
    for (let look = firstLook; look < head; look *= lookFurther) {
      const after = head - look
      const entries = await this.#store.read(schedulesLogId, after)
      const found = entries.map(readCheckpoint).findLast((one) => one !== undefined)
      // What was written between the two is needed as well.
      if (found && found.upTo >= after) return this.#goOnFrom(found, entries)
    }
    return this.#goOnFrom({ upTo: 0, kept: [] }, await this.#store.read(schedulesLogId))
  }

  #goOnFrom({ upTo, kept }: Checkpoint, entries: readonly LogEntry[]): ScheduleLedger {
    const before = entries.filter(({ seq }) => seq <= upTo)
    const last = before.at(-1)
    this.ledger = ScheduleLedger.of(kept, before)
    this.checkpoint = upTo
    this.#last = { seq: upTo, id: last?.id ?? '' }
    this.#wasEmpty = entries.length === 0
    for (const entry of entries.slice(before.length)) this.take(entry)
    return this.ledger
  }

  /** How long the log is. Only a list of all sessions tells that without reading it. */
  async #findHead(): Promise<number> {
    const sessions = await this.#store.list()
    return sessions.find(({ id }) => id === schedulesLogId)?.head ?? 0
  }

  #oneByOne<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#reading.then(work)
    this.#reading = result.catch(() => {})
    return result
  }
}
