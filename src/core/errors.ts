import type { Refusal } from './provider.ts'
import type { AgentStats } from './usage.ts'

/** The base of all errors that `run()` rejects with on purpose. Match on the subclass, never on the message. */
export class AgentError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
  }
}

/** The classes of failures of tools and their approval. */
export type ErrorClass =
  | 'Validation'
  | 'ProviderTransient'
  | 'ProviderCapability'
  | 'ToolTransient'
  | 'ToolTerminal'
  | 'Session'
  | 'Cancellation'
  | 'ExtensionHost'

/** An error with a class and a code, such as `Validation` and `InvalidSecurityMode`. The message begins with both. */
export class CodedError extends AgentError {
  readonly class: ErrorClass
  readonly code: string
  constructor(name: `${ErrorClass}/${string}`, message: string, options?: ErrorOptions) {
    super(`${name}: ${message}`, options)
    const [errorClass = '', code = ''] = name.split('/')
    this.class = errorClass as ErrorClass
    this.code = code
  }

  /** The message without class and code. */
  get sentence(): string {
    return this.message.slice(`${this.class}/${this.code}: `.length)
  }
}

/** The run was cancelled by `abort()` or its signal. `stats` are those until then. */
export class AgentAbortedError extends AgentError {
  stats?: AgentStats
}

/** The provider failed. Without `retryable`, do not retry. */
export class AgentProviderError extends AgentError {
  readonly provider: string
  readonly providerCode?: string
  readonly retryable?: boolean
  /** The service refused the conversation itself, at this place if it said which. */
  readonly refused?: Refusal
  constructor(
    message: string,
    options: ErrorOptions & Pick<AgentProviderError, 'provider' | 'providerCode' | 'retryable' | 'refused'>,
  ) {
    super(message, options)
    this.provider = options.provider
    if (options.providerCode !== undefined) this.providerCode = options.providerCode
    if (options.retryable !== undefined) this.retryable = options.retryable
    if (options.refused) this.refused = options.refused
  }
}

/** The request does not fit into the model's context; prune or compact, then run again. */
export class AgentContextExceededError extends AgentProviderError {}

/**
 * The prompt itself does not fit into the model's context. It is never shortened: half a question may get a wrong answer.
 * `fits` is the approximate size of a prompt that would fit, if known.
 */
export class AgentPromptTooLongError extends AgentContextExceededError {
  readonly fits?: { readonly tokens: number; readonly characters: number }
  constructor(
    message: string,
    { fits, ...options }: ConstructorParameters<typeof AgentProviderError>[1] & Pick<AgentPromptTooLongError, 'fits'>,
  ) {
    super(message, options)
    if (fits) this.fits = fits
  }
}

/** The service asks for a longer pause than the provider waits; try again at `retryAt` (ms since the epoch). */
export class AgentRateLimitError extends AgentProviderError {
  retryAt?: number
}

/** The credentials were not accepted; log in again or check the key. */
export class AgentAuthError extends AgentProviderError {}

/** The account has no quota left; waiting does not help. */
export class AgentQuotaError extends AgentProviderError {}

/** Another process holds the lease of this session: `owner`, `since` that time (ms since the epoch). */
export class SessionBusyError extends AgentError {
  readonly owner?: string
  readonly since?: number
  constructor(message: string, { owner, since, ...options }: ErrorOptions & { owner?: string; since?: number } = {}) {
    super(message, options)
    if (owner !== undefined) this.owner = owner
    if (since !== undefined) this.since = since
  }
}

/** Another process (`owner`, if known) took the lease of this session; this one can no longer write to it. */
export class LeaseLostError extends AgentError {
  readonly owner?: string
  constructor(message: string, { owner, ...options }: ErrorOptions & { owner?: string } = {}) {
    super(message, options)
    if (owner !== undefined) this.owner = owner
  }
}

/** There is no session with this id in the store. */
export class SessionNotFoundError extends AgentError {
  readonly sessionId: string
  constructor(sessionId: string, options?: ErrorOptions) {
    super(`There is no session "${sessionId}" in this store; store.list() names those it has`, options)
    this.sessionId = sessionId
  }
}

/** For stores: the lease is held by another writer. */
export function sessionBusy(id: string, owner?: string, since?: number): SessionBusyError {
  const by = owner || 'another writer'
  const advice = 'wait for it, or take it over with loadSession(store, id, { takeOver: true })'
  const holder = { ...(owner && { owner }), ...(since !== undefined && { since }) }
  return new SessionBusyError(`Session ${id} is being written by ${by}; ${advice}`, holder)
}

/** For stores: the writer no longer holds the lease. */
export function leaseLost(id: string, owner?: string): LeaseLostError {
  const by = owner ? ` by ${owner}` : ' by another writer, or deleted'
  return new LeaseLostError(`Session ${id} was taken over${by}; load it again to go on`, owner ? { owner } : {})
}

/** For stores: another writer has appended since the log was read. */
export function headMoved(id: string, head: number, expected: number): LeaseLostError {
  return new LeaseLostError(`Session ${id} has moved on to entry ${head}, expected ${expected}; load it again to go on`)
}

/** The session repeatedly crashed its process; no run may be started until `session.unpark()`. */
export class SessionParkedError extends AgentError {}

/** A store failed. What it stored before is unchanged. */
export class StoreError extends AgentError {
  /**
   * `full`: no space left; `read_only`: not writable; `busy`: locked by others for too long; `corrupt`: its content cannot
   * be read; `newer`: written by a newer version; `network_fs`: on a network file system; `unavailable`: no answer, or an
   * unexpected one; `denied`: the credentials were not accepted.
   */
  readonly code: 'full' | 'read_only' | 'busy' | 'corrupt' | 'newer' | 'network_fs' | 'unavailable' | 'denied'
  constructor(code: StoreError['code'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

export type StoreErrorCode = StoreError['code']

/** A limit of `behavior.limits` is reached. It ends the run as completed, with stop reason `budget`. */
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

/** Any value as text; never throws. */
export function printable(value: unknown): string {
  try {
    return String(value ?? '')
  } catch {
    return ''
  }
}

/** The reason of a rejected promise, in an object because it may be anything, even `undefined`. */
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
