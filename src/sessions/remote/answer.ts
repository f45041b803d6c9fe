import { LeaseLostError, leaseLost, SessionNotFoundError, StoreError, sessionBusy } from '../../core/errors.ts'
import { isRecord } from '../../core/is-record.ts'
import { cutText } from '../../core/text.ts'
import {
  dropBody,
  handledCodes,
  type Problem,
  protocolVersion,
  readCapped,
  storeCodeOf,
  storeFailures,
} from './protocol.ts'

/** The answer of the server in a checked form. */
export type Answer =
  | { readonly kind: 'json'; readonly body: Record<string, unknown>; readonly size: number }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array<ArrayBuffer>; readonly headers: Headers }
  | { readonly kind: 'problem'; readonly problem: Problem }

/** An answer, or a failure that a retry may fix. */
export type Outcome =
  | { readonly answer: Answer }
  | { readonly retryable: StoreError; readonly waitMs?: number | undefined }

interface ResponseContext {
  readonly origin: string
  readonly maxBytes: number
  readonly hasToken: boolean
  readonly now: number
  /** Removes secrets that the server may have repeated. */
  readonly hide: (text: string) => string
}

/** Reads and checks a response. Throws failures that a retry does not fix. */
export async function readAnswer(response: Response, context: ResponseContext): Promise<Outcome> {
  const { origin, maxBytes } = context
  const { status } = response
  if (response.type === 'opaqueredirect' || (status >= 300 && status < 400)) throw redirected(response, context)
  if (status === 401 || status === 403) throw denied(response, context)
  const bytes = await capped(response, maxBytes, origin)
  if (status === 200 && isType(response, 'application/octet-stream'))
    return { answer: { kind: 'bytes', bytes, headers: response.headers } }

  const body = envelopeOf(response, bytes)
  const says = (): string => describeResponse(response, bytes, context)
  if (body) checkVersion(body, origin)
  if (status === 200) {
    if (!body || !isVersion(body.protocol)) throw new StoreError('unavailable', says())
    return { answer: { kind: 'json', body, size: bytes.byteLength } }
  }
  const problem = body && problemOf(body, context.hide)
  const code = problem && storeCodeOf(problem.code)
  if (code && !storeFailures[code].isRetryable) throw new StoreError(code, `${origin}: ${problem.message}`)
  if (status === 408 || status === 429 || status >= 500) {
    const message = problem ? `${origin} answered ${status}: ${problem.message}` : says()
    return { retryable: new StoreError(code ?? 'unavailable', message), waitMs: retryAfter(response, context.now) }
  }
  if (!problem) throw new StoreError('unavailable', says())
  return { answer: { kind: 'problem', problem } }
}

function redirected(response: Response, { origin, hide }: ResponseContext): StoreError {
  dropBody(response)
  const to = URL.parse(response.headers.get('location') ?? '', origin)
  const where = to && /^https?:$/.test(to.protocol) ? ` to ${excerpt(hide(to.origin), 200)}` : ''
  return new StoreError(
    'unavailable',
    `${origin} answered with a redirect${where}, which is not followed: the token would go along; ` +
      'give createRemoteStore the address where the server really is',
  )
}

function denied(response: Response, { origin, hasToken }: ResponseContext): StoreError {
  dropBody(response)
  const { status } = response
  if (status === 403) return new StoreError('denied', `${origin} does not allow this (403); ask for access to it`)
  const what = hasToken ? 'did not accept the token' : 'wants a token'
  return new StoreError('denied', `${origin} ${what} (401); give createRemoteStore one that the server knows`)
}

async function capped(response: Response, maxBytes: number, origin: string): Promise<Uint8Array<ArrayBuffer>> {
  const announced = Number(response.headers.get('content-length') ?? 0)
  const bytes = announced > maxBytes ? undefined : await readCapped(response.body, maxBytes)
  if (bytes) return bytes
  dropBody(response)
  throw new StoreError(
    'unavailable',
    `${origin} answered with more than ${maxBytes} bytes, which were not read; raise maxBytes if so much is expected`,
  )
}

const isType = (response: Response, type: string): boolean =>
  (response.headers.get('content-type') ?? '').split(';')[0]!.trim().toLowerCase() === type

function envelopeOf(response: Response, bytes: Uint8Array): Record<string, unknown> | undefined {
  if (!isType(response, 'application/json')) return undefined
  try {
    const body: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    return isRecord(body) ? body : undefined
  } catch {
    return undefined
  }
}

const isVersion = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 1

function checkVersion({ protocol }: Record<string, unknown>, origin: string): void {
  if (isVersion(protocol) && protocol > protocolVersion)
    throw new StoreError(
      'newer',
      `${origin} speaks version ${protocol} of the protocol, we know ${protocolVersion}; update libero here`,
    )
  if (isVersion(protocol) && protocol < protocolVersion)
    throw new StoreError(
      'unavailable',
      `${origin} speaks version ${protocol} of the protocol, we speak ${protocolVersion}; update libero there`,
    )
}

/** Keeps only short texts without secrets and control characters. */
function problemOf({ protocol, error }: Record<string, unknown>, hide: ResponseContext['hide']): Problem | undefined {
  if (!isVersion(protocol) || !isRecord(error) || typeof error.code !== 'string') return undefined
  const { message, owner, since, head } = error
  const code = handledCodes.includes(error.code) ? error.code : excerpt(hide(error.code), 40)
  return {
    code,
    message: typeof message === 'string' ? excerpt(hide(message), 500) : code,
    ...(typeof owner === 'string' && { owner: hide(owner).slice(0, 500) }),
    ...(typeof since === 'number' && { since }),
    ...(typeof head === 'number' && { head }),
  }
}

function describeResponse(response: Response, bytes: Uint8Array, { origin, hide }: ResponseContext): string {
  const type = excerpt(hide(response.headers.get('content-type') ?? 'no type'), 60)
  // Cut again after hiding: the first cut may have split a secret.
  const text = hide(new TextDecoder().decode(bytes.subarray(0, 10_000))).slice(0, 5000)
  const what = text.trim() ? `"${excerpt(text, 120)}"` : 'nothing'
  return (
    `${origin} answered ${response.status} (${type}) with ${what}, which is not the answer of a session store; ` +
    'check the url, and any proxy between here and the server'
  )
}

/** The beginning of a foreign text for an error message, without control characters. */
function excerpt(text: string, maxLength: number): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  const plain = text.replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, ' ').trim()
  return cutText(plain, maxLength)
}

function retryAfter({ headers }: Response, now: number): number | undefined {
  const header = headers.get('retry-after')
  if (!header) return undefined
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined
}

/** The subject of a request, for error messages. */
interface RequestSubject {
  readonly origin: string
  readonly id?: string | undefined
  /** The head that the caller expected. */
  readonly head?: number
}

/** The error that a local store would have thrown. */
export function errorOf({ code, message, owner, since, head }: Problem, subject: RequestSubject): Error {
  const { origin, id = '', head: expected } = subject
  const by = owner ? excerpt(owner, 200) : 'another writer'
  const details = owner === undefined ? {} : { owner }
  switch (code) {
    case 'session_busy':
      return sessionBusy(id, owner && by, since)
    case 'no_session':
      return new SessionNotFoundError(id)
    case 'lease_lost':
      return leaseLost(id, owner && by)
    case 'head_moved': {
      const moved = `Session ${id} has moved on${head === undefined ? '' : ` to entry ${head}`}, expected ${expected}`
      const why = owner === undefined ? '' : `; ${by} has taken it over`
      return new LeaseLostError(`${moved}${why}; load it again to go on`, details)
    }
    case 'too_large':
      return new StoreError('full', `${origin} does not take so much at once: ${message}`)
    default:
      return new StoreError('unavailable', `${origin} refused the request as ${code}: ${message}`)
  }
}
