import type { Clock } from '../../core/clock.ts'
import { SessionBusyError } from '../../core/errors.ts'
import type { EntryBody } from '../../core/log.ts'
import type { Session } from '../../core/store.ts'

/** How long, and how often, one is tried where another process writes: it may only be adding something, too. */
const patienceMs = 2000
const pauseMs = 100

/** Additions to a log outside of runs: one after the other, for there is one writer at a time, in this process too. */
export class OneWriter {
  readonly #session: Session
  readonly #clock: Clock
  #last: Promise<unknown> = Promise.resolve()

  constructor(session: Session, clock: Clock) {
    this.#session = session
    this.#clock = clock
  }

  /** Resolves when all that was asked for is done; a run waits for that before it begins. */
  get isDone(): Promise<unknown> {
    return this.#last
  }

  note(...entries: readonly EntryBody[]): Promise<void> {
    const add = (): Promise<void> | void => (entries.length > 0 ? this.#session.log.append(...entries) : undefined)
    return this.inTurn(() => this.#patiently(() => this.whileOpen(add)))
  }

  async #patiently(work: () => Promise<void>): Promise<void> {
    const until = this.#clock.now() + patienceMs
    for (;;) {
      try {
        return await work()
      } catch (error) {
        if (!(error instanceof SessionBusyError) || this.#clock.now() >= until) throw error
        await new Promise<void>((resolve) => this.#clock.timer(pauseMs, resolve))
      }
    }
  }

  /** Work that nothing else may come between. */
  inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const working = this.#last.then(work)
    this.#last = working.catch(() => {})
    return working
  }

  /** Inside such work: with the right to write, which takes what waits in the store into the log. */
  async whileOpen<Result>(work: () => Promise<Result> | Result): Promise<Result> {
    await this.#session.open()
    try {
      return await work()
    } finally {
      await this.#session.release()
    }
  }
}
