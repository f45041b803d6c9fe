import { failpoint } from '../../core/log.ts'

/** How a group of writes is written. */
export interface GroupSteps {
  /** Runs a function in a transaction; again if the database is locked. */
  transaction(work: () => void): Promise<void>
  /** Runs a function in a part of the transaction that is undone if it throws. Throws if the whole transaction was undone. */
  part<T>(work: () => T): Outcome<T>
  /** Makes what was committed durable. Resolves with true if the event loop has turned meanwhile. */
  sync(): Promise<boolean>
}

export type Outcome<T = unknown> = { readonly value: T } | { readonly error: unknown }

interface Waiting {
  readonly work: () => unknown
  readonly settle: (outcome: Outcome) => void
}

/** So long a group works, or its callers go on, before the event loop turns. */
const maxTurnMs = 10

/**
 * Writes that arrive while others are being committed share the next transaction and its sync. If one of them is refused,
 * the others are written. The event loop goes on turning, however many there are.
 */
export class GroupWriter {
  readonly #steps: GroupSteps
  #waiting: Waiting[] = []
  #writing: Promise<void> | undefined
  /** When the event loop last turned, as far as it is known here. */
  #turnedAt = 0

  constructor(steps: GroupSteps) {
    this.#steps = steps
  }

  /** Resolves when `work` is durable. It may be run several times. */
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
      await this.#turnInTime()
    }
    this.#writing = undefined
  }

  /** Returns the outcomes of those that were tried. */
  async #writeGroup(group: readonly Waiting[]): Promise<readonly Outcome[]> {
    let outcomes: Outcome[] = []
    try {
      await this.#steps.transaction(() => {
        outcomes = this.#runInTime(group)
      })
      failpoint('sqlite.group.committed')
      if (await this.#steps.sync()) this.#turnedAt = performance.now()
      failpoint('sqlite.group.synced')
      return outcomes
    } catch (error) {
      const tried = outcomes.length > 0 ? outcomes : group.map(() => ({ error }))
      return tried.map((outcome) => ('error' in outcome ? outcome : { error }))
    }
  }

  #runInTime(group: readonly Waiting[]): Outcome[] {
    const [first] = group
    if (group.length === 1) return [{ value: first!.work() }]
    const end = performance.now() + maxTurnMs
    const outcomes: Outcome[] = []
    for (const { work } of group) {
      outcomes.push(this.#steps.part(work))
      if (performance.now() > end) break
    }
    return outcomes
  }

  /** Tells callers their outcomes, so many at a time that the event loop turns while they go on. */
  async #settleAll(group: readonly Waiting[], outcomes: readonly Outcome[]): Promise<void> {
    for (const [i, outcome] of outcomes.entries()) {
      group[i]!.settle(outcome)
      await undefined // the callers go on meanwhile, so that their time counts
      await this.#turnInTime()
    }
  }

  async #turnInTime(): Promise<void> {
    if (performance.now() < this.#turnedAt + maxTurnMs) return
    await new Promise((resolve) => setImmediate(resolve))
    this.#turnedAt = performance.now()
  }
}
