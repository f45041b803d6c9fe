import type { InboxItem, LogEntry } from '../../core/log.ts'
import type { SessionStore } from '../../core/store.ts'
import { greeting, schedulesLogId } from './schedule-change.ts'
import { ScheduleLedger } from './schedule-ledger.ts'

/** Reads the schedules of a store, each entry of their log once. */
export class ScheduleReader {
  ledger = new ScheduleLedger()
  readonly #store: SessionStore
  #last: Pick<LogEntry, 'seq' | 'id'> = { seq: 0, id: '' }
  #reading: Promise<unknown> = Promise.resolve()

  constructor(store: SessionStore) {
    this.#store = store
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
      const inbox = await this.#waiting()
      // What went from the inbox into the log meanwhile is found here, so that nothing falls between the two.
      const current = new ScheduleLedger(await this.#readOn())
      for (const item of inbox) current.hear(item)
      return current
    })
  }

  /** An entry that was just written. Says which schedule it changed. */
  take(entry: LogEntry): string | undefined {
    if (entry.seq !== this.#last.seq + 1) return undefined // read already, or it will be
    this.#last = { seq: entry.seq, id: entry.id }
    return this.ledger.apply(entry)
  }

  async #readOn(): Promise<ScheduleLedger> {
    const { seq, id } = this.#last
    const entries = await this.#store.read(schedulesLogId, Math.max(0, seq - 1))
    if (seq > 0 && entries[0]?.id !== id) return this.#startOver()
    for (const entry of entries) this.take(entry)
    return this.ledger
  }

  /** The log is another one than before: somebody has deleted it. */
  async #startOver(): Promise<ScheduleLedger> {
    this.ledger = new ScheduleLedger()
    this.#last = { seq: 0, id: '' }
    for (const entry of await this.#store.read(schedulesLogId)) this.take(entry)
    return this.ledger
  }

  /** A watch begins with what is there: the last entry at least, so that it does not wait. */
  async #waiting(): Promise<readonly InboxItem[]> {
    const stop = new AbortController()
    const options = { after: Math.max(0, this.#last.seq - 1), signal: stop.signal }
    try {
      for await (const { inbox } of this.#store.watch(schedulesLogId, options)) return inbox
      return []
    } finally {
      stop.abort()
    }
  }

  #oneByOne<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#reading.then(work)
    this.#reading = result.catch(() => {})
    return result
  }
}
