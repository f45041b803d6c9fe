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
import { checkOptions, clockRule, isFunction, type OptionRules } from './options.ts'

/** When and how often a failed request is sent again. */
export interface RetryOptions {
  /** Retries after the first try; 0 = none. */
  readonly maxAttempts?: number
  readonly initialDelayMs?: number
  readonly maxDelayMs?: number
  readonly backoffMultiplier?: number
  readonly retryableStatusCodes?: readonly number[]
  /** A service that asks for a longer pause fails the request with an `AgentRateLimitError`. */
  readonly maxRetryAfterMs?: number
  /** Once so much time has passed since the first try, waiting included, there is no other one. */
  readonly maxTotalMs?: number
  /** Told before each wait; `attempt` counts retries from 1 to `max`. What it throws is ignored. */
  readonly onRetry?: (attempt: number, max: number, delayMs: number, error: unknown) => void
  readonly clock?: Clock
  readonly random?: () => number
}

/**
 * Sends a request again that failed for a passing reason, until the first piece of an answer has come. Options given by a
 * function are read at each request; wrong ones fail it, and without any it is left to a provider that does so itself.
 * Of several around each other the outermost counts: they would multiply.
 */
export function withRetry(provider: Provider, options: RetryOptions | (() => RetryOptions | undefined) = {}): Provider {
  const readPolicy = typeof options === 'function' ? () => policyIf(options()) : always(policyOf(options))
  return {
    ...plainProvider(provider),
    stream: (request, signal) =>
      request.isRetried ? provider.stream(request, signal) : new RetryingStream(provider, readPolicy, request, signal),
  }
}

const always = (policy: Policy) => () => policy

const policyIf = (options: RetryOptions | undefined): Policy | undefined =>
  options === undefined ? undefined : policyOf(options)

function policyOf(options: RetryOptions): Policy {
  if (isThenable(options))
    throw new TypeError('withRetry takes its options as an object, got a promise; await it before')
  checkOptions('withRetry', options, rules)
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  return { ...defaults, ...Object.fromEntries(given) }
}

/** How long a service asks to wait, in ms; names in lower case. Nothing when it does not say, or nonsense. */
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

/** `Date.parse` alone takes nearly anything for a date, even "-5". */
const httpDate = /^(mon|tue|wed|thu|fri|sat|sun)[a-z]*,? .*\d\d:\d\d:\d\d/i

/** Whether an event is part of an answer, and not only about getting one. */
export function isContent(event: ModelEvent): boolean {
  const type = event?.type // a broken event is for others to complain about
  return type !== 'start' && type !== 'repair' && type !== 'oauth_refresh' && type !== 'retry' && type !== 'alive'
}

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

const over: IteratorResult<ModelEvent> = { done: true, value: undefined }

/** Written by hand: a generator would cost promises for each delta, and deltas are what streams are made of. */
class RetryingStream implements AsyncIterableIterator<ModelEvent> {
  readonly #provider: Provider
  readonly #readPolicy: () => Policy | undefined
  #policy: Policy = defaults
  #request: ModelRequest
  readonly #signal: AbortSignal
  #inner: EventIterator | undefined
  #hasBegun = false
  #hasContent = false
  #isOver = false
  #attempt = 1
  #retries = 0
  #delayMs = 0
  #askedAt = 0
  /** By tries that failed, and the pauses between them. */
  #spentMs = 0
  #stopWaiting: (() => void) | undefined

  constructor(provider: Provider, readPolicy: () => Policy | undefined, request: ModelRequest, signal: AbortSignal) {
    this.#provider = provider
    this.#readPolicy = readPolicy
    this.#request = request
    this.#signal = signal
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  take(): ModelEvent | undefined {
    return this.#hasContent ? this.#inner?.take?.() : undefined
  }

  next(): Promise<IteratorResult<ModelEvent>> {
    return this.#hasContent ? this.#inner!.next() : this.#beforeContent()
  }

  async return(): Promise<IteratorResult<ModelEvent>> {
    this.#isOver = true
    this.#hasContent = false
    this.#stopWaiting?.()
    await this.#inner?.return?.()
    return over
  }

  async throw(error?: unknown): Promise<IteratorResult<ModelEvent>> {
    await this.return()
    throw error
  }

  async #beforeContent(): Promise<IteratorResult<ModelEvent>> {
    if (this.#delayMs > 0 && !this.#isOver) await this.#wait()
    if (this.#isOver) return over
    if (!this.#hasBegun) this.#begin()
    let result: IteratorResult<ModelEvent>
    try {
      this.#inner ??= this.#ask()
      result = await this.#inner.next()
    } catch (error) {
      return { done: false, value: this.#retryOrThrow(error) }
    }
    if (result.done || this.#isOver) return result
    const event = result.value
    if (event?.type === 'retry') return { done: false, value: { ...event, attempt: ++this.#attempt } }
    this.#hasContent = isContent(event)
    return result
  }

  #ask(): EventIterator {
    this.#askedAt = this.#policy.clock.now()
    return this.#provider.stream(this.#request, this.#signal)[Symbol.asyncIterator]()
  }

  /** Once for a request, so that its tries go by the same options. */
  #begin(): void {
    this.#isOver = this.#hasBegun = true
    const policy = this.#readPolicy()
    this.#policy = policy ?? noRetries
    if (policy) this.#request = { ...this.#request, isRetried: true }
    this.#isOver = false
  }

  /** Comes after the `retry` event, so that a screen can say what is waited for. */
  #wait(): Promise<void> {
    const signal = this.#signal
    const delayMs = this.#delayMs
    this.#delayMs = 0
    return new Promise((resolve, reject) => {
      const end = (): void => {
        callOff()
        signal.removeEventListener('abort', abort)
        this.#stopWaiting = undefined
        resolve()
      }
      const abort = (): void => {
        this.#isOver = true
        reject(signal.reason)
        end()
      }
      const callOff = this.#policy.clock.timer(delayMs, end)
      this.#stopWaiting = end
      if (signal.aborted) abort()
      else signal.addEventListener('abort', abort)
    })
  }

  #retryOrThrow(error: unknown): ModelEvent {
    const wasOver = this.#isOver || this.#signal.aborted
    this.#isOver = true
    if (wasOver) throw error
    const known = classify(this.#provider, error)
    const delayMs = this.#delayAfter(error, known)

    this.#isOver = false
    this.#inner = undefined
    this.#delayMs = delayMs
    tell(this.#policy, ++this.#retries, delayMs, error)
    return { type: 'retry', attempt: ++this.#attempt, reason: known?.message ?? messageOf(error), delayMs }
  }

  /** Throws when there is to be no other try. */
  #delayAfter(error: unknown, known: ClassifiedError | null): number {
    const policy = this.#policy
    if (!isPassing(error, known, policy.retryableStatusCodes)) throw error
    const askedMs = isTime(known?.retryAfterMs) ? known.retryAfterMs : undefined
    if (askedMs !== undefined && askedMs > policy.maxRetryAfterMs)
      throw this.#rateLimit(error, known, askedMs, 'maxRetryAfterMs')
    if (this.#retries >= policy.maxAttempts) throw error
    const delayMs = askedMs ?? backoff(policy, this.#retries)
    this.#spentMs += policy.clock.now() - this.#askedAt + delayMs
    if (this.#spentMs <= policy.maxTotalMs) return delayMs
    throw askedMs === undefined ? error : this.#rateLimit(error, known, askedMs, 'maxTotalMs')
  }

  #rateLimit(
    cause: unknown,
    known: ClassifiedError | null,
    askedMs: number,
    limit: 'maxRetryAfterMs' | 'maxTotalMs',
  ): AgentRateLimitError {
    const { name } = this.#provider.meta
    const retryAt = Math.min(this.#policy.clock.now() + askedMs, 8.64e15) // the last date there is
    const code = known?.providerCode !== undefined && { providerCode: known.providerCode }
    const error = new AgentRateLimitError(
      `Provider "${name}" failed: it wants no request before ${new Date(retryAt).toISOString()}, which is more than ` +
        `${limit} (${this.#policy[limit]}) allows to wait; run again then. It said: ${known?.message ?? messageOf(cause)}`,
      { provider: name, ...code, retryable: true, cause },
    )
    error.retryAt = retryAt
    return error
  }
}

/** A provider that fails at explaining its failure has still failed. */
function classify(provider: Provider, error: unknown): ClassifiedError | null {
  try {
    return provider.classifyError?.(error) ?? null
  } catch {
    return null
  }
}

function isPassing(error: unknown, known: ClassifiedError | null, statusCodes: readonly number[]): boolean {
  if (error instanceof AgentRateLimitError) return false // somebody further in has decided not to wait
  if (known && (finalKinds.has(known.kind) || known.refused)) return false
  if (typeof known?.retryable === 'boolean') return known.retryable
  if (error instanceof AgentProviderError) return error.retryable === true
  if (known?.kind === 'rate_limited') return true
  const { status, statusCode, message } = fieldsOf(error)
  const answered = [status, statusCode].find(isStatus)
  // A status is a better witness than the wording: a 400 may well speak of limits.
  if (answered !== undefined) return statusCodes.includes(answered)
  return hasPassingCode(error) || (typeof message === 'string' && passingMessage.test(message))
}

const finalKinds: ReadonlySet<string> = new Set(['context_exceeded', 'aborted', 'auth_failed', 'quota_exceeded'])
const passingCode =
  /^(ECONNRESET|ECONNREFUSED|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EPIPE|UND_ERR_SOCKET|UND_ERR_CONNECT_TIMEOUT)$/
const passingMessage = /(?<![a-z])rate[ _-]?limit|too many requests|(?<![\w.,])429(?!\w|[.,]\d)/i

function fieldsOf(error: unknown): Record<string, unknown> {
  if (typeof error === 'string') return { message: error }
  return typeof error === 'object' && error !== null ? (error as Record<string, unknown>) : {}
}

/** fetch says only that it failed; what happened is in the cause, or in that one's. */
function hasPassingCode(error: unknown): boolean {
  for (let at = fieldsOf(error), depth = 0; depth <= 5; at = fieldsOf(at.cause), depth++)
    if (typeof at.code === 'string' && passingCode.test(at.code)) return true
  return false
}

/** Full jitter: clients that failed together do not come back together. */
function backoff({ initialDelayMs, maxDelayMs, backoffMultiplier, random }: Policy, retries: number): number {
  return Math.floor(random() * Math.min(maxDelayMs, initialDelayMs * backoffMultiplier ** retries))
}

function tell({ onRetry, maxAttempts }: Policy, attempt: number, delayMs: number, error: unknown): void {
  try {
    const told: unknown = onRetry?.(attempt, maxAttempts, delayMs, error)
    if (isThenable(told)) told.then(undefined, () => {})
  } catch {
    // who only looks on cannot make a request fail
  }
}
