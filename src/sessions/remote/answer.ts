import { StoreError } from '../../core/errors.ts'
import { dropBody, readCapped } from './bytes.ts'
import { actedUpon, type Problem, protocolVersion, storeCodeOf, storeFailures } from './protocol.ts'
import { isObject } from './shape.ts'

/** What the server said, in the one shape that the rest of the client knows. */
export type Answer =
  | { readonly kind: 'json'; readonly body: Record<string, unknown>; readonly size: number }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array<ArrayBuffer>; readonly headers: Headers }
  | { readonly kind: 'problem'; readonly problem: Problem }

/** An answer, or a failure that may pass when asked again. */
export type Outcome =
  | { readonly answer: Answer }
  | { readonly passing: StoreError; readonly waitMs?: number | undefined }

export interface Reading {
  readonly origin: string
  readonly maxBytes: number
  readonly hasToken: boolean
  readonly now: number
  /** Takes out what nobody may see, should the server repeat it. */
  readonly hide: (text: string) => string
}

/** Reads a response, trusting nothing in it. Throws what asking again does not change. */
export async function readAnswer(response: Response, reading: Reading): Promise<Outcome> {
  const { origin, maxBytes } = reading
  const { status } = response
  if (response.type === 'opaqueredirect' || (status >= 300 && status < 400)) throw redirected(response, reading)
  if (status === 401 || status === 403) throw denied(response, reading)
  const bytes = await capped(response, maxBytes, origin)
  if (status === 200 && isType(response, 'application/octet-stream'))
    return { answer: { kind: 'bytes', bytes, headers: response.headers } }

  const body = envelopeOf(response, bytes)
  const says = (): string => saying(response, bytes, reading)
  if (body) checkVersion(body, origin)
  if (status === 200) {
    if (!body || !isVersion(body.protocol)) throw new StoreError('unavailable', says())
    return { answer: { kind: 'json', body, size: bytes.byteLength } }
  }
  const problem = body && problemOf(body, reading.hide)
  const code = problem && storeCodeOf(problem.code)
  if (code && !storeFailures[code].passes) throw new StoreError(code, `${origin}: ${problem.message}`)
  if (status === 408 || status === 429 || status >= 500) {
    const message = problem ? `${origin} answered ${status}: ${problem.message}` : says()
    return { passing: new StoreError(code ?? 'unavailable', message), waitMs: retryAfter(response, reading.now) }
  }
  if (!problem) throw new StoreError('unavailable', says())
  return { answer: { kind: 'problem', problem } }
}

function redirected(response: Response, { origin, hide }: Reading): StoreError {
  dropBody(response)
  const to = URL.parse(response.headers.get('location') ?? '', origin)
  const where = to && /^https?:$/.test(to.protocol) ? ` to ${excerpt(hide(to.origin), 200)}` : ''
  return new StoreError(
    'unavailable',
    `${origin} answered with a redirect${where}, which is not followed: the token would go along; ` +
      'give createRemoteStore the address where the server really is',
  )
}

function denied(response: Response, { origin, hasToken }: Reading): StoreError {
  dropBody(response)
  const { status } = response
  if (status === 403) return new StoreError('denied', `${origin} does not allow this (403); ask for access to it`)
  const what = hasToken ? 'did not accept the token' : 'wants a token'
  return new StoreError('denied', `${origin} ${what} (401); give createRemoteStore one that the server knows`)
}

async function capped(response: Response, most: number, origin: string): Promise<Uint8Array<ArrayBuffer>> {
  const announced = Number(response.headers.get('content-length') ?? 0)
  const bytes = announced > most ? undefined : await readCapped(response.body, most)
  if (bytes) return bytes
  dropBody(response)
  throw new StoreError(
    'unavailable',
    `${origin} answered with more than ${most} bytes, which were not read; raise maxBytes if so much is expected`,
  )
}

const isType = (response: Response, type: string): boolean =>
  (response.headers.get('content-type') ?? '').split(';')[0]!.trim().toLowerCase() === type

function envelopeOf(response: Response, bytes: Uint8Array): Record<string, unknown> | undefined {
  if (!isType(response, 'application/json')) return undefined
  try {
    const body: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    return isObject(body) ? body : undefined
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
}

/** Only texts that nobody can misuse: short, without secrets, without control characters. */
function problemOf({ protocol, error }: Record<string, unknown>, hide: Reading['hide']): Problem | undefined {
  if (!isVersion(protocol) || !isObject(error) || typeof error.code !== 'string') return undefined
  const { message, owner, since, head } = error
  const code = actedUpon.includes(error.code) ? error.code : excerpt(hide(error.code), 40)
  return {
    code,
    message: typeof message === 'string' ? excerpt(hide(message), 500) : code,
    ...(typeof owner === 'string' && { owner: hide(owner).slice(0, 500) }),
    ...(typeof since === 'number' && { since }),
    ...(typeof head === 'number' && { head }),
  }
}

function saying(response: Response, bytes: Uint8Array, { origin, hide }: Reading): string {
  const type = excerpt(hide(response.headers.get('content-type') ?? 'no type'), 60)
  // Cut once more after hiding: the first cut may have gone through a secret.
  const text = hide(new TextDecoder().decode(bytes.subarray(0, 10_000))).slice(0, 5000)
  const what = text.trim() ? `"${excerpt(text, 120)}"` : 'nothing'
  return (
    `${origin} answered ${response.status} (${type}) with ${what}, which is not the answer of a session store; ` +
    'check the url, and what stands between here and the server'
  )
}

/** The beginning of a text from outside, fit for an error message. */
export function excerpt(text: string, most: number): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
  const plain = text.replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, ' ').trim()
  return plain.length > most ? `${plain.slice(0, most - 1).toWellFormed()}…` : plain
}

function retryAfter({ headers }: Response, now: number): number | undefined {
  const said = headers.get('retry-after')
  if (!said) return undefined
  const ms = /^\d+$/.test(said) ? Number(said) * 1000 : Date.parse(said) - now
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined
}
