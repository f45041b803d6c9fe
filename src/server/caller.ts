import { isSameSecret } from '../platform/is-same-secret.ts'
import { Problem, retryAfter } from './problem.ts'
import { isTenantName } from './session-names.ts'

/** What a caller may do: read sessions; send messages and stop; answer what waits; change everything else. */
export type Scope = 'read' | 'send' | 'answer' | 'admin'

export const allScopes: readonly Scope[] = ['read', 'send', 'answer', 'admin']

/** Who sent a request, as the server has verified it. */
export interface Caller {
  /** The name of the person or program, for the log and the audit. */
  readonly user: string
  /** Callers of different tenants share nothing. Absent on a server for one user. */
  readonly tenant?: string
  /** Default: all. */
  readonly scopes?: readonly Scope[]
}

/** How requests are authenticated: by one token that may do everything, or by the host. */
export type ServerAuth =
  | { readonly token: string; readonly user?: string }
  | { readonly verify: (request: Request) => Promise<Caller | undefined> | Caller | undefined }

/** The cookie that a browser page gets for the token. */
export const cookieName = 'libero_session'

/** Throws unless the options keep strangers out. */
export function checkAuth(auth: ServerAuth): void {
  if ('verify' in auth && typeof auth.verify === 'function') return
  if ('token' in auth && typeof auth.token === 'string' && auth.token.length >= 32) return
  throw new TypeError('createServer needs auth: { token } with at least 32 characters, or { verify(request) }')
}

/** The verified caller of a request. Throws a problem if there is none. */
export async function callerOf(request: Request, auth: ServerAuth, guesses: Guesses): Promise<Caller> {
  const pauseMs = guesses.pauseMs()
  if ('verify' in auth) {
    const caller = await auth.verify(request)
    if (!caller) {
      const hasTried = request.headers.has('authorization') || request.headers.has('cookie')
      throw hasTried ? guesses.refusal(pauseMs) : unauthenticated()
    }
    if (typeof caller.user !== 'string' || (caller.tenant !== undefined && !isTenantName(caller.tenant)))
      throw new Error(
        'verify() must give { user, tenant?, scopes? }; a tenant has letters, digits, - and _ only, and is not "libero"',
      )
    return caller
  }
  const [, bearer] = /^Bearer +(\S+) *$/i.exec(request.headers.get('authorization') ?? '') ?? []
  const cookie = bearer === undefined ? cookieOf(request) : undefined
  const isRight =
    bearer !== undefined
      ? isSameSecret(bearer, auth.token)
      : cookie !== undefined && isSameSecret(cookie, await cookieValue(auth.token))
  if (!isRight) throw (bearer ?? cookie) === undefined ? unauthenticated() : guesses.refusal(pauseMs)
  // A page of another site cannot set this header, nor send JSON, without a question of the browser that is refused.
  if (cookie !== undefined && request.method !== 'GET' && request.method !== 'HEAD' && !request.headers.has('x-libero'))
    throw new Problem(
      403,
      'header_missing',
      'With a cookie, requests that change something need the header X-Libero: 1',
    )
  return { user: auth.user ?? 'user' }
}

function unauthenticated(): Problem {
  return new Problem(401, 'unauthenticated', 'Send the token of this server as Authorization: Bearer <token>', {
    headers: { 'www-authenticate': 'Bearer' },
  })
}

/** Whether the caller has the scope. `admin` includes all others. */
export const hasScope = ({ scopes = allScopes }: Caller, scope: Scope): boolean =>
  scopes.includes(scope) || scopes.includes('admin')

/** Throws unless the caller has the scope. */
export function requireScope(caller: Caller, scope: Scope): void {
  const { scopes = allScopes } = caller
  if (!hasScope(caller, scope))
    throw new Problem(
      403,
      'scope_missing',
      `This needs the scope "${scope}", and you have ${scopes.join(', ') || 'none'}`,
    )
}

function cookieOf({ headers }: Request): string | undefined {
  const pairs = (headers.get('cookie') ?? '').split(/; */)
  return pairs.find((pair) => pair.startsWith(`${cookieName}=`))?.slice(cookieName.length + 1)
}

/** Made from the token, so that it stays valid when the server restarts; the token cannot be read from it. */
export async function cookieValue(token: string): Promise<string> {
  const bytes = new TextEncoder().encode(`libero cookie\n${token}`)
  return Buffer.from(await crypto.subtle.digest('SHA-256', bytes)).toString('base64url')
}

/** Slows down guesses of tokens: after ten wrong ones each further one costs time, for all clients together. */
export class Guesses {
  readonly #now: () => number
  readonly #onWrong: () => void
  #count = 0
  #lastAt = 0
  #until = 0

  constructor(now: () => number, onWrong: () => void) {
    this.#now = now
    this.#onWrong = onWrong
  }

  /** How long no further wrong token is looked at. A right one is always accepted. */
  pauseMs(): number {
    return Math.max(0, this.#until - this.#now())
  }

  /** The answer to a wrong token, which counts unless it came too soon. */
  refusal(pauseMs: number): Problem {
    if (pauseMs > 0)
      return new Problem(
        429,
        'too_many_guesses',
        'Too many wrong tokens; wait before the next try',
        retryAfter(pauseMs / 1000),
      )
    const now = this.#now()
    if (now > this.#lastAt + forgetMs) this.#count = 0
    this.#lastAt = now
    this.#count++
    if (this.#count >= freeGuesses)
      this.#until = now + Math.min(30_000, 250 * 2 ** Math.min(7, this.#count - freeGuesses))
    this.#onWrong()
    return unauthenticated()
  }
}

const freeGuesses = 10
const forgetMs = 600_000
