import { parsedJson } from '../../core/plain-json.ts'
import type { ClassifiedError } from '../../core/provider.ts'
import { parseRetryAfter } from '../retry.ts'
import { classifyServiceError, ServiceError } from '../service-error.ts'
import { StreamError } from '../wire.ts'

/** Classifies an error of an AI SDK model by its fields, because several copies of the SDK's classes may be loaded. */
export function classifyAiSdkError(error: unknown): ClassifiedError | null {
  const { name, message } = fieldsOf(error)
  if (name === 'AbortError') return { kind: 'aborted' }
  if (name === 'AI_LoadAPIKeyError')
    return { kind: 'auth_failed', providerCode: 'missing_key', retryable: false, message: scrubbed(message) }
  return classifyServiceError(error instanceof ServiceError ? error : translated(error))
}

/** The content of an `error` part as an error. */
export function failureOf(error: unknown): Error {
  return error instanceof Error ? error : fromPayload(error)
}

function translated(error: unknown): Error | null {
  if (error instanceof StreamError) return error
  const fields = fieldsOf(error)
  const { name, statusCode, message, isRetryable } = fields
  if (typeof statusCode === 'number') return fromResponse(fields, statusCode)
  const text = scrubbed(message)
  if (name === 'AI_APICallError' || isNetworkFault(error))
    return new StreamError(text, { code: 'connection', retryable: isRetryable !== false })
  if (name === 'TimeoutError') return new StreamError(text, { code: 'timeout' })
  if (typeof name !== 'string' || !name.startsWith('AI_')) return null
  // A response that could not be read may be readable in another attempt; other errors concern the request.
  return new StreamError(text, { code: name, retryable: /Parse|Validation|ResponseData|EmptyResponse/.test(name) })
}

/** An `APICallError`: the service answered with an error status. */
function fromResponse({ data, responseBody, responseHeaders, message, isRetryable }: Fields, status: number): Error {
  const body = typeof responseBody === 'string' ? responseBody : ''
  const payload = fieldsOf(data ?? parsedJson(body))
  const text = isMarkup(body) ? '' : body
  const explanation = messageIn(payload) ?? (text || message)
  const code = codeIn(payload)
  return new ServiceError(`HTTP ${status}${explanation ? `: ${scrubbed(explanation)}` : ''}`, {
    status,
    code,
    isQuota: code !== undefined && quota.test(code),
    retryAfterMs: parseRetryAfter(lowerCased(responseHeaders), Date.now()),
    shouldRetry: typeof isRetryable === 'boolean' ? isRetryable : undefined,
  })
}

/** An error inside a stream: a text, or an object of the service, with or without a status. */
function fromPayload(error: unknown): Error {
  const payload = fieldsOf(error)
  const text = scrubbed(typeof error === 'string' ? error : (messageIn(payload) ?? 'the stream reported an error'))
  const code = codeIn(payload)
  const { statusCode, isRetryable } = payload
  const status = typeof statusCode === 'number' ? statusCode : statuses[code ?? '']
  const shouldRetry = typeof isRetryable === 'boolean' ? isRetryable : undefined
  if (status === undefined)
    return new StreamError(text, { ...(code !== undefined && { code }), retryable: shouldRetry ?? true })
  return new ServiceError(text, { status, code, isQuota: quota.test(code ?? ''), shouldRetry })
}

/** The HTTP status of the same error outside of a stream. */
const statuses: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  context_length_exceeded: 400,
  invalid_prompt: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  api_error: 500,
  server_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
}

const quota = /insufficient_(quota|balance|credits|funds)|billing|spend_limit|credits?_exhausted/i

type Fields = Readonly<Record<string, unknown>>

const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {})

const isMarkup = (text: string): boolean => text.trimStart().startsWith('<')

function messageIn({ error, message, detail }: Fields): string | undefined {
  const text = [error, fieldsOf(error).message, message, detail].find(
    (candidate) => typeof candidate === 'string' && candidate !== '',
  )
  return text as string | undefined
}

/** The most specific code first. Anthropic's outer `type` is always "error". */
function codeIn(payload: Fields): string | undefined {
  const error = typeof payload.error === 'object' && payload.error !== null ? fieldsOf(payload.error) : payload
  const { code, type, status } = error
  const specific = [fieldsOf(error.details).error_code, code, type, status].find(
    (candidate) => typeof candidate === 'string',
  )
  return specific === 'error' ? undefined : (specific as string | undefined)
}

const lowerCased = (headers: unknown): Record<string, string> =>
  Object.fromEntries(Object.entries(fieldsOf(headers)).map(([name, value]) => [name.toLowerCase(), String(value)]))

/** The error of `fetch` has no code; it is in its cause. */
function isNetworkFault(error: unknown): boolean {
  if (error instanceof TypeError && /fetch failed|failed to fetch/i.test(error.message)) return true
  for (let cause = error, depth = 0; cause && depth < 5; cause = fieldsOf(cause).cause, depth++) {
    const { code } = fieldsOf(cause)
    if (typeof code === 'string' && /^(E[A-Z_]+|UND_ERR_\w+)$/.test(code)) return true
  }
  return false
}

/** Removes keys, and the user and query parts of addresses: services repeat what they were sent. */
function scrubbed(text: unknown): string {
  return String(text ?? '')
    .slice(0, 8192)
    .replaceAll(/(\w+:\/\/)[^\s/@"'<>]+@/g, '$1')
    .replaceAll(/(\w+:\/\/[^\s?"'<>]+)\?[^\s"'<>]*/g, '$1')
    .replaceAll(/\b(Bearer\s+)[\w.~+/=-]{8,}/gi, '$1[removed]')
    .replaceAll(/\b(sk|pk|rk|gsk|xai|key|AIza)[-_]?[\w-]{16,}/g, '[removed]')
    .slice(0, 2048)
    .toWellFormed()
}
