import type { Refusal } from './provider.ts'
import type { AgentStats } from './usage.ts'

/** Base of what leaves `run()` on purpose. Match on the subclass, never on the message. */
export class AgentError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
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

/** The service wants a longer pause than we are willing to wait; try again at `retryAt` (ms since the epoch). */
export class AgentRateLimitError extends AgentProviderError {
  retryAt?: number
}

/** The credentials were not accepted; log in again or check the key. */
export class AgentAuthError extends AgentProviderError {}

/** The account has nothing left to spend; waiting does not help. */
export class AgentQuotaError extends AgentProviderError {}

/** Somebody else writes this session right now. */
export class SessionBusyError extends AgentError {}

/** Somebody else took this session over; nothing more of ours can be written to it. */
export class LeaseLostError extends AgentError {}

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
