import type { Clock } from '../core/clock.ts'
import type { SessionStore, SessionSummary } from '../core/store.ts'

type Listener = (summary: SessionSummary) => void

/** Tells which sessions have changed, to any number of listeners with one look at the store. */
export class SessionChanges {
  readonly #store: SessionStore
  readonly #clock: Clock
  readonly #everyMs: number
  readonly #listeners = new Set<Listener>()
  /** By id, of the sessions that changed last. */
  #known = new Map<string, string>()
  #cancelTimer: (() => void) | undefined
  #isLooking = false

  constructor(store: SessionStore, clock: Clock, everyMs = 1000) {
    this.#store = store
    this.#clock = clock
    this.#everyMs = everyMs
  }

  /** Calls the listener with each session that changes from now on. Returns a function that stops it. */
  async follow(listener: Listener): Promise<() => void> {
    if (this.#listeners.size === 0) this.#known = new Map((await this.#newest()).map((one) => [one.id, stateOf(one)]))
    this.#listeners.add(listener)
    if (!this.#cancelTimer) this.#schedule(this.#everyMs)
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      this.#cancelTimer?.()
      this.#cancelTimer = undefined
    }
  }

  /** Something changed in this process: listeners need not wait for the next look. */
  nudge(): void {
    if (this.#listeners.size > 0) this.#schedule(0)
  }

  #schedule(ms: number): void {
    if (this.#isLooking) return
    this.#cancelTimer?.()
    this.#cancelTimer = this.#clock.timer(ms, () => void this.#look())
  }

  async #look(): Promise<void> {
    this.#isLooking = true
    this.#cancelTimer = undefined
    try {
      const now = await this.#newest()
      const changed = now.filter((one) => this.#known.get(one.id) !== stateOf(one))
      this.#known = new Map(now.map((one) => [one.id, stateOf(one)]))
      for (const summary of changed.reverse()) for (const listener of this.#listeners) listener(summary)
    } catch {
      // The next look may find the store again.
    } finally {
      this.#isLooking = false
      if (this.#listeners.size > 0) this.#schedule(this.#everyMs)
    }
  }

  async #newest(): Promise<readonly SessionSummary[]> {
    return (await this.#store.list({ order: 'updated', limit: 200 })).sessions
  }
}

const stateOf = ({ head, status, attention, isHeld, title }: SessionSummary): string =>
  JSON.stringify([head, status, attention, isHeld, title])
