import type { Run } from '../core/run.ts'

/** Holds work back while any run, or any run of a child, is in the middle of a turn. */
export class BetweenTurns {
  readonly #inTurn = new Set<Run>()
  #held: (() => Promise<unknown>)[] = []
  #working: Promise<unknown> = Promise.resolve()

  turnStarted(run: Run): void {
    this.#inTurn.add(run)
  }

  /** Does what was held if this was the last one in a turn. */
  async turnEnded(run: Run): Promise<void> {
    this.#inTurn.delete(run)
    if (this.#inTurn.size > 0) return
    const held = this.#held
    this.#held = []
    for (const work of held) await this.#inOrder(work).catch(() => {}) // whoever asked is not there any more
  }

  /** Does it now, or says that it will be done when all turns are over. */
  async run<T>(work: () => Promise<T>): Promise<T | 'deferred-between-turns'> {
    if (this.#inTurn.size === 0) return this.#inOrder(work)
    this.#held.push(work)
    return 'deferred-between-turns'
  }

  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const doing = this.#working.then(work)
    this.#working = doing.catch(() => {})
    return doing
  }
}
