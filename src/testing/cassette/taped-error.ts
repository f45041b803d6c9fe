import {
  AgentAbortedError,
  AgentAuthError,
  AgentContextExceededError,
  AgentPromptTooLongError,
  AgentProviderError,
  AgentQuotaError,
  AgentRateLimitError,
  messageOf,
  type ProviderErrorOptions,
} from '../../core/errors.ts'
import type { ClassifiedError } from '../../core/provider.ts'

/** An error as it stands on a tape: what somebody may act on, never its stack. */
export interface TapedError {
  readonly name: string
  readonly message: string
  readonly fields?: Readonly<Record<string, unknown>>
  /** What the provider said it means. */
  readonly classified?: ClassifiedError
}

export function tapeError(error: unknown, classified?: ClassifiedError | null): TapedError {
  const name = error instanceof Error ? error.name : 'Error'
  const fields = fieldsOf(error)
  return {
    name,
    message: messageOf(error),
    ...(Object.keys(fields).length > 0 && { fields }),
    ...(classified && { classified }),
  }
}

/** The error again, of the class that a caller matches on. */
export function untapeError({ name, message, fields = {} }: TapedError): Error {
  if (name === 'AgentAbortedError') return new AgentAbortedError(message)
  const known = classes.find((one) => one.name === name)
  const { provider, providerCode, retryable, refused, ...rest } = fields
  const options = { provider: String(provider ?? ''), providerCode, retryable, refused }
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
  const error = known ? new known(message, given as unknown as ProviderErrorOptions) : new Error(message)
  if (!known) error.name = name
  return Object.assign(error, known ? rest : fields)
}

const classes = [
  AgentProviderError,
  AgentContextExceededError,
  AgentPromptTooLongError,
  AgentRateLimitError,
  AgentAuthError,
  AgentQuotaError,
] as const

const telling = ['provider', 'providerCode', 'retryable', 'refused', 'retryAt', 'usage', 'code', 'status', 'fits']

function fieldsOf(error: unknown): Record<string, unknown> {
  if (typeof error !== 'object' || error === null) return {}
  const all = error as Record<string, unknown>
  return Object.fromEntries(telling.flatMap((key) => (all[key] === undefined ? [] : [[key, all[key]]])))
}
