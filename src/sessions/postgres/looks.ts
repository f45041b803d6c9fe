import type { Clock } from '../../core/clock.ts'
import { type LeaseLostError, leaseLost } from '../../core/errors.ts'
import { failpoint } from '../../core/log.ts'
import { decodeText, encodeText } from '../ordered-text.ts'
import type { Row } from './database.ts'
import { mailVersionSql } from './entries.ts'
import type { PostgresTables } from './tables.ts'
import { timeOf } from './time.ts'
import { fromText, toList } from './values.ts'

interface LooksOptions {
  readonly tables: PostgresTables
  /** Identifies this store object among all that use the database. */
  readonly processId: string
  /** The interval while there are watchers. */
  readonly pollMs: number
  readonly timer: Clock
  /** The time for the database, in tests. */
  readonly now: () => number | null
  /** Called when the first watcher came, when the last one went, and before each look while there are watchers. */
  readonly onWatchers: (areThere: boolean) => void
}

/** A watcher of one session, and what it has seen. */
export interface Watcher {
  readonly id: string
  head: number
  mail: string
  readonly inboxOnly: boolean
  /** Called when there is something to read. */
  readonly wake: () => void
}

interface HeldLease {
  readonly id: string
  readonly ttlMs: number
  readonly lost: AbortController
}

/**
 * Looks at the database for a whole store object, with one statement: it renews the leases that belong to the process, finds
 * those that were lost, and finds the watched sessions that changed. So a process with a thousand sessions asks as often as
 * one with a single session.
 */
export class Looks {
  readonly #options: LooksOptions
  readonly #held = new Map<number, HeldLease>()
  readonly #watchers = new Map<string, Set<Watcher>>()
  #cancelTimer: (() => void) | undefined
  #intervalMs = Number.POSITIVE_INFINITY
  #hasHeld = false
  #isLooking = false
  #isWanted = false
  #isClosed = false

  constructor(options: LooksOptions) {
    this.#options = options
  }

  /** Keeps a lease until it is dropped. The signal aborts when it is lost. */
  hold(epoch: number, { id, ttlMs }: { readonly id: string; readonly ttlMs: number }): AbortSignal {
    const lost = new AbortController()
    this.#held.set(epoch, { id, ttlMs, lost })
    this.#hasHeld = true
    this.#lookWithin(ttlMs / 3)
    return lost.signal
  }

  /** Forgets a lease that is being given back. */
  drop(epoch: number): void {
    this.#held.delete(epoch)
    this.#stopIfIdle()
  }

  lose(epoch: number, error: LeaseLostError): void {
    const held = this.#held.get(epoch)
    this.drop(epoch)
    held?.lost.abort(error)
  }

  /** Returns a function that removes the watcher. */
  add(watcher: Watcher): () => void {
    const watchers = this.#watchers.get(watcher.id) ?? new Set()
    this.#watchers.set(watcher.id, watchers.add(watcher))
    if (this.#watchers.size === 1) this.#options.onWatchers(true)
    this.#lookWithin(this.#options.pollMs)
    return () => {
      if (!watchers.delete(watcher) || watchers.size > 0) return
      this.#watchers.delete(watcher.id)
      if (this.#watchers.size === 0) this.#options.onWatchers(false)
      this.#stopIfIdle()
    }
  }

  has(id: string): boolean {
    return this.#watchers.has(id)
  }

  /** Wakes the watchers of a session that this process has changed. */
  wake(id: string, what: 'entries' | 'inbox'): void {
    for (const watcher of this.#watchers.get(id) ?? []) if (what === 'inbox' || !watcher.inboxOnly) watcher.wake()
  }

  /** Looks now; several calls meanwhile cause one more look. */
  look(): void {
    this.#isWanted = true
    if (this.#isLooking || this.#isClosed) return
    this.#isLooking = true
    this.#lookWhileWanted().finally(() => {
      this.#isLooking = false
      this.#intervalMs = Number.POSITIVE_INFINITY
      this.#lookWithin(this.#shortest())
    })
  }

  /** Returns whether the process may have leases, which it no longer renews. */
  close(): boolean {
    const mayHaveLeases = this.#hasHeld && !this.#isClosed
    this.#isClosed = true
    this.#held.clear() // a look under way must not find them lost that are given back
    this.#cancelTimer?.()
    return mayHaveLeases
  }

  async #lookWhileWanted(): Promise<void> {
    while (this.#isWanted && !this.#isClosed) {
      this.#isWanted = false
      this.#cancelTimer?.()
      await this.#lookOnce().catch(() => {}) // an operation of the caller reports what is wrong; the next look tries again
    }
  }

  async #lookOnce(): Promise<void> {
    const { tables, now, processId, onWatchers } = this.#options
    if (this.#watchers.size > 0) onWatchers(true)
    const held = [...this.#held]
    const watched = [...this.#watchers.keys()].map(encodeText)
    if (held.length === 0 && watched.length === 0) return
    if (held.length === 0) return this.#wakeChanged(await tables.read(watchedSql(tables.schema), [toList(watched)]))
    const ids = toList(held.map(([, { id }]) => encodeText(id)))
    const epochs = `{${held.map(([epoch]) => epoch)}}`
    const values = [toList(watched), now(), processId, ids, epochs]
    const rows = await tables.write(`${heldSql(tables.schema)} union all ${watchedSql(tables.schema)}`, values)
    failpoint('postgres.look.after')
    this.#wakeChanged(rows)
    for (const { kind, id, place, word } of rows)
      if (kind === 'lost') this.lose(Number(place), leaseLost(decodeText(String(id)), fromText(String(word))))
  }

  #wakeChanged(rows: readonly Row[]): void {
    for (const { kind, id, place, word } of rows) {
      if (kind !== 'seen') continue
      for (const watcher of this.#watchers.get(decodeText(String(id))) ?? [])
        if (word !== watcher.mail || (!watcher.inboxOnly && Number(place) !== watcher.head)) watcher.wake()
    }
  }

  #shortest(): number {
    let shortest = this.#watchers.size > 0 ? this.#options.pollMs : Number.POSITIVE_INFINITY
    for (const { ttlMs } of this.#held.values()) shortest = Math.min(shortest, ttlMs / 3)
    return shortest
  }

  /** Sets the timer, unless it is set for a shorter interval; each look finds the interval anew. */
  #lookWithin(ms: number): void {
    if (ms >= this.#intervalMs || this.#isLooking || this.#isClosed) return
    this.#cancelTimer?.()
    this.#intervalMs = ms
    this.#cancelTimer = this.#options.timer.timer(ms, () => this.look())
  }

  #stopIfIdle(): void {
    if (this.#held.size > 0 || this.#watchers.size > 0) return
    this.#cancelTimer?.()
    this.#intervalMs = Number.POSITIVE_INFINITY
  }
}

/** $1: the ids. A session that does not exist has the head 0. */
const watchedSql = (schema: string): string => `
select 'seen' as kind, watched.id, coalesce(session.head, 0) as place, ${mailVersionSql(schema)} as word
from unnest($1::text::text[]) as watched (id) left join ${schema}.session on session.id = watched.id`

/** Renews the leases of the process, and finds those that it has lost. $2: the time, $3: the process, $4 and $5: the leases. */
const heldSql = (schema: string): string => `
with beat as (
  insert into ${schema}.process (id, beat) values ($3, ${timeOf('$2')})
  on conflict (id) do update set beat = excluded.beat, died_with = null
) select 'lost' as kind, mine.id, mine.epoch as place, coalesce(held.owner, '') as word
from unnest($4::text::text[], $5::text::bigint[]) as mine (id, epoch)
left join ${schema}.session on session.id = mine.id left join ${schema}.lease as held on held.session = session.key
where held.epoch is distinct from mine.epoch`
