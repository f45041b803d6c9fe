import { type Clock, systemClock } from '../core/clock.ts'
import { AgentError } from '../core/errors.ts'
import { isRecord } from '../core/is-record.ts'
import { parsedJson } from '../core/plain-json.ts'
import type { OAuthEndpoints, OAuthTokens } from './oauth.ts'

/** A login or its renewal failed. Without `retryable` another attempt will fail too. */
export class OAuthError extends AgentError {
  /** The code of the server (`invalid_grant`, `access_denied`), or our own (`network`, `timeout`, `http_503`). */
  readonly code: string
  readonly retryable?: boolean
  constructor(message: string, options: ErrorOptions & { readonly code: string; readonly retryable?: boolean }) {
    super(message, options)
    this.code = options.code
    if (options.retryable !== undefined) this.retryable = options.retryable
  }
}

export interface TokenRequestOptions {
  /** Default: the global one. */
  readonly fetch?: typeof globalThis.fetch
  readonly clock?: Clock
  readonly signal?: AbortSignal
  /** The time limit for the server. */
  readonly timeoutMs?: number
}

/** Requests tokens from the token endpoint. Errors never contain what was sent. */
export async function requestTokens(
  { tokenUrl, clientId, tokenFormat = 'form' }: OAuthEndpoints,
  grant: Readonly<Record<string, string>>,
  options: TokenRequestOptions = {},
): Promise<OAuthTokens> {
  const url = secureUrl(tokenUrl)
  const { status, text } = await post(url, { ...grant, client_id: clientId }, tokenFormat, options)
  const answer = parsedJson(text)
  if (status < 200 || status > 299) throw refusal(placeOf(url), status, answer, grant)
  const tokens = tokensOf(answer, options.clock ?? systemClock)
  if (tokens) return tokens
  throw new OAuthError(
    `${placeOf(url)} answered ${status} without an access token; check that it is the token endpoint and that no proxy answers in its place`,
    { code: 'invalid_response' },
  )
}

/** The parsed address of an authorization server. Throws if it is not safe to send secrets there. */
export function secureUrl(url: string): URL {
  const parsed = URL.parse(url)
  const isLoopback = /^(localhost|127\.0\.0\.1|\[::1\])$/.test(parsed?.hostname ?? '')
  if (parsed?.protocol === 'https:' || (parsed?.protocol === 'http:' && isLoopback)) return parsed
  throw new OAuthError(`The OAuth address ${url} is not secure; use https, or http on this machine`, {
    code: 'insecure_url',
  })
}

/** The error code of a server, if it has the form of one and contains no secret. */
export function errorCode(value: unknown, secrets: readonly string[] = []): string | undefined {
  if (typeof value !== 'string' || !/^[\w.-]{1,64}$/.test(value)) return undefined
  return secrets.some((secret) => value.includes(secret)) ? undefined : value
}

async function post(
  url: URL,
  fields: Record<string, string>,
  format: 'form' | 'json',
  options: TokenRequestOptions,
): Promise<{ status: number; text: string }> {
  const { fetch = globalThis.fetch, clock = systemClock, signal, timeoutMs = 15_000 } = options
  const late = new AbortController()
  const off = clock.timer(timeoutMs, () => late.abort())
  try {
    const response = await fetch(url.href, {
      method: 'POST',
      headers: {
        accept: 'application/json',
        'content-type': format === 'json' ? 'application/json' : 'application/x-www-form-urlencoded',
      },
      body: format === 'json' ? JSON.stringify(fields) : new URLSearchParams(fields).toString(),
      // A redirect would send the token to another server.
      redirect: 'manual',
      signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal,
    })
    return { status: response.status, text: await response.text() }
  } catch (error) {
    if (signal?.aborted) throw new OAuthError('The login was aborted; start it again when ready', { code: 'aborted' })
    const reason = late.signal.aborted ? `no answer within ${timeoutMs} ms` : networkCode(error)
    throw new OAuthError(`Cannot reach ${placeOf(url)}: ${reason}; check the network and try again`, {
      code: late.signal.aborted ? 'timeout' : 'network',
      retryable: true,
    })
  } finally {
    off()
  }
}

/** Only the code, because the text of the error may quote the request. */
function networkCode(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  return errorCode(code) ?? 'network error'
}

function refusal(place: string, status: number, answer: unknown, grant: Readonly<Record<string, string>>): OAuthError {
  const { grant_type: _, ...secrets } = grant
  const { error } = isRecord(answer) ? answer : {}
  const word = errorCode(isRecord(error) ? error.code : error, Object.values(secrets))
  const code = word ?? `http_${status}`
  const what = `${place} answered ${status}${word ? ` (${word})` : ''}`
  if (status >= 500 || status === 408 || status === 429)
    return new OAuthError(`${what}; try again later`, { code, retryable: true })
  if (code === 'invalid_grant' || code.startsWith('refresh_token_'))
    return new OAuthError(`${what}: the login has expired or was revoked; log in again`, { code })
  return new OAuthError(`${what}; check the address, the client id and the scopes, or log in again`, { code })
}

function placeOf({ origin, pathname }: URL): string {
  return `${origin}${pathname}`
}

function tokensOf(answer: unknown, clock: Clock): OAuthTokens | undefined {
  if (!isRecord(answer)) return undefined
  const { access_token: access, refresh_token: refresh, expires_in } = answer
  if (typeof access !== 'string' || access === '') return undefined
  const seconds = Number.parseFloat(String(expires_in))
  return {
    access,
    ...(typeof refresh === 'string' && refresh !== '' && { refresh }),
    ...(seconds > 0 && Number.isFinite(seconds) && { expires: clock.now() + seconds * 1000 }),
  }
}
