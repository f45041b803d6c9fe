import {
  AgentAbortedError,
  AgentAuthError,
  AgentBudgetError,
  AgentContextExceededError,
  AgentError,
  AgentProviderError,
  AgentQuotaError,
  AgentRateLimitError,
  messageOf,
  type ProviderErrorOptions,
} from './errors.ts'
import type { ClassifiedError } from './provider.ts'
import type { Run } from './run.ts'

/** Turns any error of a model call into an `AgentError` of the class that callers can act on. */
export function nameFailure(run: Run, cause: unknown): AgentError {
  if (cause instanceof AgentAbortedError || cause instanceof AgentBudgetError) return cause
  if (run.cancellation.reason instanceof AgentBudgetError) return run.cancellation.reason
  if (run.cancellation.isCancelled) return new AgentAbortedError('The run was aborted', { cause })
  // A log that cannot be written is not the provider's failure.
  if (run.log.isBroken && !(cause instanceof AgentError)) throw cause
  // It has its class already.
  if (cause instanceof AgentError) return cause
  const known = classify(run, cause)
  const message = known?.message ?? messageOf(cause)
  if (known?.kind === 'aborted') return new AgentAbortedError(message, { cause })
  return failure(run, message, { cause, ...known })
}

/** If `classifyError` itself throws, the failure stays unclassified. */
function classify({ provider }: Run, cause: unknown): ClassifiedError | null | undefined {
  try {
    return provider.classifyError?.(cause)
  } catch {
    return null
  }
}

export function failure(
  run: Run,
  why: string,
  known: ErrorOptions & Partial<Omit<ClassifiedError, 'message'>>,
): AgentProviderError {
  const provider = run.provider.meta.name
  const { kind = 'provider_error', providerCode, retryable, refused, retryAfterMs, cause } = known
  const options: ProviderErrorOptions = {
    provider,
    cause,
    ...(providerCode !== undefined && { providerCode }),
    ...(retryable !== undefined && { retryable }),
    ...(refused && { refused }),
  }
  const error = new classes[kind](`Provider "${provider}" failed: ${why}`, options)
  if (error instanceof AgentRateLimitError && retryAfterMs !== undefined) error.retryAt = run.clock.now() + retryAfterMs
  return error
}

const classes: Readonly<Record<ClassifiedError['kind'], typeof AgentProviderError>> = {
  provider_error: AgentProviderError,
  context_exceeded: AgentContextExceededError,
  rate_limited: AgentRateLimitError,
  auth_failed: AgentAuthError,
  quota_exceeded: AgentQuotaError,
  aborted: AgentProviderError, // never used: `nameFailure` handles it before
}
