import type { SessionStore, SessionSummary } from '../../core/store.ts'
import { eachEntry } from '../../sessions/history.ts'
import { UsageFold } from './usage-fold.ts'

/** How many sessions are remembered; others are read again when they are asked for. */
const mostSessions = 20_000

/** Knows what sessions used. It reads their logs once, and afterwards only new entries. */
export class UsageBook {
  readonly #store: SessionStore
  /** The session that was asked for last is the last one. */
  readonly #known = new Map<string, Promise<UsageFold>>()

  constructor(store: SessionStore) {
    this.#store = store
  }

  /** The usage of a session up to its head. */
  async of(summary: SessionSummary): Promise<UsageFold> {
    const { id, createdAt } = summary
    const key = `${createdAt} ${id}` // a deleted session and a new one of the same id are two
    const before = this.#known.get(key) ?? Promise.resolve(new UsageFold())
    // One after the other, so that two requests do not add the same entry.
    const reading = before.then((fold) => this.#readOn(fold, summary))
    this.#known.delete(key)
    this.#known.set(key, reading)
    if (this.#known.size > mostSessions) this.#known.delete(this.#known.keys().next().value!)
    try {
      return await reading
    } catch (error) {
      this.#known.delete(key)
      throw error
    }
  }

  async #readOn(fold: UsageFold, { id, head }: SessionSummary): Promise<UsageFold> {
    if (fold.head < head) for await (const entry of eachEntry(this.#store, id, { after: fold.head })) fold.add(entry)
    return fold
  }
}
