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
import { isContent } from './decorated-stream.ts'
import { checkOptions, clockRule, type OptionRules } from './options.ts'

/** Time limits for a stream in ms, or a function of the model; 0 = no limit. */
export interface WatchdogOptions {
  /** Until the first content of a reply. */
  readonly firstContentMs?: number | ((model: string) => number)
  /** From one piece of content to the next. */
  readonly betweenContentMs?: number | ((model: string) => number)
  /** For a whole reply, because a service may keep sending small pieces and never end. */
  readonly totalMs?: number | ((model: string) => number)
  readonly clock?: Clock
}

/**
 * Ends a stream that has stalled. Content and `alive` events show that the service works; pings do not, so a connection
 * that only pings keep open stalls too. Time counts only while the caller waits for an event, so a slow reader is not taken
 * for a stall.
 */
export function withWatchdog(provider: Provider, options: WatchdogOptions = {}): Provider {
  checkOptions('withWatchdog', options, rules)
  const watch: Watch = {
    provider,
    firstContentMs: options.firstContentMs ?? 300_000,
    betweenContentMs: options.betweenContentMs ?? 120_000,
    totalMs: options.totalMs ?? 1_800_000,
    clock: options.clock ?? systemClock,
  }
  return {
    ...plainProvider(provider),
    stream: (request, signal) => new WatchedStream(watch, request, signal),
    classifyError(error) {
      if (!(error instanceof StalledError)) return provider.classifyError?.(error) ?? null
      return { kind: 'provider_error', providerCode: 'stalled', retryable: error.isRetryable, message: error.message }
    },
  }
}

/** A stream sent nothing, or did not end, within its time limit. */
export class StalledError extends Error {
  override readonly name = 'StalledError'
  readonly code = 'ETIMEDOUT'
  /** False if the service is slow rather than silent: another attempt would take as long. */
  readonly isRetryable: boolean
  constructor(message: string, isRetryable = true) {
    super(message)
    this.isRetryable = isRetryable
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
  firstContentMs: limitRule,
  betweenContentMs: limitRule,
  totalMs: limitRule,
  clock: clockRule,
}

const done: Result = { done: true, value: undefined }

/**
 * A hand-written iterator, to keep the cost of a delta low. Each delta costs one promise, which is needed to abandon a
 * provider that ignores its signal. The whole stream has one timer; when it fires, it checks how long the current wait has
 * lasted.
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
  #firstLimitMs = 0
  #betweenLimitMs = 0
  #totalLimitMs = 0
  /** When the current wait began. */
  #waitStartedAt = 0
  /** The sum of the earlier waits since the last content or `alive` event. */
  #silentMs = 0
  /** How long the service took to send its first content. */
  #timeToFirstContentMs = 0
  /** The sum of all earlier waits. */
  #earlierWaitsMs = 0

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
    this.#record(event)
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
    if (resolve) this.#stop.cancel(new Error('the stream was closed by its reader')) // the pending next() of the provider is not awaited
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
    this.#firstLimitMs = this.#limitOf('firstContentMs')
    this.#betweenLimitMs = this.#limitOf('betweenContentMs')
    this.#totalLimitMs = this.#limitOf('totalMs')
    this.#unfollowSignal = followSignal(this.#signal, this.#stop)
    this.#stop.onCancel(this.#onStop)
    return provider.stream(this.#request, this.#stop.signal)[Symbol.asyncIterator]()
  }

  #limitOf(option: 'firstContentMs' | 'betweenContentMs' | 'totalMs'): number {
    const limit = this.#watch[option]
    if (typeof limit === 'number') return limit
    const { model } = this.#request
    const ms = limit(model)
    if (!isLimit(ms))
      throw new TypeError(`withWatchdog: ${option}("${model}") must be ${limitRule[1]}, got ${show(ms)}`)
    return ms
  }

  get #limitMs(): number {
    return this.#hasContent ? this.#betweenLimitMs : this.#firstLimitMs
  }

  #startTimer(): void {
    const ms = Math.min(this.#silenceLeftMs(), this.#totalLeftMs())
    if (ms < Number.POSITIVE_INFINITY) this.#cancelTimer = this.#watch.clock.timer(ms, this.#onTimer)
  }

  #stopTimer(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }

  readonly #onTimer = (): void => {
    this.#cancelTimer = undefined
    if (!this.#resolve) return // no next() is pending; the following one starts the timer again
    if (this.#totalLeftMs() <= 0) this.#stop.cancel(this.#tooLong())
    else if (this.#silenceLeftMs() <= 0) this.#stop.cancel(this.#stalled())
    else this.#startTimer()
  }

  /** How long the current silence may still last. */
  #silenceLeftMs(): number {
    return this.#limitMs > 0 ? this.#limitMs - this.#silentMs - this.#currentWaitMs() : Number.POSITIVE_INFINITY
  }

  /** How long the whole reply may still take. The time of a slow reader does not count. */
  #totalLeftMs(): number {
    return this.#totalLimitMs > 0
      ? this.#totalLimitMs - this.#earlierWaitsMs - this.#currentWaitMs()
      : Number.POSITIVE_INFINITY
  }

  #currentWaitMs(): number {
    return this.#watch.clock.now() - this.#waitStartedAt
  }

  #tooLong(): StalledError {
    return new StalledError(
      `the reply was not complete after ${formatMs(this.#totalLimitMs)}; for longer ones raise totalMs of withWatchdog (0 = off)`,
      false,
    )
  }

  #stalled(): StalledError {
    const time = formatMs(this.#limitMs)
    if (this.#hasContent)
      return new StalledError(
        `the stream stalled: no content for ${time}; for longer pauses raise betweenContentMs of withWatchdog (0 = off)`,
        this.#timeToFirstContentMs <= this.#betweenLimitMs, // a service that was slow from the start would be slow again
      )
    return new StalledError(
      `no content within ${time}; for a model that needs longer raise firstContentMs of withWatchdog (0 = off)`,
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
    this.#earlierWaitsMs += this.#currentWaitMs()
    if (result?.done) this.#close()
    else this.#record(result?.value)
    resolve(result)
  }

  #record(event: ModelEvent): void {
    if (isContent(event)) this.#recordContent(event)
    else this.#recordOther(event)
  }

  #recordContent(event: ModelEvent): void {
    const earlierMs = this.#silentMs
    this.#silentMs = 0
    if (this.#hasContent && event?.type !== 'reply') return
    if (!this.#hasContent) this.#timeToFirstContentMs = earlierMs + this.#currentWaitMs()
    this.#hasContent = true
    this.#stopTimer() // from here on another limit applies
  }

  #recordOther(event: ModelEvent): void {
    this.#silentMs += this.#currentWaitMs()
    if (event.type === 'alive') this.#silentMs = 0
    if (event.type !== 'retry') return
    this.#hasContent = false
    this.#silentMs = -(event.delayMs ?? 0) // an announced pause does not count as silence
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
