import { isThenable } from '../core/cancellation.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import { AgentProviderError, AgentRateLimitError, messageOf } from '../core/errors.ts'
import {
  type ClassifiedError,
  type EventIterator,
  type ModelEvent,
  type ModelRequest,
  type Provider,
  plainProvider,
} from '../core/provider.ts'
import { DecoratedStream, done, isContent } from './decorated-stream.ts'
import { checkOptions, clockRule, isFunction, type OptionRules } from './options.ts'

/** When, and how often, a failed request is sent again. */
export interface RetryOptions {
  /** The number of retries after the first attempt, in spite of its name; 0 = none. */
  readonly maxAttempts?: number
  readonly initialDelayMs?: number
  readonly maxDelayMs?: number
  readonly backoffMultiplier?: number
  readonly retryableStatusCodes?: readonly number[]
  /** If the service asks for a longer pause, the request fails with an `AgentRateLimitError`. */
  readonly maxRetryAfterMs?: number
  /** No new attempt starts if attempts and pauses together would exceed this time. */
  readonly maxTotalMs?: number
  /** Called before each pause. `attempt` counts retries, from 1 to `max` (that of `retry` events is one more). Its errors are ignored. */
  readonly onRetry?: (attempt: number, max: number, delayMs: number, error: unknown) => void
  readonly clock?: Clock
  readonly random?: () => number
}

/**
 * Retries a request that failed for a transient reason, unless content of the reply has already arrived. If `options` is a
 * function it is called for each request; wrong options fail the request, and `undefined` leaves retries to the wrapped
 * provider. If `withRetry` wraps `withRetry`, only the outer one retries; otherwise the attempts would multiply.
 */
export function withRetry(provider: Provider, options: RetryOptions | (() => RetryOptions | undefined) = {}): Provider {
  const readPolicy = policyReader(options)
  return {
    ...plainProvider(provider),
    stream: (request, signal) =>
      request.callerRetries
        ? provider.stream(request, signal)
        : new RetryingStream(provider, readPolicy, request, signal),
  }
}

function policyReader(options: RetryOptions | (() => RetryOptions | undefined)): () => Policy | undefined {
  if (typeof options === 'function') {
    return () => {
      const current = options()
      return current === undefined ? undefined : policyOf(current)
    }
  }
  const policy = policyOf(options)
  return () => policy
}

function policyOf(options: RetryOptions): Policy {
  if (isThenable(options))
    throw new TypeError('withRetry takes its options as an object, got a promise; await it before')
  checkOptions('withRetry', options, rules)
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  return { ...defaults, ...Object.fromEntries(given) }
}

/** How long a service asks to wait, in ms; `undefined` if it says nothing, or nothing valid. Header names are in lower case. */
export function parseRetryAfter(
  headers: Readonly<Record<string, string | undefined>>,
  now: number,
): number | undefined {
  const ms = decimal(headers['retry-after-ms'])
  if (ms !== undefined) return ms
  const seconds = decimal(headers['retry-after'])
  if (seconds !== undefined) return seconds * 1000
  const date = headers['retry-after']?.trim() ?? ''
  if (!httpDate.test(date)) return undefined
  const pause = Date.parse(date.endsWith('GMT') ? date : `${date} GMT`) - now
  return pause >= 0 ? pause : undefined
}

function decimal(text = ''): number | undefined {
  const number = /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) : Number.NaN
  return Number.isFinite(number) ? number : undefined
}

/** `Date.parse` alone accepts nearly anything as a date, even "-5". */
const httpDate = /^(mon|tue|wed|thu|fri|sat|sun)[a-z]*,? .*\d\d:\d\d:\d\d/i

type Policy = Required<Omit<RetryOptions, 'onRetry'>> & Pick<RetryOptions, 'onRetry'>

const defaults: Policy = {
  maxAttempts: 3,
  initialDelayMs: 1000,
  maxDelayMs: 30_000,
  backoffMultiplier: 2,
  retryableStatusCodes: [408, 409, 429, 500, 502, 503, 504, 529],
  maxRetryAfterMs: 60_000,
  maxTotalMs: 300_000,
  clock: systemClock,
  random: Math.random,
}

/** For a request whose retries are left to the wrapped provider: its errors are passed on as they are. */
const noRetries: Policy = { ...defaults, maxAttempts: 0, maxRetryAfterMs: Number.POSITIVE_INFINITY }

const isStatus = (value: unknown): value is number => Number.isInteger(value) && Number(value) >= 400
const isTime = (value: unknown): value is number => typeof value === 'number' && value >= 0
const time = [isTime, 'a number of milliseconds, 0 or more'] as const

const rules: OptionRules<RetryOptions> = {
  maxAttempts: [(value) => Number.isInteger(value) && Number(value) >= 0, 'a whole number, 0 or more'],
  initialDelayMs: time,
  maxDelayMs: time,
  backoffMultiplier: [(value) => Number.isFinite(value) && Number(value) >= 1, 'a number of at least 1'],
  retryableStatusCodes: [
    (value) => Array.isArray(value) && value.every(isStatus),
    'a list of HTTP status codes from 400 on',
  ],
  maxRetryAfterMs: time,
  maxTotalMs: time,
  onRetry: [isFunction, 'a function'],
  clock: clockRule,
  random: [isFunction, 'a function that gives a number from 0 to 1'],
}

class RetryingStream extends DecoratedStream {
  readonly #provider: Provider
  readonly #readPolicy: () => Policy | undefined
  #policy: Policy = defaults
  #request: ModelRequest
  readonly #signal: AbortSignal
  #hasPolicy = false
  #isClosed = false
  /** The number of the present attempt. Attempts of the wrapped provider are counted too. */
  #attempt = 1
  #retries = 0
  #delayMs = 0
  #attemptStartedAt = 0
  /** Time taken by failed attempts and the pauses between them. */
  #spentMs = 0
  #endPause: (() => void) | undefined

  constructor(provider: Provider, readPolicy: () => Policy | undefined, request: ModelRequest, signal: AbortSignal) {
    super()
    this.#provider = provider
    this.#readPolicy = readPolicy
    this.#request = request
    this.#signal = signal
  }

  protected close(): void {
    this.#isClosed = true
    this.#endPause?.()
  }

  protected async nextBeforeContent(): Promise<IteratorResult<ModelEvent>> {
    if (this.#delayMs > 0 && !this.#isClosed) await this.#pause()
    if (this.#isClosed) return done
    if (!this.#hasPolicy) this.#loadPolicy()
    let result: IteratorResult<ModelEvent>
    try {
      this.inner ??= this.#startAttempt()
      result = await this.inner.next()
    } catch (error) {
      return { done: false, value: this.#retryOrThrow(error) }
    }
    if (result.done || this.#isClosed) return result
    const event = result.value
    // The wrapped provider retried: its attempt gets the next number here.
    if (event?.type === 'retry') return { done: false, value: { ...event, attempt: ++this.#attempt } }
    this.hasContent = isContent(event)
    return result
  }

  #startAttempt(): EventIterator {
    this.#attemptStartedAt = this.#policy.clock.now()
    return this.#provider.stream(this.#request, this.#signal)[Symbol.asyncIterator]()
  }

  /** Reads the options once for a request, so that all its attempts use the same ones. */
  #loadPolicy(): void {
    this.#isClosed = this.#hasPolicy = true // if the next line throws, the stream must stay closed
    const policy = this.#readPolicy()
    this.#policy = policy ?? noRetries
    if (policy) this.#request = { ...this.#request, callerRetries: true }
    this.#isClosed = false
  }

  /** Runs after the `retry` event was returned, so that a screen can show the reason for the pause. */
  #pause(): Promise<void> {
    const signal = this.#signal
    const delayMs = this.#delayMs
    this.#delayMs = 0
    return new Promise((resolve, reject) => {
      const end = (): void => {
        cancelTimer()
        signal.removeEventListener('abort', abort)
        this.#endPause = undefined
        resolve()
      }
      const abort = (): void => {
        this.#isClosed = true
        reject(signal.reason)
        end()
      }
      const cancelTimer = this.#policy.clock.timer(delayMs, end)
      this.#endPause = end
      if (signal.aborted) abort()
      else signal.addEventListener('abort', abort)
    })
  }

  #retryOrThrow(error: unknown): ModelEvent {
    const wasClosed = this.#isClosed || this.#signal.aborted
    this.#isClosed = true // if a line below throws, the stream must stay closed
    if (wasClosed) throw error
    const classified = classify(this.#provider, error)
    const delayMs = this.#delayAfter(error, classified)

    this.#isClosed = false
    this.inner = undefined
    this.#delayMs = delayMs
    notify(this.#policy, ++this.#retries, delayMs, error)
    const reason = classified?.message ?? messageOf(error)
    const code = classified?.providerCode !== undefined && { code: classified.providerCode }
    return { type: 'retry', attempt: ++this.#attempt, reason, ...code, delayMs }
  }

  /** The pause before the next attempt. Throws if there is to be none. */
  #delayAfter(error: unknown, classified: ClassifiedError | null): number {
    const policy = this.#policy
    if (!isTransient(error, classified, policy.retryableStatusCodes)) throw error
    const requestedMs = isTime(classified?.retryAfterMs) ? classified.retryAfterMs : undefined
    if (requestedMs !== undefined && requestedMs > policy.maxRetryAfterMs)
      throw this.#rateLimitError(error, classified, requestedMs, 'maxRetryAfterMs')
    if (this.#retries >= policy.maxAttempts) throw error
    const delayMs = requestedMs ?? backoff(policy, this.#retries)
    this.#spentMs += policy.clock.now() - this.#attemptStartedAt + delayMs
    if (this.#spentMs <= policy.maxTotalMs) return delayMs
    throw requestedMs === undefined ? error : this.#rateLimitError(error, classified, requestedMs, 'maxTotalMs')
  }

  #rateLimitError(
    cause: unknown,
    classified: ClassifiedError | null,
    requestedMs: number,
    limit: 'maxRetryAfterMs' | 'maxTotalMs',
  ): AgentRateLimitError {
    const { name } = this.#provider.meta
    const retryAt = Math.min(this.#policy.clock.now() + requestedMs, 8.64e15) // the latest date that can be represented
    const code = classified?.providerCode !== undefined && { providerCode: classified.providerCode }
    const error = new AgentRateLimitError(
      `Provider "${name}" failed: the service asked to wait until ${new Date(retryAt).toISOString()}, longer than ` +
        `${limit} (${this.#policy[limit]}) allows. Retry after that time. ` +
        `Service message: ${classified?.message ?? messageOf(cause)}`,
      { provider: name, ...code, retryable: true, cause },
    )
    error.retryAt = retryAt
    return error
  }
}

/** `null` if the provider's own `classifyError` throws. */
function classify(provider: Provider, error: unknown): ClassifiedError | null {
  try {
    return provider.classifyError?.(error) ?? null
  } catch {
    return null
  }
}

function isTransient(error: unknown, classified: ClassifiedError | null, statusCodes: readonly number[]): boolean {
  if (error instanceof AgentRateLimitError) return false // an inner withRetry has decided not to wait
  if (classified && (finalKinds.has(classified.kind) || classified.refused)) return false
  if (typeof classified?.retryable === 'boolean') return classified.retryable
  if (error instanceof AgentProviderError) return error.retryable === true
  if (classified?.kind === 'rate_limited') return true
  const { status, statusCode, message } = fieldsOf(error)
  const httpStatus = [status, statusCode].find(isStatus)
  // The status counts more than the text: the message of a 400 may contain the word "limit" too.
  if (httpStatus !== undefined) return statusCodes.includes(httpStatus)
  return hasTransientCode(error) || (typeof message === 'string' && transientMessage.test(message))
}

const finalKinds: ReadonlySet<string> = new Set(['context_exceeded', 'aborted', 'auth_failed', 'quota_exceeded'])
const transientCode =
  /^(ECONNRESET|ECONNREFUSED|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EPIPE|UND_ERR_SOCKET|UND_ERR_CONNECT_TIMEOUT)$/
const transientMessage = /(?<![a-z])rate[ _-]?limit|too many requests|(?<![\w.,])429(?!\w|[.,]\d)/i

function fieldsOf(error: unknown): Record<string, unknown> {
  if (typeof error === 'string') return { message: error }
  return typeof error === 'object' && error !== null ? (error as Record<string, unknown>) : {}
}

/** The error of `fetch` has no code; it is in its cause, or in the cause of that. */
function hasTransientCode(error: unknown): boolean {
  for (let fields = fieldsOf(error), depth = 0; depth <= 5; fields = fieldsOf(fields.cause), depth++)
    if (typeof fields.code === 'string' && transientCode.test(fields.code)) return true
  return false
}

/** Full jitter: clients that failed at the same time do not retry at the same time. */
function backoff({ initialDelayMs, maxDelayMs, backoffMultiplier, random }: Policy, retries: number): number {
  return Math.floor(random() * Math.min(maxDelayMs, initialDelayMs * backoffMultiplier ** retries))
}

function notify({ onRetry, maxAttempts }: Policy, attempt: number, delayMs: number, error: unknown): void {
  try {
    const returned: unknown = onRetry?.(attempt, maxAttempts, delayMs, error)
    if (isThenable(returned)) returned.then(undefined, () => {})
  } catch {
    // an observer cannot make a request fail
  }
}
