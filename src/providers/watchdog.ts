import { show } from '../core/behavior.ts'
import { Cancellation, followSignal } from '../core/cancellation.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import {
  type EventIterator,
  type ModelEvent,
  type ModelRequest,
  type Provider,
  plainProvider,
} from '../core/provider.ts'
import { checkOptions, clockRule, type OptionRules } from './options.ts'
import { isContent } from './retry.ts'

/** Time limits for a stream in ms, or a function of the model; 0 = no limit. */
export interface WatchdogOptions {
  /** Until the first content of a reply. */
  readonly firstEventMs?: number | ((model: string) => number)
  /** From one piece of content to the next. */
  readonly betweenEventsMs?: number | ((model: string) => number)
  /** For a whole reply, because a service may keep sending small pieces and never end. */
  readonly totalMs?: number | ((model: string) => number)
  readonly clock?: Clock
}

/**
 * Ends a stream that has stalled. Only content counts, so a connection that is kept open by pings stalls too. Time counts
 * only while the caller waits for an event, so a slow reader is not taken for a stall.
 */
export function withWatchdog(provider: Provider, options: WatchdogOptions = {}): Provider {
  checkOptions('withWatchdog', options, rules)
  const watch: Watch = {
    provider,
    firstEventMs: options.firstEventMs ?? 300_000,
    betweenEventsMs: options.betweenEventsMs ?? 120_000,
    totalMs: options.totalMs ?? 1_800_000,
    clock: options.clock ?? systemClock,
  }
  return {
    ...plainProvider(provider),
    stream: (request, signal) => new WatchedStream(watch, request, signal),
    classifyError(error) {
      if (!(error instanceof StalledError)) return provider.classifyError?.(error) ?? null
      return { kind: 'provider_error', providerCode: 'stalled', retryable: !error.isEndless, message: error.message }
    },
  }
}

/** A stream sent nothing, or did not end, within its time limit. */
export class StalledError extends Error {
  override readonly name = 'StalledError'
  readonly code = 'ETIMEDOUT'
  /** The reply was too slow, but not silent: another attempt would take as long. */
  readonly isEndless: boolean
  constructor(message: string, isEndless = false) {
    super(message)
    this.isEndless = isEndless
  }
}

type Watch = Required<WatchdogOptions> & { readonly provider: Provider }
type Result = IteratorResult<ModelEvent>

const isLimit = (value: unknown): boolean => Number.isFinite(value) && (value as number) >= 0
const limitRule = [
  (value: unknown) => isLimit(value) || typeof value === 'function',
  'a number of milliseconds (0 = off) or a function (model) => number',
] as const
const rules: OptionRules<WatchdogOptions> = {
  firstEventMs: limitRule,
  betweenEventsMs: limitRule,
  totalMs: limitRule,
  clock: clockRule,
}

const done: Result = { done: true, value: undefined }

/**
 * A hand-written iterator, to keep the cost of a delta low: one promise, which is needed to abandon a provider that
 * ignores its signal, and no timer. When the one timer of the stream fires, it checks how long the current wait has lasted.
 */
class WatchedStream implements AsyncIterableIterator<ModelEvent> {
  readonly #watch: Watch
  readonly #request: ModelRequest
  readonly #signal: AbortSignal
  readonly #stop = new Cancellation()
  #inner: EventIterator | undefined
  #unfollowSignal: (() => void) | undefined
  #cancelTimer: (() => void) | undefined
  #resolve: ((result: Result) => void) | undefined
  #reject: ((error: unknown) => void) | undefined
  #isClosed = false
  #hasContent = false
  #firstMs = 0
  #betweenMs = 0
  #totalMs = 0
  /** When the current wait began. */
  #waitStartedAt = 0
  /** How long earlier waits took that brought no content. */
  #waitedMs = 0
  /** How long the service took to send its first content. */
  #firstContentMs = 0
  /** The sum of all earlier waits. */
  #totalWaitedMs = 0

  constructor(watch: Watch, request: ModelRequest, signal: AbortSignal) {
    this.#watch = watch
    this.#request = request
    this.#signal = signal
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** An event that is already there takes no time. */
  take(): ModelEvent | undefined {
    if (this.#isClosed || !this.#hasContent) return undefined
    const event = this.#inner?.take?.()
    if (event === undefined) return undefined
    this.#waitStartedAt = this.#watch.clock.now()
    this.#note(event)
    return event
  }

  next(): Promise<Result> {
    if (this.#isClosed) return Promise.resolve(done)
    const result = new Promise(this.#beginWait)
    try {
      this.#requestNext()
    } catch (error) {
      this.#onError(error)
    }
    return result
  }

  async return(): Promise<Result> {
    const resolve = this.#resolve
    this.#close()
    resolve?.(done)
    if (resolve) this.#stop.cancel(new Error('the stream was left')) // the pending next() of the provider is not awaited
    await this.#inner?.return?.()
    return done
  }

  async throw(error?: unknown): Promise<Result> {
    await this.return()
    throw error
  }

  readonly #beginWait = (resolve: (result: Result) => void, reject: (error: unknown) => void): void => {
    this.#resolve = resolve
    this.#reject = reject
  }

  #requestNext(): void {
    const inner = (this.#inner ??= this.#open())
    if (this.#isClosed) {
      closeQuietly(inner) // it was aborted while it was opened
      return
    }
    this.#waitStartedAt = this.#watch.clock.now()
    if (!this.#cancelTimer) this.#startTimer()
    inner.next().then(this.#onResult, this.#onError)
  }

  #open(): AsyncIterator<ModelEvent> {
    this.#signal.throwIfAborted() // it may have been aborted before the first next()
    const { provider } = this.#watch
    this.#firstMs = this.#limitOf('firstEventMs')
    this.#betweenMs = this.#limitOf('betweenEventsMs')
    this.#totalMs = this.#limitOf('totalMs')
    this.#unfollowSignal = followSignal(this.#signal, this.#stop)
    this.#stop.onCancel(this.#onStop)
    return provider.stream(this.#request, this.#stop.signal)[Symbol.asyncIterator]()
  }

  #limitOf(option: 'firstEventMs' | 'betweenEventsMs' | 'totalMs'): number {
    const limit = this.#watch[option]
    if (typeof limit === 'number') return limit
    const { model } = this.#request
    const ms = limit(model)
    if (!isLimit(ms))
      throw new TypeError(`withWatchdog: ${option}("${model}") must be ${limitRule[1]}, got ${show(ms)}`)
    return ms
  }

  get #limitMs(): number {
    return this.#hasContent ? this.#betweenMs : this.#firstMs
  }

  #startTimer(): void {
    const ms = Math.min(this.#silenceLeft(), this.#timeLeft())
    if (ms < Number.POSITIVE_INFINITY) this.#cancelTimer = this.#watch.clock.timer(ms, this.#onTimer)
  }

  #stopTimer(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }

  readonly #onTimer = (): void => {
    this.#cancelTimer = undefined
    if (!this.#resolve) return // no next() is pending; the following one starts the timer again
    if (this.#timeLeft() <= 0) this.#stop.cancel(this.#tooLong())
    else if (this.#silenceLeft() <= 0) this.#stop.cancel(this.#stalled())
    else this.#startTimer()
  }

  /** How long the current silence may still last. */
  #silenceLeft(): number {
    return this.#limitMs > 0 ? this.#limitMs - this.#waitedMs - this.#waitingMs() : Number.POSITIVE_INFINITY
  }

  /** How long the whole reply may still take. The time of a slow reader does not count. */
  #timeLeft(): number {
    return this.#totalMs > 0 ? this.#totalMs - this.#totalWaitedMs - this.#waitingMs() : Number.POSITIVE_INFINITY
  }

  #waitingMs(): number {
    return this.#watch.clock.now() - this.#waitStartedAt
  }

  #tooLong(): StalledError {
    return new StalledError(
      `the reply was not complete after ${formatMs(this.#totalMs)}; for longer ones raise totalMs of withWatchdog (0 = off)`,
      true,
    )
  }

  #stalled(): StalledError {
    const time = formatMs(this.#limitMs)
    if (this.#hasContent)
      return new StalledError(
        `the stream stalled: nothing came for ${time}; for longer pauses raise betweenEventsMs of withWatchdog (0 = off)`,
        this.#firstContentMs > this.#betweenMs, // a service this slow from the start would be slow again
      )
    return new StalledError(
      `no answer began for ${time}; for a model that needs longer raise firstEventMs of withWatchdog (0 = off)`,
    )
  }

  /** A time limit or the caller's signal ended the stream: the provider is not awaited. */
  readonly #onStop = (): void => {
    this.#stopTimer()
    const inner = this.#inner
    this.#inner = undefined
    this.#onError(this.#stop.reason)
    closeQuietly(inner)
  }

  readonly #onError = (error: unknown): void => {
    const reject = this.#reject
    if (!reject) return
    this.#close()
    reject(error)
  }

  readonly #onResult = (result: Result): void => {
    const resolve = this.#resolve
    if (!resolve) return
    this.#resolve = undefined
    this.#reject = undefined
    this.#totalWaitedMs += this.#waitingMs()
    if (result?.done) this.#close()
    else this.#note(result?.value)
    resolve(result)
  }

  #note(event: ModelEvent): void {
    if (isContent(event)) this.#noteContent(event)
    else this.#noteOther(event)
  }

  #noteContent(event: ModelEvent): void {
    const silentMs = this.#waitedMs
    this.#waitedMs = 0
    if (this.#hasContent && event?.type !== 'reply') return
    if (!this.#hasContent) this.#firstContentMs = silentMs + this.#waitingMs()
    this.#hasContent = true
    this.#stopTimer() // from here on another limit applies
  }

  #noteOther(event: ModelEvent): void {
    this.#waitedMs += this.#waitingMs()
    if (event.type === 'alive') this.#waitedMs = 0
    if (event.type !== 'retry') return
    this.#hasContent = false
    this.#waitedMs = -(event.delayMs ?? 0) // an announced pause is no silence
    this.#stopTimer()
  }

  #close(): void {
    this.#isClosed = true
    this.#resolve = undefined
    this.#reject = undefined
    this.#stopTimer()
    this.#unfollowSignal?.()
  }
}

const formatMs = (ms: number): string => (ms < 1000 ? `${ms} ms` : `${ms / 1000} s`)

function closeQuietly(inner: AsyncIterator<ModelEvent> | undefined): void {
  try {
    inner?.return?.().then(undefined, () => {})
  } catch {
    // there was nothing to clean up
  }
}
