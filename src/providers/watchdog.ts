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

/** How long a stream may be silent, in ms, or by model; 0 = for ever. */
export interface WatchdogOptions {
  /** Until the first piece of an answer. */
  readonly firstEventMs?: number | ((model: string) => number)
  /** From one piece to the next. */
  readonly betweenEventsMs?: number | ((model: string) => number)
  /** For a whole reply, however much of it comes: a service may send a little again and again, and never an end. */
  readonly totalMs?: number | ((model: string) => number)
  readonly clock?: Clock
}

/**
 * Ends a stream that has fallen silent. Only pieces of the answer count, so a connection that is kept alive by pings
 * is silent too; and only while somebody waits for one, so a slow reader is not taken for a stall.
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

/** Nothing came for too long. */
export class StalledError extends Error {
  override readonly name = 'StalledError'
  readonly code = 'ETIMEDOUT'
  /** Something came, but never an end: the same request would take as long again. */
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

const over: Result = { done: true, value: undefined }

/**
 * Written by hand for the sake of the deltas: one promise each, which it takes to give up on a provider that does not
 * listen to its signal, and no timer. The one timer looks, when it fires, at how long the present wait has lasted.
 */
class WatchedStream implements AsyncIterableIterator<ModelEvent> {
  readonly #watch: Watch
  readonly #request: ModelRequest
  readonly #signal: AbortSignal
  readonly #stop = new Cancellation()
  #inner: EventIterator | undefined
  #letGo: (() => void) | undefined
  #callOff: (() => void) | undefined
  #resolve: ((result: Result) => void) | undefined
  #reject: ((error: unknown) => void) | undefined
  #isOver = false
  #hasContent = false
  #firstMs = 0
  #betweenMs = 0
  #totalMs = 0
  /** When the present wait began, and what earlier ones took that brought no content. */
  #waitsSince = 0
  #waitedMs = 0
  /** How long the service was silent before its first content. */
  #beganAfterMs = 0
  /** All earlier waits together. */
  #spentMs = 0

  constructor(watch: Watch, request: ModelRequest, signal: AbortSignal) {
    this.#watch = watch
    this.#request = request
    this.#signal = signal
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** What is there already was not waited for. */
  take(): ModelEvent | undefined {
    if (this.#isOver || !this.#hasContent) return undefined
    const event = this.#inner?.take?.()
    if (event === undefined) return undefined
    this.#waitsSince = this.#watch.clock.now()
    this.#note(event)
    return event
  }

  next(): Promise<Result> {
    if (this.#isOver) return Promise.resolve(over)
    const result = new Promise(this.#beginWait)
    try {
      this.#ask()
    } catch (error) {
      this.#onError(error)
    }
    return result
  }

  async return(): Promise<Result> {
    const resolve = this.#resolve
    this.#close()
    resolve?.(over)
    if (resolve) this.#stop.cancel(new Error('the stream was left')) // whoever is asked just now is not waited for
    await this.#inner?.return?.()
    return over
  }

  async throw(error?: unknown): Promise<Result> {
    await this.return()
    throw error
  }

  readonly #beginWait = (resolve: (result: Result) => void, reject: (error: unknown) => void): void => {
    this.#resolve = resolve
    this.#reject = reject
  }

  #ask(): void {
    const inner = (this.#inner ??= this.#open())
    if (this.#isOver) {
      leave(inner) // the abort came while it was opened
      return
    }
    this.#waitsSince = this.#watch.clock.now()
    if (!this.#callOff) this.#arm()
    inner.next().then(this.#onResult, this.#onError)
  }

  #open(): AsyncIterator<ModelEvent> {
    this.#signal.throwIfAborted() // an abort that came while nobody waited is said here, too
    const { provider } = this.#watch
    this.#firstMs = this.#limitOf('firstEventMs')
    this.#betweenMs = this.#limitOf('betweenEventsMs')
    this.#totalMs = this.#limitOf('totalMs')
    this.#letGo = followSignal(this.#signal, this.#stop)
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

  #arm(): void {
    const ms = Math.min(this.#silenceLeft(), this.#timeLeft())
    if (ms < Number.POSITIVE_INFINITY) this.#callOff = this.#watch.clock.timer(ms, this.#onTimer)
  }

  #disarm(): void {
    this.#callOff?.()
    this.#callOff = undefined
  }

  readonly #onTimer = (): void => {
    this.#callOff = undefined
    if (!this.#resolve) return // nobody waits; whoever does next will set it again
    if (this.#timeLeft() <= 0) this.#stop.cancel(this.#endless())
    else if (this.#silenceLeft() <= 0) this.#stop.cancel(this.#stalled())
    else this.#arm()
  }

  /** Until the present silence is too long. */
  #silenceLeft(): number {
    return this.#limitMs > 0 ? this.#limitMs - this.#waitedMs - this.#waitingMs() : Number.POSITIVE_INFINITY
  }

  /** Until the whole reply has taken too long. The time of a slow reader does not count. */
  #timeLeft(): number {
    return this.#totalMs > 0 ? this.#totalMs - this.#spentMs - this.#waitingMs() : Number.POSITIVE_INFINITY
  }

  #waitingMs(): number {
    return this.#watch.clock.now() - this.#waitsSince
  }

  #endless(): StalledError {
    return new StalledError(
      `the reply was not complete after ${inWords(this.#totalMs)}; for longer ones raise totalMs of withWatchdog (0 = off)`,
      true,
    )
  }

  #stalled(): StalledError {
    const time = inWords(this.#limitMs)
    if (this.#hasContent)
      return new StalledError(
        `the stream stalled: nothing came for ${time}; for longer pauses raise betweenEventsMs of withWatchdog (0 = off)`,
        this.#beganAfterMs > this.#betweenMs, // so slow from the beginning that another try would be, too
      )
    return new StalledError(
      `no answer began for ${time}; for a model that needs longer raise firstEventMs of withWatchdog (0 = off)`,
    )
  }

  /** Time is up, or the signal from outside says so: either way, the provider is not waited for. */
  readonly #onStop = (): void => {
    this.#disarm()
    const inner = this.#inner
    this.#inner = undefined
    this.#onError(this.#stop.reason)
    leave(inner)
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
    this.#spentMs += this.#waitingMs()
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
    if (!this.#hasContent) this.#beganAfterMs = silentMs + this.#waitingMs()
    this.#hasContent = true
    this.#disarm() // another limit from here on, or none
  }

  #noteOther(event: ModelEvent): void {
    this.#waitedMs += this.#waitingMs()
    if (event.type === 'alive') this.#waitedMs = 0
    if (event.type !== 'retry') return
    this.#hasContent = false
    this.#waitedMs = -(event.delayMs ?? 0) // a pause that was announced is no silence
    this.#disarm()
  }

  #close(): void {
    this.#isOver = true
    this.#resolve = undefined
    this.#reject = undefined
    this.#disarm()
    this.#letGo?.()
  }
}

const inWords = (ms: number): string => (ms < 1000 ? `${ms} ms` : `${ms / 1000} s`)

function leave(inner: AsyncIterator<ModelEvent> | undefined): void {
  try {
    inner?.return?.().then(undefined, () => {})
  } catch {
    // it had nothing to tidy up
  }
}
