import { type Clock, systemClock } from '../core/clock.ts'
import { AgentRateLimitError, messageOf } from '../core/errors.ts'
import { type ModelEvent, type ModelRequest, type Provider, plainProvider } from '../core/provider.ts'
import type { SessionStore } from '../core/store.ts'
import { sleep } from '../core/waiting.ts'
import { DecoratedStream, done, isContent } from '../providers/decorated-stream.ts'
import { type KeyState, type LimitBook, limitBook } from './limit-book.ts'

/** How long a key is closed if the service does not say when to come back. */
const unknownPauseMs = 10_000
/** A refused request waits at least this long, whatever the service says, and twice as long after each further refusal. */
const minPauseMs = 1000
const maxOwnPauseMs = 60_000
/** A request that has waited for so long fails. */
const maxWaitMs = 3_600_000
/** How often a key without a limit is looked up: another worker may have closed it. */
const lookMs = 1000

export interface ProviderLimitsOptions {
  /** Workers that share a Postgres store share the limits. With other stores they hold for this process. */
  readonly store: SessionStore
  /** By key. */
  readonly limits?: Readonly<Record<string, { readonly requestsPerMinute: number }>>
  readonly clock?: Clock
}

/** The limits of requests to models, over the whole fleet. */
export interface ProviderLimits {
  /**
   * A provider whose requests wait for their turn. A service that says 429 closes the key for all workers until the time that
   * it names. The default key is `name:model` of the request.
   */
  limited<P extends Provider>(provider: P, key?: string): P
  status(): Promise<readonly KeyState[]>
}

export function providerLimits({ store, limits = {}, clock = systemClock }: ProviderLimitsOptions): ProviderLimits {
  for (const [key, { requestsPerMinute }] of Object.entries(limits))
    if (!(requestsPerMinute > 0))
      throw new RangeError(`limits.providers["${key}"].requestsPerMinute is ${requestsPerMinute}; it must be above 0`)
  const book = limitBook(store, clock)
  const lookedUpAt = new Map<string, number>()

  /** Counts a request. A key without a limit is looked up at most once in `lookMs`. */
  const take: LimitBook['take'] = async (key, perMinute) => {
    const now = clock.now()
    if (perMinute === Number.POSITIVE_INFINITY && now - (lookedUpAt.get(key) ?? 0) < lookMs)
      return { waitMs: 0, isClosed: false }
    const taken = await book.take(key, perMinute)
    if (taken.waitMs === 0) lookedUpAt.set(key, now)
    return taken
  }

  const gate: Gate = {
    take: (key) => take(key, Object.hasOwn(limits, key) ? limits[key]!.requestsPerMinute : Number.POSITIVE_INFINITY),
    async close(key, ms) {
      lookedUpAt.delete(key)
      await book.close(key, ms)
    },
    clock,
  }
  return {
    limited: (provider, key) => ({
      ...provider,
      ...plainProvider(provider),
      stream: (request, signal) =>
        new LimitedStream(provider, key ?? `${provider.meta.name}:${request.model}`, gate, request, signal),
    }),
    status: () => book.list(),
  }
}

interface Gate {
  take(key: string): ReturnType<LimitBook['take']>
  close(key: string, ms: number): Promise<void>
  readonly clock: Clock
}

class LimitedStream extends DecoratedStream {
  readonly #provider: Provider
  readonly #key: string
  readonly #gate: Gate
  readonly #request: ModelRequest
  readonly #signal: AbortSignal
  /** Aborted when the reader closes this stream. */
  readonly #closer = new AbortController()
  #attempt = 1
  #delayMs = 0
  #waitsSince: number | undefined
  #refusals = 0

  constructor(provider: Provider, key: string, gate: Gate, request: ModelRequest, signal: AbortSignal) {
    super()
    this.#provider = provider
    this.#key = key
    this.#gate = gate
    this.#request = request
    this.#signal = signal
  }

  protected close(): void {
    this.#closer.abort()
  }

  protected async nextBeforeContent(): Promise<IteratorResult<ModelEvent>> {
    if (this.#delayMs > 0) await this.#pause()
    if (this.#closer.signal.aborted) return done
    if (!this.inner) {
      const { waitMs, isClosed } = await this.#gate.take(this.#key)
      this.#signal.throwIfAborted()
      const why = isClosed ? 'the service asked all workers to wait' : 'its requests of this minute are used up'
      if (waitMs > 0) return { done: false, value: this.#waitFor(waitMs, why) }
      this.inner = this.#provider.stream(this.#request, this.#signal)[Symbol.asyncIterator]()
    }
    let result: IteratorResult<ModelEvent>
    try {
      result = await this.inner.next()
    } catch (error) {
      return { done: false, value: await this.#afterError(error) }
    }
    if (result.done) return result
    const event = result.value
    if (event?.type === 'retry') {
      // The provider waits itself; the other workers must wait too.
      if (saysRateLimit(`${event.code} ${event.reason}`))
        await this.#gate.close(this.#key, event.delayMs ?? unknownPauseMs)
      return { done: false, value: { ...event, attempt: ++this.#attempt } }
    }
    this.hasContent = isContent(event)
    return result
  }

  /** The pause is at most a second longer than asked for, so that requests that wait do not all come back at once. */
  #waitFor(waitMs: number, why: string, cause?: unknown): ModelEvent {
    const now = this.#gate.clock.now()
    this.#waitsSince ??= now
    if (now - this.#waitsSince > maxWaitMs) throw this.#tooLong(waitMs, why, cause)
    this.#delayMs = Math.ceil(waitMs + Math.random() * Math.min(1000, waitMs / 10))
    const reason = `Requests of "${this.#key}" wait: ${why}`
    return { type: 'retry', attempt: ++this.#attempt, reason, delayMs: this.#delayMs }
  }

  /** After the event was returned, so that a screen can show the reason. */
  async #pause(): Promise<void> {
    const ms = this.#delayMs
    this.#delayMs = 0
    await sleep(ms, { clock: this.#gate.clock, signals: [this.#signal, this.#closer.signal] })
    this.#signal.throwIfAborted()
  }

  async #afterError(error: unknown): Promise<ModelEvent> {
    this.inner = undefined
    const pauseMs = this.#signal.aborted ? undefined : pauseAfter(this.#provider, error, this.#gate.clock.now())
    if (pauseMs === undefined) throw error
    await this.#gate.close(this.#key, pauseMs)
    const ownMs = Math.min(maxOwnPauseMs, minPauseMs * 2 ** this.#refusals++)
    return this.#waitFor(Math.max(pauseMs, ownMs), `the service asked all workers to wait (${messageOf(error)})`, error)
  }

  #tooLong(waitMs: number, why: string, cause: unknown): AgentRateLimitError {
    const { name } = this.#provider.meta
    const waitedMs = this.#gate.clock.now() - this.#waitsSince!
    const error = new AgentRateLimitError(
      `A request of "${this.#key}" waited ${Math.round(waitedMs / 60_000)} minutes: ${why}. Raise the limit, or send fewer requests.`,
      { provider: name, retryable: true, cause },
    )
    error.retryAt = this.#gate.clock.now() + waitMs
    return error
  }
}

/** How long the service asks to wait, if it refused the request because there were too many. */
function pauseAfter(provider: Provider, error: unknown, now: number): number | undefined {
  if (error instanceof AgentRateLimitError) return Math.max(minPauseMs, (error.retryAt ?? now + unknownPauseMs) - now)
  try {
    const classified = provider.classifyError?.(error)
    return classified?.kind === 'rate_limited'
      ? Math.max(minPauseMs, classified.retryAfterMs ?? unknownPauseMs)
      : undefined
  } catch {
    return undefined
  }
}

const saysRateLimit = (text: string): boolean => /rate.?limit|too many requests|(?<!\d)429(?!\d)/i.test(text)
