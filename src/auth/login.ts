import { type Clock, systemClock } from '../core/clock.ts'
import { isSameSecret } from '../platform/is-same-secret.ts'
import {
  base64Url,
  type CallbackServer,
  limitLogin,
  loginAborted,
  openLoginPage,
  randomText,
  startCallbackServer,
} from './callback-server.ts'
import type { CredentialStore } from './credentials.ts'
import { type OAuthEndpoints, type OAuthTokens, withAccount } from './oauth.ts'
import { errorCode, OAuthError, requestTokens, secureUrl } from './token-endpoint.ts'

/** Logs in through the browser: authorization code with PKCE, and a redirect to this machine. */
export async function login(options: {
  /** The name of the login in the store. */
  readonly name: string
  readonly endpoints: OAuthEndpoints
  /** Stores the tokens. An earlier login stays until this one has succeeded. */
  readonly store?: CredentialStore
  /** Default: the browser of this machine. A failure does not end the login, because the address is also printed. */
  readonly openBrowser?: (url: string) => void | Promise<void>
  /** Shows a line to the user. */
  readonly print?: (text: string) => void
  /** Default: the global one. */
  readonly fetch?: typeof globalThis.fetch
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
  /**
   * For machines without a browser: asks the user for the address that the browser ended at, or for `code#state`. Runs beside the
   * wait for the browser; its signal aborts when it is no longer needed.
   */
  readonly paste?: (signal: AbortSignal) => Promise<string>
  readonly clock?: Clock
}): Promise<OAuthTokens> {
  const { name, endpoints, store, fetch, signal, timeoutMs = 300_000, clock = systemClock, print } = options
  const authorizeUrl = secureUrl(endpoints.authorizeUrl)
  secureUrl(endpoints.tokenUrl)
  if (signal?.aborted) throw loginAborted(name)

  const [state, verifier] = [randomText(), randomText()]
  const answer = Promise.withResolvers<string>()
  answer.promise.catch(() => {}) // it may reject before it is awaited
  const waiting = new AbortController()
  const accept = (params: URLSearchParams): boolean => acceptAnswer(params, { name, state, endpoints, answer })

  const server = await startCallbackServer(endpoints.redirect ?? {}, accept)
  const stop = limitLogin(name, { signal, timeoutMs, clock }, answer.reject)
  try {
    setQuery(authorizeUrl, endpoints, server, { state, challenge: await challengeOf(verifier) })
    print?.(`To log in to ${name}, open ${authorizeUrl.href}`)
    void openLoginPage(authorizeUrl.href, options)
    void readPasted(options, waiting.signal, accept, answer.reject)
    const code = await answer.promise
    await server.close()
    const grant = { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: server.redirectUri }
    const tokens = withAccount(
      await requestTokens(endpoints, grant, { clock, ...(fetch && { fetch }), ...(signal && { signal }) }),
    )
    await store?.set(name, { type: 'oauth', ...tokens })
    return tokens
  } finally {
    waiting.abort()
    stop()
    await server.close()
  }
}

export type LoginOptions = Parameters<typeof login>[0]

async function challengeOf(verifier: string): Promise<string> {
  return base64Url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))))
}

interface Expected {
  readonly name: string
  readonly state: string
  readonly endpoints: OAuthEndpoints
  readonly answer: PromiseWithResolvers<string>
}

/** Ends the waiting with the answer of the authorization server. Returns false for parameters that do not belong to this login. */
function acceptAnswer(params: URLSearchParams, { name, state, endpoints, answer }: Expected): boolean {
  if (!isSameSecret(params.get('state') ?? '', state)) return false
  const [iss, error, code] = [params.get('iss'), params.get('error'), params.get('code')]
  if (iss !== null && endpoints.issuer !== undefined && iss !== endpoints.issuer)
    answer.reject(
      new OAuthError(
        `The login to ${name} was answered by another server than ${endpoints.issuer}; do not trust the page that was shown, and start again`,
        { code: 'issuer_mismatch' },
      ),
    )
  else if (error !== null) answer.reject(refusal(name, errorCode(error) ?? 'unknown_error'))
  else if (code) answer.resolve(code)
  else return false
  return true
}

function refusal(name: string, code: string): OAuthError {
  const why = code === 'access_denied' ? 'access was denied in the browser' : `the server answered ${code}`
  return new OAuthError(`The login to ${name} failed: ${why}; start it again to retry`, { code })
}

function setQuery(
  url: URL,
  { clientId, scopes, extraAuthorizeParams }: OAuthEndpoints,
  { redirectUri }: CallbackServer,
  { state, challenge }: { readonly state: string; readonly challenge: string },
): void {
  const query = {
    ...extraAuthorizeParams,
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    ...(scopes?.length && { scope: scopes.join(' ') }),
    state,
    code_challenge: challenge,
    code_challenge_method: 'S256',
  }
  for (const [key, value] of Object.entries(query)) url.searchParams.set(key, value)
}

const mostPastes = 5

async function readPasted(
  { paste, print }: LoginOptions,
  signal: AbortSignal,
  accept: (params: URLSearchParams) => boolean,
  reject: (error: OAuthError) => void,
): Promise<void> {
  if (!paste) return
  try {
    for (let i = 0; i < mostPastes && !signal.aborted; i++) {
      if (accept(pastedAnswer(await paste(signal)))) return
      if (!signal.aborted)
        print?.('That is not the answer to this login; paste the whole address that the browser ended at')
    }
  } catch {
    return // pasting is not possible; the browser may still answer
  }
  reject(
    new OAuthError(`None of ${mostPastes} pasted answers belongs to this login; start it again`, { code: 'bad_paste' }),
  )
}

function pastedAnswer(text: string): URLSearchParams {
  const [address = '', fragment = ''] = text.trim().split('#')
  const query = address.indexOf('?')
  if (query >= 0) return new URLSearchParams(address.slice(query))
  return new URLSearchParams({ code: address, state: fragment })
}
