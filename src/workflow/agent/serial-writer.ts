import type { Clock } from '../../core/clock.ts'
import { SessionBusyError } from '../../core/errors.ts'
import type { EntryBody } from '../../core/log.ts'
import type { Session } from '../../core/store.ts'
import { sleep } from '../../core/waiting.ts'

/** How long, and how often, an append is tried again while another process holds the lease: that may be a short append. */
const retryForMs = 2000
const retryEveryMs = 100

/** Appends to a log outside of runs, one after the other: a session has one writer at a time, in this process too. */
export class SerialWriter {
  readonly #session: Session
  readonly #clock: Clock
  #last: Promise<unknown> = Promise.resolve()

  constructor(session: Session, clock: Clock) {
    this.#session = session
    this.#clock = clock
  }

  /** Resolves when all work so far is done; a run waits for that before it begins. */
  get idle(): Promise<unknown> {
    return this.#last
  }

  append(...entries: readonly EntryBody[]): Promise<void> {
    const add = (): Promise<void> | void => (entries.length > 0 ? this.#session.log.append(...entries) : undefined)
    return this.exclusively(() => this.#retryWhileBusy(() => this.withLease(add)))
  }

  async #retryWhileBusy(work: () => Promise<void>): Promise<void> {
    const until = this.#clock.now() + retryForMs
    for (;;) {
      try {
        return await work()
      } catch (error) {
        if (!(error instanceof SessionBusyError) || this.#clock.now() >= until) throw error
        await sleep(retryEveryMs, { clock: this.#clock })
      }
    }
  }

  /** Runs work after all earlier work, and before all later work. */
  exclusively<Result>(work: () => Promise<Result>): Promise<Result> {
    const working = this.#last.then(work)
    this.#last = working.catch(() => {})
    return working
  }

  /** Runs work with the lease of the session. Taking the lease moves messages from the store into the log. */
  async withLease<Result>(work: () => Promise<Result> | Result): Promise<Result> {
    await this.#session.open()
    try {
      return await work()
    } finally {
      await this.#session.release()
    }
  }
}
