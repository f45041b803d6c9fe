import type { Clock } from '../core/clock.ts'
import type { SessionStore, SessionSummary } from '../core/store.ts'

/** `before` is the head that was last told, or seen when the listener came; unknown for a session that was not written for long. */
type Listener = (summary: SessionSummary, before: number | undefined) => void

/** Tells which sessions have changed, to any number of listeners with one look at the store. */
export class SessionChanges {
  readonly #store: SessionStore
  readonly #clock: Clock
  readonly #everyMs: number
  readonly #listeners = new Set<Listener>()
  /** What was last told of each session, of the latest ones; the last changed at the end. */
  readonly #known = new Map<string, { readonly head: number; readonly state: string }>()
  /** When the newest of them was written. */
  #since = 0
  #cancelTimer: (() => void) | undefined
  #isLooking = false

  constructor(store: SessionStore, clock: Clock, everyMs = 1000) {
    this.#store = store
    this.#clock = clock
    this.#everyMs = everyMs
  }

  /** Calls the listener with each session that changes from now on. Returns a function that stops it. */
  async follow(listener: Listener): Promise<() => void> {
    if (this.#listeners.size === 0) await this.#begin()
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
      for (const { summary, before } of (await this.#changed()).toReversed())
        for (const listener of this.#listeners) listener(summary, before)
    } catch {
      // The next look may find the store again.
    } finally {
      this.#isLooking = false
      if (this.#listeners.size > 0) this.#schedule(this.#everyMs)
    }
  }

  async #begin(): Promise<void> {
    const sessions: SessionSummary[] = []
    for await (const one of this.#recent()) sessions.push(one)
    this.#known.clear()
    this.#since = sessions[0]?.updatedAt ?? 0
    for (const one of sessions.toReversed()) this.#known.set(one.id, stateOf(one))
  }

  /** The sessions that differ from what was reported, newest first: all that were written since the last check, and others of the newest. */
  async #changed(): Promise<readonly Change[]> {
    const since = this.#since
    const changed: Change[] = []
    let newest = since
    for await (const one of this.#recent(since)) {
      const known = this.#known.get(one.id)
      // An old session may come into sight because others were deleted.
      if (known === undefined ? one.updatedAt >= since - toleranceMs : known.state !== stateOf(one).state)
        changed.push({ summary: one, before: known?.head })
      else if (known === undefined) this.#known.set(one.id, stateOf(one))
      newest = Math.max(newest, one.updatedAt)
    }
    this.#since = newest
    for (const { summary } of changed.toReversed()) {
      this.#known.delete(summary.id)
      this.#known.set(summary.id, stateOf(summary))
    }
    for (const id of this.#known.keys()) {
      if (this.#known.size <= mostKnown) break
      this.#known.delete(id)
    }
    return changed
  }

  /** The last written sessions, newest first, back to `since` or to the newest one, and further by the tolerance. */
  async *#recent(since?: number): AsyncGenerator<SessionSummary> {
    let until = since
    for (let cursor: string | undefined, pages = 0; pages < mostPages; pages++) {
      const { sessions, next } = await this.#store.list({
        ...{ order: 'updated', limit: pageSize },
        ...(cursor !== undefined && { cursor }),
      })
      yield* sessions
      until ??= sessions[0]?.updatedAt ?? 0
      cursor = next
      if (cursor === undefined || (sessions.at(-1)?.updatedAt ?? 0) < until - toleranceMs) return
    }
  }
}

/**
 * A session is listed by the time of its last entry, which is taken before the entry is stored, and by another clock if
 * another machine wrote it. So a session may appear behind one that was seen before.
 */
const toleranceMs = 60_000

const pageSize = 200
const mostPages = 50
const mostKnown = 10_000

interface Change {
  readonly summary: SessionSummary
  readonly before: number | undefined
}

const stateOf = ({ head, status, attention, isHeld, title }: SessionSummary) => ({
  head,
  state: JSON.stringify([head, status, attention, isHeld, title]),
})
