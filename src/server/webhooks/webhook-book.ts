import { type Clock, createIds } from '../../core/clock.ts'
import { leaseLost, SessionNotFoundError } from '../../core/errors.ts'
import { isRecord } from '../../core/is-record.ts'
import { type EntryBody, Log, type LogEntry } from '../../core/log.ts'
import type { SessionStore, SessionSummary } from '../../core/store.ts'
import { eachEntry, eachEntryBackwards } from '../../sessions/history.ts'
import { openSession } from '../../sessions/session.ts'
import { WriteLease } from '../../sessions/write-lease.ts'
import { type Webhook, webhookKind, webhookPrefix } from './webhook.ts'

/** How far a session was delivered. */
export interface Cursor {
  /** The last entry that needs nothing more. */
  readonly seq: number
  /** When the session was created: one that was deleted and made again under the same id is another. */
  readonly of: number
}

/** An event that was not accepted yet. */
export interface Tried extends Cursor {
  readonly tries: number
  /** When it is tried again. */
  readonly nextAt: number
}

/** The webhook with all cursors. Between two such entries, each delivery adds one that has a cursor alone. */
interface Page extends Webhook {
  readonly since: number
  readonly cursors: readonly (readonly [session: string, seq: number, of: number])[]
  readonly outstanding: readonly string[]
}

const pageOwner = 'webhook'
const cursorOwner = 'webhook:cursor'
const triedOwner = 'webhook:tried'
const leaseMs = 30_000

/** Stores a new webhook, as a session of its own: every store has those, with leases and entries that survive a crash. */
export async function createWebhook(
  store: SessionStore,
  webhook: Webhook,
  { tenant, clock }: { readonly tenant: string | undefined; readonly clock: Clock },
): Promise<string> {
  const id = webhookPrefix + crypto.randomUUID()
  const page = pageEntry({ ...webhook, since: webhook.createdAt, cursors: [], outstanding: [] })
  const session = await openSession(store, id, { clock })
  await session.open()
  try {
    // In one append: there is no webhook without an address.
    await session.log.append({ type: 'details', kind: webhookKind, ...(tenant !== undefined && { tenant }) }, page)
  } finally {
    await session.release()
  }
  return id
}

/** What is known of one webhook: its address, and how far each session was delivered. Written under the lease of its session. */
export class WebhookBook {
  readonly id: string
  readonly cursors = new Map<string, Cursor>()
  /** The event of each session that failed last, if those who deliver note that. */
  readonly tried = new Map<string, Tried>()
  webhook: Webhook = { url: '', events: [], secret: '', createdAt: 0 }
  /** Of a session without a cursor, everything before this time needs nothing more. */
  since = 0
  /** Sessions that had something undelivered when the last page was written. */
  outstanding: readonly string[] = []
  /** How many cursors were written since the last page. */
  moves = 0
  readonly #store: SessionStore
  readonly #clock: Clock
  #head = 0
  #held: { readonly log: Log; readonly lease: WriteLease } | undefined

  constructor(store: SessionStore, id: string, clock: Clock) {
    this.#store = store
    this.#clock = clock
    this.id = id
  }

  /** Reads what was written since: at first from the last page on, then what other processes added. */
  async read(): Promise<void> {
    if (this.#head === 0) this.#head = await this.#lastPage()
    for await (const entry of eachEntry(this.#store, this.id, { after: this.#head })) this.#apply(entry)
  }

  async #lastPage(): Promise<number> {
    for await (const entry of eachEntryBackwards(this.#store, this.id)) if (isPage(entry)) return entry.seq - 1
    throw new SessionNotFoundError(this.id)
  }

  #apply(entry: LogEntry): void {
    this.#head = entry.seq
    if (isPage(entry)) {
      const { since, cursors, outstanding, ...webhook } = entry.value
      Object.assign(this, { webhook, since, outstanding, moves: 0 })
      this.cursors.clear()
      for (const [session, seq, of] of cursors) this.cursors.set(session, { seq, of })
    } else if (entry.type === 'state' && entry.owner === cursorOwner) {
      const [session, seq, of] = entry.value as [string, number, number]
      this.cursors.set(session, { seq, of })
      this.tried.delete(session)
      this.moves++
    } else if (entry.type === 'state' && entry.owner === triedOwner) {
      const [session, seq, of, tries, nextAt] = entry.value as [string, number, number, number, number]
      this.tried.set(session, { seq, of, tries, nextAt })
      this.moves++
    }
  }

  /** The number of the last entry of a session that needs nothing more; undefined if it has no cursor. */
  cursorOf({ id, createdAt }: SessionSummary): number | undefined {
    const cursor = this.cursors.get(id)
    return cursor?.of === createdAt ? cursor.seq : undefined
  }

  /** Takes the lease, and reads what its last holder wrote. Rejects if another process has it, or if the webhook is deleted. */
  async hold(onLost: (error: Error) => void): Promise<void> {
    const [store, clock, id] = [this.#store, this.#clock, this.id]
    const newId = createIds()
    const lease = new WriteLease({ store, owner: `webhook#${newId()}`, ttlMs: leaseMs, clock, onRenewed: () => {} })
    lease.onLost = onLost
    await lease.take(id, {})
    try {
      await this.read()
      const commit = async (entries: readonly LogEntry[]): Promise<void> => {
        if (lease.epoch === undefined) throw leaseLost(id)
        await store.append(id, entries, { epoch: lease.epoch, head: entries[0]!.seq - 1 })
      }
      const log = new Log({ id, clock, newId, after: this.#head, commit })
      log.subscribe((entry) => this.#apply(entry))
      this.#held = { log, lease }
    } catch (error) {
      await lease.release()
      throw error
    }
  }

  async release(): Promise<void> {
    const held = this.#held
    this.#held = undefined
    await held?.log.flushed()
    await held?.lease.release()
  }

  /** Notes that a session is delivered up to an entry. */
  async move({ id, createdAt }: SessionSummary, seq: number): Promise<void> {
    await this.#append({ type: 'state', owner: cursorOwner, value: [id, seq, createdAt] })
  }

  /** Notes that an event was not accepted, so that another process goes on with the number of tries. */
  async noteTry({ id, createdAt }: SessionSummary, { seq, tries, nextAt }: Omit<Tried, 'of'>): Promise<void> {
    await this.#append({ type: 'state', owner: triedOwner, value: [id, seq, createdAt, tries, nextAt] })
  }

  /** How often an event was tried in vain; absent if it was not, or is delivered. */
  triedOf({ id, createdAt }: SessionSummary, seq: number): Tried | undefined {
    const tried = this.tried.get(id)
    return tried?.of === createdAt && tried.seq === seq ? tried : undefined
  }

  /** Writes a page, so that the entries before it need not be read again. */
  async writePage(since: number, kept: ReadonlyMap<string, Cursor>, outstanding: readonly string[]): Promise<void> {
    const cursors = [...kept].map(([session, { seq, of }]) => [session, seq, of] as const)
    await this.#append(pageEntry({ ...this.webhook, since, cursors, outstanding }))
  }

  async #append(entry: EntryBody): Promise<void> {
    if (!this.#held) throw leaseLost(this.id)
    await this.#held.log.append(entry)
  }
}

const pageEntry = (value: Page): EntryBody => ({ type: 'state', owner: pageOwner, value })

const isPage = (entry: LogEntry): entry is LogEntry & { readonly value: Page } =>
  entry.type === 'state' && entry.owner === pageOwner && isRecord(entry.value)
