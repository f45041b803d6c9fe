import { StreamError } from '../wire.ts'

/** What a service says went wrong after its answer had begun; `status` is what it would have answered with before. */
export interface Failure {
  readonly message: string
  readonly code: string
  readonly status?: number | undefined
  /** Default: what the status means. What nobody knows may pass. */
  readonly retryable?: boolean | undefined
}

/** A failure in the middle of a stream is what it would have been outside of one. */
export function failureOf({ message, code, status, retryable }: Failure): StreamError {
  const isPassing = status === undefined || status === 408 || status === 409 || status >= 429
  return new StreamError(message, { code, retryable: retryable ?? isPassing, ...(status !== undefined && { status }) })
}
