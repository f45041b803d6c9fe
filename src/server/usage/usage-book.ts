import type { SessionStore, SessionSummary } from '../../core/store.ts'
import { eachEntry } from '../../sessions/history.ts'
import { UsageFold } from './usage-fold.ts'

/** How many sums are remembered, about 200 bytes each; what was asked for longest ago is read again when it is wanted. */
const usualCells = 200_000

/** Knows what sessions used. It reads their logs once, and afterwards only new entries. */
export class UsageBook {
  readonly #store: SessionStore
  /** The session that was asked for last is the last one. */
  readonly #known = new Map<string, Promise<UsageFold>>()
  readonly #sizes = new Map<string, number>()
  #cells = 0
  readonly #mostCells: number

  constructor(store: SessionStore, { mostCells = usualCells }: { readonly mostCells?: number } = {}) {
    this.#store = store
    this.#mostCells = mostCells
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
    try {
      const fold = await reading
      this.#resize(key, fold.size)
      while (this.#cells > this.#mostCells && this.#known.size > 1) this.#forget(this.#known.keys().next().value!)
      return fold
    } catch (error) {
      this.#forget(key)
      throw error
    }
  }

  #forget(key: string): void {
    this.#known.delete(key)
    this.#resize(key, 0)
  }

  #resize(key: string, size: number): void {
    this.#cells += size - (this.#sizes.get(key) ?? 0)
    if (size > 0) this.#sizes.set(key, size)
    else this.#sizes.delete(key)
  }

  async #readOn(fold: UsageFold, { id, head }: SessionSummary): Promise<UsageFold> {
    if (fold.head < head) for await (const entry of eachEntry(this.#store, id, { after: fold.head })) fold.add(entry)
    return fold
  }
}
