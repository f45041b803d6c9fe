import type { Clock } from '../core/clock.ts'

/** What a store knows about a watched session without reading it: texts that change with its entries and its messages. Their content means nothing else. */
export interface SessionStamp {
  readonly entries: string
  readonly inbox: string
}

interface SharedPollerOptions {
  readonly clock: Clock
  /** The interval between two polls. */
  readonly everyMs: number
  /** The stamps of these sessions, or of some of them. Undefined if nothing in the store has changed. */
  readonly readStamps: (ids: readonly string[]) => Promise<ReadonlyMap<string, SessionStamp> | undefined>
}

interface Watcher {
  readonly wake: () => void
  readonly inboxOnly: boolean
}

/**
 * Wakes the watchers of a store: at once for what this store object writes; for what others write, by one poll per interval
 * for all sessions that are watched.
 */
export class SharedPoller {
  readonly #options: SharedPollerOptions
  readonly #watchers = new Map<string, Set<Watcher>>()
  /** As of the last poll. A session that is missing here counts as changed in the next one. */
  readonly #stamps = new Map<string, SessionStamp>()
  #cancelTimer: (() => void) | undefined
  #isPolling = false

  constructor(options: SharedPollerOptions) {
    this.#options = options
  }

  /** Returns a function that removes the watcher. With `inboxOnly`, new entries do not wake it. */
  add(id: string, watcher: Watcher): () => void {
    const watchers = this.#watchers.get(id) ?? new Set()
    this.#watchers.set(id, watchers.add(watcher))
    this.#stamps.delete(id) // the new watcher has not seen what the last poll found
    this.#pollLater()
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

  #pollLater(): void {
    if (this.#isPolling || this.#cancelTimer || this.#watchers.size === 0) return
    this.#cancelTimer = this.#options.clock.timer(this.#options.everyMs, () => void this.#pollNow())
  }

  async #pollNow(): Promise<void> {
    this.#cancelTimer = undefined
    this.#isPolling = true
    try {
      this.#compare(await this.#options.readStamps([...this.#watchers.keys()]))
    } catch {
      // The watchers read, and report the error.
      for (const id of this.#watchers.keys()) this.wake(id, 'inbox')
    }
    this.#isPolling = false
    this.#pollLater()
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
