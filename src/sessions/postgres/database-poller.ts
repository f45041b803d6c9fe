import type { Clock } from '../../core/clock.ts'
import { type LeaseLostError, leaseLost } from '../../core/errors.ts'
import { failpoint } from '../../core/log.ts'
import { decodeText, encodeText } from '../ordered-text.ts'
import type { Row } from './database.ts'
import { inboxVersionSql } from './entries.ts'
import type { PostgresTables } from './tables.ts'
import { timeSql } from './time.ts'
import { fromText, toList } from './values.ts'

interface DatabasePollerOptions {
  readonly tables: PostgresTables
  /** Identifies this store object among all that use the database. */
  readonly processId: string
  /** The interval while there are watchers. */
  readonly pollMs: number
  readonly clock: Clock
  /** In tests: the time, in place of the time of the database server. Null otherwise. */
  readonly testTime: () => number | null
  /** Called when the first watcher came, when the last one went, and before each poll while there are watchers. */
  readonly onWatchers: (hasWatchers: boolean) => void
  /** Gives a lease back. */
  readonly release: (epoch: number, id: string) => Promise<unknown>
}

/** A watcher of one session. */
export interface Watcher {
  readonly id: string
  /** The number of the last entry that it has seen. */
  head: number
  /** The version of the inbox that it has seen: a text that changes with each message. */
  inboxVersion: string
  readonly inboxOnly: boolean
  /** Called when there is something to read. */
  readonly wake: () => void
}

interface HeldLease {
  readonly id: string
  readonly ttlMs: number
  readonly lost: AbortController
}

const soonMs = 200

/**
 * Polls the database for a whole store object. One statement renews the leases that belong to the process, finds those that
 * were lost, and finds the watched sessions that changed. So a process with a thousand sessions sends as many statements as
 * one with a single session.
 */
export class DatabasePoller {
  readonly #options: DatabasePollerOptions
  readonly #held = new Map<number, HeldLease>()
  readonly #watchers = new Map<string, Set<Watcher>>()
  /** Leases that could not be given back, by epoch. */
  readonly #unreleased = new Map<number, string>()
  #cancelTimer: (() => void) | undefined
  #intervalMs = Number.POSITIVE_INFINITY
  #hasHeldAny = false
  #isPolling = false
  /** Whether to poll once more when the poll under way ends. */
  #isPollWanted = false
  #isPollSoonWanted = false
  #isClosed = false

  constructor(options: DatabasePollerOptions) {
    this.#options = options
  }

  /** Renews a lease until it is dropped. The signal aborts when it is lost. */
  keepLease(epoch: number, { id, ttlMs }: { readonly id: string; readonly ttlMs: number }): AbortSignal {
    const lost = new AbortController()
    this.#held.set(epoch, { id, ttlMs, lost })
    this.#hasHeldAny = true
    this.#pollWithin(ttlMs / 3)
    return lost.signal
  }

  /** Forgets a lease that is being given back. */
  dropLease(epoch: number): void {
    this.#held.delete(epoch)
    this.#stopIfIdle()
  }

  /** Gives a lease back after the next polls, because it is valid as long as the process lives. */
  releaseLater(epoch: number, id: string): void {
    this.#unreleased.set(epoch, id)
  }

  /** Forgets a lease that another process has taken, and tells its holder. */
  loseLease(epoch: number, error: LeaseLostError): void {
    const held = this.#held.get(epoch)
    this.dropLease(epoch)
    held?.lost.abort(error)
  }

  /** Returns a function that removes the watcher. */
  addWatcher(watcher: Watcher): () => void {
    const watchers = this.#watchers.get(watcher.id) ?? new Set()
    this.#watchers.set(watcher.id, watchers.add(watcher))
    if (this.#watchers.size === 1) this.#options.onWatchers(true)
    this.#pollWithin(this.#options.pollMs)
    return () => {
      if (!watchers.delete(watcher) || watchers.size > 0) return
      this.#watchers.delete(watcher.id)
      if (this.#watchers.size === 0) this.#options.onWatchers(false)
      this.#stopIfIdle()
    }
  }

  isWatched(id: string): boolean {
    return this.#watchers.has(id)
  }

  /** Wakes the watchers of a session that this process has changed. */
  wake(id: string, what: 'entries' | 'inbox'): void {
    for (const watcher of this.#watchers.get(id) ?? []) if (what === 'inbox' || !watcher.inboxOnly) watcher.wake()
  }

  /** Polls now. Calls during a poll cause one more. */
  pollNow(): void {
    this.#isPollWanted = true
    if (this.#isPolling || this.#isClosed) return
    this.#isPolling = true
    this.#pollWhileWanted().finally(() => {
      this.#isPolling = false
      this.#intervalMs = Number.POSITIVE_INFINITY // no timer is set
      this.#pollWithin(this.#shortestIntervalMs())
    })
  }

  /** Polls within a moment, once for all calls of that moment. */
  pollSoon(): void {
    this.#isPollSoonWanted = true
    this.#pollWithin(soonMs)
  }

  /** Ends polling. Returns whether the process may still have leases in the database. */
  close(): boolean {
    const mayHaveLeases = this.#hasHeldAny && !this.#isClosed
    this.#isClosed = true
    this.#held.clear() // they are given back now: a poll under way must not report them as lost
    this.#cancelTimer?.()
    return mayHaveLeases
  }

  async #pollWhileWanted(): Promise<void> {
    while (this.#isPollWanted && !this.#isClosed) {
      this.#isPollWanted = false
      this.#cancelTimer?.()
      await this.#pollOnce().catch(() => {}) // an operation of the caller reports what is wrong; the next poll tries again
    }
  }

  async #pollOnce(): Promise<void> {
    const { tables, onWatchers } = this.#options
    if (this.#watchers.size > 0) onWatchers(true)
    this.#isPollSoonWanted = false
    const held = [...this.#held]
    const watched = [...this.#watchers.keys()].map(encodeText)
    if (held.length === 0 && watched.length === 0) return
    if (held.length === 0) this.#wakeChanged(await tables.read(watchedSql(tables.schema), [toList(watched)]))
    else await this.#beat(held, watched)
    for (const [epoch, id] of this.#unreleased) {
      await this.#options.release(epoch, id)
      this.#unreleased.delete(epoch)
    }
  }

  async #beat(held: readonly (readonly [number, HeldLease])[], watched: readonly string[]): Promise<void> {
    const { tables, testTime, processId } = this.#options
    const ids = toList(held.map(([, { id }]) => encodeText(id)))
    const epochs = `{${held.map(([epoch]) => epoch)}}`
    const values = [toList(watched), testTime(), processId, ids, epochs]
    const rows = await tables.write(`${heldSql(tables.schema)} union all ${watchedSql(tables.schema)}`, values)
    failpoint('postgres.look.after')
    this.#wakeChanged(rows)
    for (const { kind, id, number_value: epoch, text_value: owner } of rows)
      if (kind === 'lost') this.loseLease(Number(epoch), leaseLost(decodeText(String(id)), fromText(String(owner))))
  }

  #wakeChanged(rows: readonly Row[]): void {
    for (const { kind, id, number_value: head, text_value: inboxVersion } of rows) {
      if (kind !== 'seen') continue
      for (const watcher of this.#watchers.get(decodeText(String(id))) ?? [])
        if (inboxVersion !== watcher.inboxVersion || (!watcher.inboxOnly && Number(head) !== watcher.head))
          watcher.wake()
    }
  }

  #shortestIntervalMs(): number {
    if (this.#isPollSoonWanted) return soonMs
    let shortest = this.#watchers.size > 0 ? this.#options.pollMs : Number.POSITIVE_INFINITY
    for (const { ttlMs } of this.#held.values()) shortest = Math.min(shortest, ttlMs / 3)
    return shortest
  }

  /** Sets the timer, unless it is set for a shorter interval. After each poll the interval is computed anew. */
  #pollWithin(ms: number): void {
    if (ms >= this.#intervalMs || this.#isPolling || this.#isClosed) return
    this.#cancelTimer?.()
    this.#intervalMs = ms
    this.#cancelTimer = this.#options.clock.timer(ms, () => this.pollNow())
  }

  #stopIfIdle(): void {
    if (this.#held.size > 0 || this.#watchers.size > 0) return
    this.#cancelTimer?.()
    this.#intervalMs = Number.POSITIVE_INFINITY
  }
}

/** $1: the ids. `number_value` is the head, 0 if there is no such session; `text_value` is the version of the inbox. */
const watchedSql = (schema: string): string => `
select 'seen' as kind, watched.id, coalesce(session.head, 0) as number_value, ${inboxVersionSql(schema)} as text_value
from unnest($1::text::text[]) as watched (id) left join ${schema}.session on session.id = watched.id`

/**
 * Renews all leases of the process by one beat, and finds the leases that the process has lost: `number_value` is the epoch,
 * `text_value` the new owner. $2: the time, $3: the process, $4: the ids of the leased sessions, $5: the epochs of the leases.
 */
const heldSql = (schema: string): string => `
with beat as (
  insert into ${schema}.process (id, beat) values ($3, ${timeSql('$2')})
  on conflict (id) do update set beat = excluded.beat, died_with = null
) select 'lost' as kind, mine.id, mine.epoch as number_value, coalesce(held.owner, '') as text_value
from unnest($4::text::text[], $5::text::bigint[]) as mine (id, epoch)
left join ${schema}.session on session.id = mine.id left join ${schema}.lease as held on held.session = session.key
where held.epoch is distinct from mine.epoch`
