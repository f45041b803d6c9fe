import type { Clock } from '../core/clock.ts'

/** What a store knows about a watched session without reading it: texts that change with its entries and its messages. Their content means nothing else. */
export interface SessionStamp {
  readonly entries: string
  readonly inbox: string
}

interface SharedPollerOptions {
  readonly clock: Clock
  /** The interval between two looks. */
  readonly everyMs: number
  /** The stamps of these sessions, or of some of them. Undefined if nothing in the store has changed. */
  readonly look: (ids: readonly string[]) => Promise<ReadonlyMap<string, SessionStamp> | undefined>
}

interface Watcher {
  readonly wake: () => void
  readonly inboxOnly: boolean
}

/**
 * Wakes the watchers of a store: at once for what this store object writes, and by one look per interval, at all sessions that
 * are watched, for what others write.
 */
export class SharedPoller {
  readonly #options: SharedPollerOptions
  readonly #watchers = new Map<string, Set<Watcher>>()
  /** As of the last look. A session that is missing here counts as changed when it is looked at. */
  readonly #stamps = new Map<string, SessionStamp>()
  #cancelTimer: (() => void) | undefined
  #isLooking = false

  constructor(options: SharedPollerOptions) {
    this.#options = options
  }

  /** Returns a function that removes the watcher. With `inboxOnly`, new entries do not wake it. */
  add(id: string, watcher: Watcher): () => void {
    const watchers = this.#watchers.get(id) ?? new Set()
    this.#watchers.set(id, watchers.add(watcher))
    this.#stamps.delete(id) // the new watcher has not seen what the last look saw
    this.#lookLater()
    return () => {
      watchers.delete(watcher)
      if (watchers.size > 0 || this.#watchers.get(id) !== watchers) return
      this.#watchers.delete(id)
      this.#stamps.delete(id)
      if (this.#watchers.size === 0) this.#stop()
    }
  }

  /** Wakes the watchers of a session that this store object has changed. */
  wake(id: string, what: 'entries' | 'inbox'): void {
    for (const { wake, inboxOnly } of this.#watchers.get(id) ?? []) if (what === 'inbox' || !inboxOnly) wake()
  }

  #stop(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }

  #lookLater(): void {
    if (this.#isLooking || this.#cancelTimer || this.#watchers.size === 0) return
    this.#cancelTimer = this.#options.clock.timer(this.#options.everyMs, () => void this.#lookNow())
  }

  async #lookNow(): Promise<void> {
    this.#cancelTimer = undefined
    this.#isLooking = true
    try {
      this.#compare(await this.#options.look([...this.#watchers.keys()]))
    } catch {
      // The watchers read, and report the error.
      for (const id of this.#watchers.keys()) this.wake(id, 'inbox')
    }
    this.#isLooking = false
    this.#lookLater()
  }

  #compare(stamps: ReadonlyMap<string, SessionStamp> | undefined): void {
    for (const [id, stamp] of stamps ?? []) {
      const before = this.#stamps.get(id)
      this.#stamps.set(id, stamp)
      if (before?.inbox !== stamp.inbox) this.wake(id, 'inbox')
      else if (before.entries !== stamp.entries) this.wake(id, 'entries')
    }
  }
}
