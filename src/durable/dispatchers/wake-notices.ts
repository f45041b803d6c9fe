import type { Clock } from '../../core/clock.ts'
import { afterCommit } from '../../sessions/postgres/after-commit.ts'
import type { Database } from '../../sessions/postgres/database.ts'
import type { PostgresTransaction } from '../../sessions/postgres/driver.ts'
import { createListener } from '../../sessions/postgres/listener.ts'

/** The minimum time between two notices of a process. */
const noticeMs = 50
/** Workers find jobs of a later time by themselves; a timer makes those of the next seconds punctual. */
const soonMs = 60_000

interface WakeNoticesOptions {
  readonly database: Database
  readonly channel: string
  /** The address to listen at; `false` to hear of wakes in this process only. */
  readonly listen: false | string
  readonly clock: Clock
}

/**
 * Tells all processes that there may be a job. Notifying transactions commit one after the other in the whole server, so wakes
 * of a moment share a notice, which is sent apart from them.
 */
export class WakeNotices {
  readonly #options: WakeNoticesOptions
  readonly #listeners = new Set<() => void>()
  readonly #timers = new Set<() => void>()
  readonly #listener
  #state: 'ready' | 'paused' | 'due' = 'ready'
  #isClosed = false

  constructor(options: WakeNoticesOptions) {
    this.#options = options
    const { listen, channel } = options
    const heard = (): void => this.#call()
    if (listen !== false)
      this.#listener = createListener({ channels: [channel], url: listen, onNotice: heard, onGap: heard })
  }

  /** Tells of a job that is due at `at`. In a foreign transaction the notice is part of it. */
  async tell(at: number, transaction?: PostgresTransaction): Promise<void> {
    const { clock, database, channel } = this.#options
    const ms = at - clock.now()
    if (ms > 0) {
      if (ms < soonMs && this.#listeners.size > 0) this.#timer(ms, () => this.#call())
      return
    }
    if (!transaction) this.#due()
    else if (!afterCommit(transaction, () => this.#due()))
      await database.queryIn(transaction, `select pg_notify($1, '')`, [channel])
  }

  onWake(listener: () => void): () => void {
    this.#listeners.add(listener)
    this.connect()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.#listener?.stop()
    }
  }

  /** Listens, or listens again after the connection was lost. */
  connect(): void {
    if (this.#listeners.size > 0) this.#listener?.start()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#listeners.clear()
    for (const cancel of this.#timers) cancel()
    await this.#listener?.close()
  }

  #due(): void {
    this.#call() // workers of this process need no notice
    const isPaused = this.#state !== 'ready'
    this.#state = 'due'
    if (!isPaused) this.#send()
  }

  #send(): void {
    if (this.#isClosed || this.#state !== 'due') {
      this.#state = 'ready'
      return
    }
    this.#state = 'paused'
    const { database, channel } = this.#options
    database.query(`select pg_notify($1, '')`, [channel]).catch(() => {}) // workers look by themselves too
    this.#timer(noticeMs, () => this.#send())
  }

  #timer(ms: number, call: () => void): void {
    const cancel = this.#options.clock.timer(ms, () => {
      this.#timers.delete(cancel)
      call()
    })
    this.#timers.add(cancel)
  }

  #call(): void {
    for (const listener of this.#listeners) listener()
  }
}
