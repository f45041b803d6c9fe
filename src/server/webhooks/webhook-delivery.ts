import type { Clock } from '../../core/clock.ts'
import { LeaseLostError, messageOf, SessionBusyError, SessionNotFoundError } from '../../core/errors.ts'
import type { SessionStore, SessionSummary } from '../../core/store.ts'
import { sleep } from '../../core/waiting.ts'
import { leaseHolderOf } from '../../sessions/family.ts'
import { eachEntry, eachEntryBackwards } from '../../sessions/history.ts'
import { SessionNames } from '../session-names.ts'
import type { WebhookPoster } from './post-webhook.ts'
import { signedHeaders } from './sign-webhook.ts'
import { isWebhookId, webhookName } from './webhook.ts'
import type { Cursor, WebhookBook } from './webhook-book.ts'
import { type EventEntry, isEvent, type WebhookMessage, webhookMessage } from './webhook-message.ts'

interface WebhookDeliveryOptions {
  readonly book: WebhookBook
  readonly tenant: string | undefined
  readonly store: SessionStore
  readonly poster: WebhookPoster
  readonly clock: Clock
  readonly onError: (error: Error) => void
  /**
   * Set if the caller looks at a session again by itself: nothing waits here for a receiver that failed, or for another process
   * that delivers.
   */
  readonly later?: (summary: SessionSummary, ms: number) => void
}

/** A session that is being looked at or delivered. */
interface OngoingSession {
  summary: SessionSummary
  /** The session has changed since. */
  isAgain: boolean
  /** The entry before the event that is being delivered. */
  position?: Cursor
  /** Resolves when the session needs nothing more for now. */
  done?: Promise<void>
}

/** The receiver failed, and the session is looked at again after a while. */
class TryLater extends Error {
  readonly ms: number

  constructor(ms: number) {
    super('the receiver failed')
    this.ms = ms
  }
}

/** An event is tried again for so long, and at least `leastTries` times if it was older when a server first tried. */
const retryForMs = 3 * 86_400_000
const leastTries = 5
const firstRetryMs = 2000
const longestRetryMs = 2 * 3_600_000
/** When a session is looked at again of which another process is delivering something. */
const againMs = 1000

/** The most requests and sessions under way at a time; a later sweep takes care of further sessions. */
const maxRequests = 4
const maxSessions = 1000

/** The shortest time between two sweeps from `since` on, which another process may make in vain while this one delivers. */
const wholeSweepMs = 30_000

/** Clocks of machines may differ by so much, and an entry may be stored so long after its time, before an event could be missed. */
const toleranceMs = 86_400_000
/** When a page is written. */
const pageEveryMs = 2 * toleranceMs
const pageEveryMoves = 1000

/** Delivers the events of sessions to one webhook: at least once, and those of a session in their order. */
export class WebhookDelivery {
  /** Some sessions that have changed may not have been looked at: the next sweep begins at `since`. */
  isBehind = true
  readonly #options: WebhookDeliveryOptions
  readonly #names: SessionNames
  readonly #sessions = new Map<string, OngoingSession>()
  readonly #work = new Set<Promise<void>>()
  /** How far each session was looked at. */
  readonly #seen = new Map<string, Cursor>()
  readonly #closing = new AbortController()
  /** The lease, only while something is delivered: a session that kills its process is recognized by being held alone. */
  #held: { readonly taken: Promise<void>; readonly stop: AbortController } | undefined
  #released: Promise<void> = Promise.resolve()
  #nextWholeSweep = 0
  #requests = 0
  readonly #waiting: (() => void)[] = []
  #isFailing = false

  constructor(options: WebhookDeliveryOptions) {
    this.#options = options
    this.#names = new SessionNames(options.tenant)
  }

  /** Looks at a session that may have changed, and delivers what it has. Resolves when it needs nothing more for now. */
  async notice(summary: SessionSummary): Promise<void> {
    const { id, head } = summary
    if (this.#closing.signal.aborted || isWebhookId(id) || !id.startsWith(this.#names.prefix)) return
    const known = this.#sessions.get(id)
    if (known) Object.assign(known, { summary, isAgain: true })
    else if (head <= (this.#seenOf(summary) ?? -1)) return
    else if (this.#sessions.size >= maxSessions) this.isBehind = true
    else {
      const ongoing: OngoingSession = { summary, isAgain: true }
      this.#sessions.set(id, ongoing)
      const deliver = () => this.#deliverSession(ongoing).catch((error) => this.#leaveSession(ongoing, error))
      ongoing.done = this.#do(() => deliver().finally(() => this.#sessions.delete(id)))
    }
    await this.#sessions.get(id)?.done
  }

  /** Whether something is being delivered. */
  get isBusy(): boolean {
    return this.#work.size > 0
  }

  #leaveSession({ summary }: OngoingSession, error: unknown): void {
    const { later } = this.#options
    const isOver = this.#closing.signal.aborted || error instanceof SessionNotFoundError
    if (!isOver) later?.(summary, error instanceof TryLater ? error.ms : againMs)
    const isLater = error instanceof TryLater || (later && error instanceof SessionBusyError)
    if (!isLater) throw error
  }

  /** Before a sweep: reads what other processes delivered. Resolves with the time at which the sweep has to begin. */
  async beginSweep(recently: number): Promise<number> {
    const { book, store, clock } = this.#options
    const now = clock.now()
    if (!this.isBehind || this.#sessions.size >= maxSessions || now < this.#nextWholeSweep) return recently
    this.#nextWholeSweep = now + wholeSweepMs
    await book.read()
    this.isBehind = false
    for (const id of book.outstanding) {
      const summary = await store.find(id)
      if (summary) void this.notice(summary)
    }
    return book.since
  }

  /** After a sweep: writes a page if it is time. */
  tidy(): void {
    const { book, store, clock } = this.#options
    const isDue = (): boolean => clock.now() - book.since > pageEveryMs || book.moves >= pageEveryMoves
    const isSettled = (): boolean => !this.isBehind && [...this.#sessions.values()].every(({ position }) => position)
    if (!isDue() || !isSettled()) return
    this.#do(async () => {
      await this.#hold()
      const since = Math.max(book.since, clock.now() - toleranceMs)
      const kept = new Map<string, Cursor>()
      for (const [id, cursor] of book.cursors) {
        const updatedAt = (await store.find(id))?.updatedAt ?? 0
        if (updatedAt >= since) kept.set(id, cursor)
      }
      for (const [id, { position }] of this.#sessions) if (position) kept.set(id, position)
      // Another process may have written one, and a session may have come that was not looked at yet.
      if (!isDue() || !isSettled()) return
      await book.writePage(since, kept, [...this.#sessions.keys()])
      for (const id of this.#seen.keys()) if (!kept.has(id)) this.#seen.delete(id)
    })
  }

  /** Stops at once. What was not delivered stays undelivered. */
  async close(): Promise<void> {
    this.#closing.abort()
    this.#held?.stop.abort()
    while (this.#work.size > 0) await Promise.all(this.#work)
  }

  /** Gives the lease back when no work is left. */
  #do(work: () => Promise<void>): Promise<void> {
    const done: Promise<void> = work()
      .catch((error) => this.#failed(error))
      .then(() => this.#releaseAfter(done))
    this.#work.add(done)
    return done
  }

  async #releaseAfter(work: Promise<void>): Promise<void> {
    const held = this.#held
    if (held && this.#work.size === 1) {
      this.#held = undefined
      this.#released = held.taken.then(() => this.#options.book.release()).catch(() => {}) // it ends by itself
      await this.#released
    }
    this.#work.delete(work)
  }

  #failed(error: unknown): void {
    const isKnown = this.isBehind // one report is enough
    this.isBehind = true
    // What was written is unknown: all begin again with what the store has.
    this.#held?.stop.abort(error)
    const isExpected = [SessionBusyError, LeaseLostError, SessionNotFoundError].some((one) => error instanceof one)
    if (isExpected || isKnown || this.#closing.signal.aborted) return
    this.#options.onError(new Error(`${this.#name} could not be looked after: ${messageOf(error)}`, { cause: error }))
  }

  get #name(): string {
    return `Webhook "${webhookName(this.#options.book.id)}"`
  }

  async #deliverSession(ongoing: OngoingSession): Promise<void> {
    while (ongoing.isAgain) {
      ongoing.isAgain = false
      if (await this.#names.owns(this.#options.store, ongoing.summary)) await this.#deliverAll(ongoing, ongoing.summary)
    }
  }

  async #deliverAll(ongoing: OngoingSession, summary: SessionSummary): Promise<void> {
    const { book } = this.#options
    const { id, createdAt: of } = summary
    const known = Math.max(this.#seenOf(summary) ?? -1, book.cursorOf(summary) ?? -1)
    for (let after = known < 0 ? await this.#start(id) : known; ; ) {
      const { event, last } = await this.#nextEvent(summary, after)
      if (!event) return void this.#seen.set(id, { seq: last, of })
      ongoing.position = { seq: event.seq - 1, of }
      await this.#hold()
      const cursor = book.cursorOf(summary) ?? 0
      // Else another process has delivered it.
      if (cursor < event.seq) {
        await this.#deliver(event, summary)
        await book.move(summary, event.seq)
      }
      after = Math.max(cursor, event.seq)
      delete ongoing.position
    }
  }

  #seenOf({ id, createdAt }: SessionSummary): number | undefined {
    const seen = this.#seen.get(id)
    return seen?.of === createdAt ? seen.seq : undefined
  }

  /** The last entry from before the webhook was made, or that a fork shares with its original. */
  async #start(id: string): Promise<number> {
    const { book, store } = this.#options
    for await (const entry of eachEntryBackwards(store, id))
      if (entry.at < book.since || (entry.type === 'state' && entry.owner === 'fork')) return entry.seq
    return 0
  }

  async #nextEvent({ id, parent }: SessionSummary, after: number): Promise<{ event?: EventEntry; last: number }> {
    const { book, store } = this.#options
    let last = after
    for await (const entry of eachEntry(store, id, { after })) {
      if (isEvent(entry, book.webhook.events, parent !== undefined)) return { event: entry, last }
      last = entry.seq
    }
    return { last }
  }

  /** Resolves when the receiver has accepted the event, or when it is given up. Rejects if it stays undelivered for now. */
  async #deliver(entry: EventEntry, summary: SessionSummary): Promise<void> {
    const { id } = summary
    const { store, clock, onError, book, later } = this.#options
    const before = later ? book.triedOf(summary, entry.seq) : undefined
    if (before && before.nextAt > clock.now()) throw new TryLater(before.nextAt - clock.now())
    const root = (await leaseHolderOf(store, id))?.holder
    const message = webhookMessage(entry, this.#names.shown(id), root && this.#names.shown(root))
    for (let tries = (before?.tries ?? 0) + 1; ; tries++) {
      const problem = await this.#post(message)
      if (problem === undefined) return void (this.#isFailing = false)
      if (clock.now() - entry.at >= retryForMs && tries >= leastTries)
        return onError(new Error(`${this.#name} was not told about an event within 3 days: ${problem}`))
      if (!this.#isFailing) onError(new Error(`${this.#name} is tried again, its receiver failed: ${problem}`))
      this.#isFailing = true
      const ms = retryMs(tries)
      if (later) {
        await book.noteTry(summary, { seq: entry.seq, tries, nextAt: clock.now() + ms })
        throw new TryLater(ms)
      }
      await sleep(ms, { clock, signals: [this.#signal] })
      if (!(await store.find(id))) return // a deleted session tells nothing more
    }
  }

  /** Why the receiver has not accepted the message; undefined if it has. */
  async #post(message: WebhookMessage): Promise<string | undefined> {
    const { book, store, clock, poster } = this.#options
    while (this.#requests >= maxRequests) await new Promise<void>((resolve) => void this.#waiting.push(resolve))
    this.#requests++
    const signal = this.#signal
    try {
      signal.throwIfAborted()
      // Another process may have deleted the webhook.
      if (!(await store.find(book.id))) throw new SessionNotFoundError(book.id)
      const { url, secret } = book.webhook
      const headers = await signedHeaders(secret, { ...message, now: clock.now() })
      const problem = await poster.post({ url, headers, body: message.body, signal })
      if (problem !== undefined) signal.throwIfAborted()
      return problem
    } finally {
      this.#requests--
      this.#waiting.shift()?.()
    }
  }

  get #signal(): AbortSignal {
    return (this.#held?.stop ?? this.#closing).signal
  }

  /** Takes the lease, unless it is held. */
  async #hold(): Promise<void> {
    this.#closing.signal.throwIfAborted()
    if (!this.#held) {
      const stop = new AbortController()
      const taken = this.#released.then(() => this.#options.book.hold((error) => stop.abort(error)))
      this.#held = { stop, taken }
    }
    const held = this.#held
    try {
      await held.taken
    } catch (error) {
      if (this.#held === held) this.#held = undefined // the next one tries again
      throw error
    }
    held.stop.signal.throwIfAborted()
  }
}

/** Grows, with jitter, so that receivers that failed together are not asked together. */
const retryMs = (tries: number): number =>
  Math.min(longestRetryMs, firstRetryMs * 4 ** Math.min(tries - 1, 10)) * (0.5 + Math.random() / 2)
