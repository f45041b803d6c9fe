import { failpoint } from '../../core/log.ts'

/** How a group of writes is written. */
export interface GroupSteps {
  /** Runs a function in a transaction; runs it again if the database was locked. */
  transaction(work: () => void): Promise<void>
  /** Runs a function in a savepoint, which is rolled back if it throws. Throws if SQLite has rolled back the whole transaction. */
  savepoint<T>(work: () => T): Outcome<T>
  /** Makes the commit durable. Resolves with true if the event loop ran meanwhile. */
  sync(): Promise<boolean>
}

export type Outcome<T = unknown> = { readonly value: T } | { readonly error: unknown }

interface Waiting {
  readonly work: () => unknown
  readonly settle: (outcome: Outcome) => void
}

/** The longest that a group of writes, or the callers resumed after it, may run before we yield to the event loop. */
const maxBlockMs = 10

/**
 * Writes that arrive while a group is being committed form the next group, with one transaction and one sync. If one write of
 * a group is refused, the others are written. However many writes wait, the writer yields to the event loop in time.
 */
export class GroupWriter {
  readonly #steps: GroupSteps
  #waiting: Waiting[] = []
  #writing: Promise<void> | undefined
  /** When the event loop last ran, as far as the writer knows. */
  #lastYieldAt = 0

  constructor(steps: GroupSteps) {
    this.#steps = steps
  }

  /** Resolves when what `work` wrote is durable. `work` may be called several times. */
  write<T>(work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const settle = (outcome: Outcome): void => {
        if ('error' in outcome) reject(outcome.error)
        else resolve(outcome.value as T)
      }
      this.#waiting.push({ work, settle })
      this.#writing ??= this.#writeAll()
    })
  }

  /** Resolves when nothing waits to be written. */
  async idle(): Promise<void> {
    await this.#writing
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#waiting
      this.#waiting = []
      const outcomes = await this.#writeGroup(group)
      this.#waiting = [...group.slice(outcomes.length), ...this.#waiting]
      await this.#settleAll(group, outcomes)
      await this.#yieldIfDue()
    }
    this.#writing = undefined
  }

  /** Returns the outcomes of the writes that were tried, which may be fewer than the group. */
  async #writeGroup(group: readonly Waiting[]): Promise<readonly Outcome[]> {
    let outcomes: Outcome[] = []
    try {
      await this.#steps.transaction(() => {
        outcomes = this.#runUntilDue(group)
      })
      failpoint('sqlite.group.committed')
      if (await this.#steps.sync()) this.#lastYieldAt = performance.now()
      failpoint('sqlite.group.synced')
      return outcomes
    } catch (error) {
      const tried = outcomes.length > 0 ? outcomes : group.map(() => ({ error }))
      return tried.map((outcome) => ('error' in outcome ? outcome : { error }))
    }
  }

  #runUntilDue(group: readonly Waiting[]): Outcome[] {
    const [first] = group
    if (group.length === 1) return [{ value: first!.work() }]
    const end = performance.now() + maxBlockMs
    const outcomes: Outcome[] = []
    for (const { work } of group) {
      outcomes.push(this.#steps.savepoint(work))
      if (performance.now() > end) break
    }
    return outcomes
  }

  /** Settles callers one by one, and yields to the event loop whenever they have run for `maxBlockMs`. */
  async #settleAll(group: readonly Waiting[], outcomes: readonly Outcome[]): Promise<void> {
    for (const [i, outcome] of outcomes.entries()) {
      group[i]!.settle(outcome)
      await undefined // lets the caller resume now, so that the time it takes counts toward maxBlockMs
      await this.#yieldIfDue()
    }
  }

  async #yieldIfDue(): Promise<void> {
    if (performance.now() < this.#lastYieldAt + maxBlockMs) return
    await new Promise((resolve) => setImmediate(resolve))
    this.#lastYieldAt = performance.now()
  }
}
