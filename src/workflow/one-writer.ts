import type { EntryBody } from '../core/log.ts'
import type { Session } from '../core/store.ts'

/** Additions to a log outside of runs: one after the other, for there is one writer at a time, in this process too. */
export class OneWriter {
  readonly #session: Session
  #last: Promise<unknown> = Promise.resolve()

  constructor(session: Session) {
    this.#session = session
  }

  /** Resolves when all that was asked for is done; a run waits for that before it begins. */
  get isDone(): Promise<unknown> {
    return this.#last
  }

  note(...entries: readonly EntryBody[]): Promise<void> {
    return this.inTurn(() => this.add(...entries))
  }

  /** Work that nothing else may come between. */
  inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const working = this.#last.then(work)
    this.#last = working.catch(() => {})
    return working
  }

  /** Inside such work. */
  async add(...entries: readonly EntryBody[]): Promise<void> {
    await this.whileOpen(() => (entries.length > 0 ? this.#session.log.append(...entries) : undefined))
  }

  /** The same with the right to write, which takes what waits in the store into the log. */
  async whileOpen(work: () => Promise<void> | void): Promise<void> {
    await this.#session.open()
    try {
      await work()
    } finally {
      await this.#session.release()
    }
  }
}
