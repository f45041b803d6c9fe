import type { ClassifiedError } from '../../core/provider.ts'
import { parseRetryAfter } from '../retry.ts'
import { classifyServiceError, ServiceError } from '../service-error.ts'
import { StreamError } from '../wire.ts'

/** What a failure of an AI SDK model means. Errors are known by their fields: several copies of the SDK may be about. */
export function classifyAiSdkError(error: unknown): ClassifiedError | null {
  const { name, message } = fieldsOf(error)
  if (name === 'AbortError') return { kind: 'aborted' }
  if (name === 'AI_LoadAPIKeyError')
    return { kind: 'auth_failed', providerCode: 'missing_key', retryable: false, message: scrubbed(message) }
  return classifyServiceError(error instanceof ServiceError ? error : translated(error))
}

/** What an `error` part amounts to, as something that can be thrown. */
export function failureOf(error: unknown): Error {
  return error instanceof Error ? error : fromPayload(error)
}

function translated(error: unknown): Error | null {
  if (error instanceof StreamError) return error
  const fields = fieldsOf(error)
  const { name, statusCode, message, isRetryable } = fields
  if (typeof statusCode === 'number') return fromResponse(fields, statusCode)
  const said = scrubbed(message)
  if (name === 'AI_APICallError' || isNetworkFault(error))
    return new StreamError(said, { code: 'connection', retryable: isRetryable !== false })
  if (name === 'TimeoutError') return new StreamError(said, { code: 'timeout' })
  if (typeof name !== 'string' || !name.startsWith('AI_')) return null
  // What it could not read may be readable the next time; the rest is about what it was asked.
  return new StreamError(said, { code: name, retryable: /Parse|Validation|ResponseData|EmptyResponse/.test(name) })
}

/** An `APICallError`: the service answered, and said no. */
function fromResponse({ data, responseBody, responseHeaders, message, isRetryable }: Fields, status: number): Error {
  const body = typeof responseBody === 'string' ? responseBody : ''
  const payload = fieldsOf(data ?? parsed(body))
  const text = isMarkup(body) ? '' : body
  const said = messageIn(payload) ?? (text || message)
  const code = codeIn(payload)
  return new ServiceError(`HTTP ${status}${said ? `: ${scrubbed(said)}` : ''}`, {
    status,
    code,
    isQuota: code !== undefined && quota.test(code),
    retryAfterMs: parseRetryAfter(lowerCased(responseHeaders), Date.now()),
    shouldRetry: typeof isRetryable === 'boolean' ? isRetryable : undefined,
  })
}

/** An error that came inside a stream: a text, or what the service sent, with or without a status. */
function fromPayload(error: unknown): Error {
  const payload = fieldsOf(error)
  const said = scrubbed(typeof error === 'string' ? error : (messageIn(payload) ?? 'the stream reported an error'))
  const code = codeIn(payload)
  const { statusCode, isRetryable } = payload
  const status = typeof statusCode === 'number' ? statusCode : statuses[code ?? '']
  const again = typeof isRetryable === 'boolean' ? isRetryable : undefined
  if (status === undefined)
    return new StreamError(said, { ...(code !== undefined && { code }), retryable: again ?? true })
  return new ServiceError(said, { status, code, isQuota: quota.test(code ?? ''), shouldRetry: again })
}

/** The status a service would have answered with, had it noticed earlier. */
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

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isMarkup = (text: string): boolean => text.trimStart().startsWith('<')

function messageIn({ error, message, detail }: Fields): string | undefined {
  const found = [error, fieldsOf(error).message, message, detail].find((one) => typeof one === 'string' && one !== '')
  return found as string | undefined
}

/** The most telling name first; Anthropic's `type` of the outer object is always "error". */
function codeIn(payload: Fields): string | undefined {
  const error = typeof payload.error === 'object' && payload.error !== null ? fieldsOf(payload.error) : payload
  const { code, type, status } = error
  const found = [fieldsOf(error.details).error_code, code, type, status].find((one) => typeof one === 'string')
  return found === 'error' ? undefined : (found as string | undefined)
}

const lowerCased = (headers: unknown): Record<string, string> =>
  Object.fromEntries(Object.entries(fieldsOf(headers)).map(([name, value]) => [name.toLowerCase(), String(value)]))

/** fetch says only that it failed; the reason is in its cause. */
function isNetworkFault(error: unknown): boolean {
  if (error instanceof TypeError && /fetch failed|failed to fetch/i.test(error.message)) return true
  for (let at = error, depth = 0; at && depth < 5; at = fieldsOf(at).cause, depth++) {
    const { code } = fieldsOf(at)
    if (typeof code === 'string' && /^(E[A-Z_]+|UND_ERR_\w+)$/.test(code)) return true
  }
  return false
}

/** Services repeat what they were sent: keys are taken out, and addresses lose what may hold one. */
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
