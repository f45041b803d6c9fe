/** Calls per tool in one run. Counted when a call passes its gate, so that caps hold inside a wave. */
export class ToolCounts {
  /** Turns in a row in which no call had arguments that could be read. */
  unreadableTurns = 0
  readonly #counts = new Map<string, number>()
  #snapshot: Readonly<Record<string, number>> = Object.freeze({})
  #isStale = false

  /** What hooks see: the counts as of the last `refresh`. */
  get snapshot(): Readonly<Record<string, number>> {
    return this.#snapshot
  }

  /** What the framework's own gates see. */
  of(name: string): number {
    return this.#counts.get(name) ?? 0
  }

  add(name: string): void {
    this.#counts.set(name, this.of(name) + 1)
    this.#isStale = true
  }

  refresh(): void {
    if (!this.#isStale) return
    this.#snapshot = Object.freeze(Object.fromEntries(this.#counts))
    this.#isStale = false
  }
}
