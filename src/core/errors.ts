import type { Refusal } from './provider.ts'
import type { AgentStats } from './usage.ts'

/** Base of what leaves `run()` on purpose. Match on the subclass, never on the message. */
export class AgentError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
  }
}

/** The eight classes of failure around tools and their permission. */
export type ErrorClass =
  | 'Validation'
  | 'ProviderTransient'
  | 'ProviderCapability'
  | 'ToolTransient'
  | 'ToolTerminal'
  | 'Session'
  | 'Cancellation'
  | 'ExtensionHost'

/** A failure to match on by class and code, such as `Validation` and `InvalidSecurityMode`. The message names both. */
export class CodedError extends AgentError {
  readonly class: ErrorClass
  readonly code: string
  constructor(name: `${ErrorClass}/${string}`, message: string, options?: ErrorOptions) {
    super(`${name}: ${message}`, options)
    const [errorClass = '', code = ''] = name.split('/')
    this.class = errorClass as ErrorClass
    this.code = code
  }

  /** The message without class and code before it. */
  get sentence(): string {
    return this.message.slice(`${this.class}/${this.code}: `.length)
  }
}

/** The run was stopped by `abort()` or its signal. `stats` holds what was done until then. */
export class AgentAbortedError extends AgentError {
  stats?: AgentStats
}

/** The model's side failed. `retryable` absent means: do not retry. */
export class AgentProviderError extends AgentError {
  readonly provider: string
  readonly providerCode?: string
  readonly retryable?: boolean
  /** The conversation itself was refused, by what the service says at this place. */
  readonly refused?: Refusal
  constructor(message: string, options: ProviderErrorOptions) {
    super(message, options)
    this.provider = options.provider
    if (options.providerCode !== undefined) this.providerCode = options.providerCode
    if (options.retryable !== undefined) this.retryable = options.retryable
    if (options.refused) this.refused = options.refused
  }
}

export interface ProviderErrorOptions extends ErrorOptions {
  readonly provider: string
  readonly providerCode?: string
  readonly retryable?: boolean
  readonly refused?: Refusal
}

/** The request does not fit into the model's context; prune or compact, then run again. */
export class AgentContextExceededError extends AgentProviderError {}

/**
 * The prompt itself does not fit into the model's context. It was not shortened: half a question may get a wrong answer.
 * `fits` is about how much prompt there is room for, where that is known.
 */
export class AgentPromptTooLongError extends AgentContextExceededError {
  readonly fits?: { readonly tokens: number; readonly characters: number }
  constructor(message: string, { fits, ...options }: PromptTooLongOptions) {
    super(message, options)
    if (fits) this.fits = fits
  }
}

export interface PromptTooLongOptions extends ProviderErrorOptions {
  readonly fits?: AgentPromptTooLongError['fits']
}

/** The service wants a longer pause than we are willing to wait; try again at `retryAt` (ms since the epoch). */
export class AgentRateLimitError extends AgentProviderError {
  retryAt?: number
}

/** The credentials were not accepted; log in again or check the key. */
export class AgentAuthError extends AgentProviderError {}

/** The account has nothing left to spend; waiting does not help. */
export class AgentQuotaError extends AgentProviderError {}

/** Somebody else writes this session right now. `owner` says who, `since` from when on (ms since the epoch). */
export class SessionBusyError extends AgentError {
  readonly owner?: string
  readonly since?: number
  constructor(message: string, { owner, since, ...options }: ErrorOptions & { owner?: string; since?: number } = {}) {
    super(message, options)
    if (owner !== undefined) this.owner = owner
    if (since !== undefined) this.since = since
  }
}

/** Somebody else took this session over; nothing more of ours can be written to it. `owner` says who, where it is known. */
export class LeaseLostError extends AgentError {
  readonly owner?: string
  constructor(message: string, { owner, ...options }: ErrorOptions & { owner?: string } = {}) {
    super(message, options)
    if (owner !== undefined) this.owner = owner
  }
}

/** What a store says to whoever finds a session taken. */
export function sessionBusy(id: string, owner?: string, since?: number): SessionBusyError {
  const by = owner || 'another writer'
  const advice = 'wait for it, or take it over with loadSession(store, id, { takeOver: true })'
  const about = { ...(owner && { owner }), ...(since !== undefined && { since }) }
  return new SessionBusyError(`Session ${id} is being written by ${by}; ${advice}`, about)
}

/** What a store says to a writer that is none any more. */
export function leaseLost(id: string, owner?: string): LeaseLostError {
  const by = owner ? ` by ${owner}` : ' by another writer, or deleted'
  return new LeaseLostError(`Session ${id} was taken over${by}; load it again to go on`, owner ? { owner } : {})
}

/** The session made its process crash again and again, and is not tried any more until `session.unpark()`. */
export class SessionParkedError extends AgentError {}

/** The place where sessions are kept cannot do what it should. What was there before is still there. */
export class StoreError extends AgentError {
  readonly code: StoreErrorCode
  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/**
 * `full`: no room; `read_only`: may not be written; `busy`: others hold it too long; `corrupt`: what is there cannot be
 * read; `newer`: a newer version wrote it; `network_fs`: it lies on a network file system; `unavailable`: it does not
 * answer, or not as it should; `denied`: it does not know us.
 */
export type StoreErrorCode =
  | 'full'
  | 'read_only'
  | 'busy'
  | 'corrupt'
  | 'newer'
  | 'network_fs'
  | 'unavailable'
  | 'denied'

/** A limit of `behavior.limits` is reached. Ends a run with stop reason `budget`; what was done until then stays. */
export class AgentBudgetError extends AgentError {
  readonly limit: string
  constructor(limit: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.limit = limit
  }
}

export function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message || error.name
  return typeof error === 'string' ? error : `a thrown ${error === null ? 'null' : typeof error}`
}

/** Anything as text, without ever failing at it. */
export function printable(value: unknown): string {
  try {
    return String(value ?? '')
  } catch {
    return ''
  }
}

/** What a promise was rejected with; an object, because that may be anything, `undefined` too. */
export interface Rejection {
  readonly error: unknown
}

export const rejectionOf = (work: PromiseLike<unknown>): PromiseLike<Rejection | undefined> =>
  work.then(
    () => undefined,
    (error) => ({ error }),
  )

/** The code of a system error, such as `ENOENT`. */
export function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : undefined
}
