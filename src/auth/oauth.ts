import { type Clock, systemClock } from '../core/clock.ts'
import type { CredentialStore } from './credentials.ts'
import { OAuthError, requestTokens, type TokenRequestOptions } from './token-endpoint.ts'

export { OAuthError, type TokenRequestOptions } from './token-endpoint.ts'

export interface OAuthTokens {
  readonly access: string
  /** Without it the login ends when the access token does. */
  readonly refresh?: string
  /** When the access token expires, in ms since the epoch, if known. */
  readonly expires?: number
  readonly accountId?: string
}

/** An authorization server, with our client id there. */
export interface OAuthEndpoints {
  readonly clientId: string
  readonly authorizeUrl: string
  readonly tokenUrl: string
  /** The issuer; an answer of another one is refused. */
  readonly issuer?: string
  readonly scopes?: readonly string[]
  /** The redirect address. Default: a free port of 127.0.0.1 and `/callback`. */
  readonly redirect?: {
    readonly port?: number
    readonly path?: string
    readonly host?: 'localhost' | '127.0.0.1'
  }
  readonly extraAuthorizeParams?: Readonly<Record<string, string>>
  readonly tokenFormat?: 'form' | 'json'
}

export interface TokenSourceOptions {
  /** The name of the login in the store. */
  readonly name: string
  readonly tokens: OAuthTokens
  /** Shared with other processes. A login that was removed from it is not renewed. Without a store, keep the tokens of `onRefresh`. */
  readonly store?: CredentialStore
  readonly endpoints: OAuthEndpoints
  /** Default: the global one. */
  readonly fetch?: typeof globalThis.fetch
  readonly clock?: Clock
  /** The lock for renewals. Default: beside the store's file. */
  readonly lockPath?: string
  /** Called after this process renewed the tokens, before they are used. */
  readonly onRefresh?: (tokens: OAuthTokens) => void | Promise<void>
}

export interface TokenSource {
  /** Tokens that are valid for the next minute, renewed if necessary. */
  current(): Promise<OAuthTokens>
  /** Other tokens than those with this access token, which a server refused. */
  refresh(stale: string): Promise<OAuthTokens>
}

/** Keeps one login valid. Callers and processes share one renewal at expiry. */
export function createTokenSource(options: TokenSourceOptions): TokenSource {
  const { name, store, endpoints, fetch, clock = systemClock, onRefresh } = options
  let tokens = options.tokens
  let renewing: Promise<OAuthTokens> | undefined

  // No caller can abort it: the answer holds the only valid refresh token.
  async function renew(stale: string): Promise<OAuthTokens> {
    if (!store) return announce(await requestRenewal())
    const { withLock, LockTimeoutError } = await import('../platform/lock.ts')
    const lockPath = options.lockPath ?? `${store.path}.${encodeURIComponent(name)}.lock`
    try {
      return await withLock(lockPath, () => renewStored(store, stale))
    } catch (error) {
      if (!(error instanceof LockTimeoutError)) throw error
      throw new OAuthError(error.message, { code: 'locked', retryable: true, cause: error })
    }
  }

  async function renewStored(store: CredentialStore, stale: string): Promise<OAuthTokens> {
    const stored = await store.get(name)
    if (stored?.type !== 'oauth')
      throw new OAuthError(`There is no OAuth login ${JSON.stringify(name)} in ${store.path} any more; log in again`, {
        code: 'logged_out',
      })
    const { type: _, ...rest } = stored
    tokens = rest
    if (tokens.access !== stale && !expiresWithin(0)) return tokens
    await store.set(name, { type: 'oauth', ...(await requestRenewal()) })
    return announce(tokens)
  }

  async function requestRenewal(): Promise<OAuthTokens> {
    const { refresh, accountId } = tokens
    if (refresh === undefined)
      throw new OAuthError(
        `The login ${JSON.stringify(name)} cannot be renewed: it has no refresh token; log in again`,
        {
          code: 'no_refresh_token',
        },
      )
    const fresh = await refreshTokens(endpoints, refresh, { clock, ...(fetch && { fetch }) })
    return (tokens = { ...(accountId !== undefined && { accountId }), ...fresh })
  }

  async function announce(fresh: OAuthTokens): Promise<OAuthTokens> {
    await onRefresh?.(fresh)
    return fresh
  }

  function expiresWithin(ms: number): boolean {
    return tokens.expires !== undefined && tokens.expires <= clock.now() + ms
  }

  const source: TokenSource = {
    async current() {
      if (!expiresWithin(marginMs)) return tokens
      const { access } = tokens
      try {
        return await source.refresh(access)
      } catch (error) {
        // The early renewal failed, but the token is still valid. A failure to store new tokens is an error.
        if (error instanceof OAuthError && tokens.access === access && !expiresWithin(0)) return tokens
        throw error
      }
    },
    async refresh(stale) {
      if (!renewing && tokens.access !== stale && !expiresWithin(0)) return tokens
      renewing ??= renew(stale).finally(() => {
        renewing = undefined
      })
      return renewing
    },
  }
  return source
}

/** Tokens are renewed this early, so that they stay valid for the whole request. */
const marginMs = 60_000

/** New tokens for a refresh token (RFC 6749, section 6). Without a new refresh token in the answer the old one stays. */
export async function refreshTokens(
  endpoints: OAuthEndpoints,
  refreshToken: string,
  options: TokenRequestOptions = {},
): Promise<OAuthTokens> {
  const grant = { grant_type: 'refresh_token', refresh_token: refreshToken }
  const tokens = await requestTokens(endpoints, grant, options)
  return withAccount({ refresh: refreshToken, ...tokens })
}

/** Adds the account id that the access token contains, if any. */
export function withAccount(tokens: OAuthTokens): OAuthTokens {
  const accountId = accountIdOf(tokens.access)
  return accountId === undefined ? tokens : { ...tokens, accountId }
}

/** The ChatGPT account of a Codex access token; undefined if it cannot be read. */
export function accountIdOf(accessToken: string): string | undefined {
  try {
    const payload = accessToken.split('.')[1] ?? ''
    const bytes = Uint8Array.from(atob(payload.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.charCodeAt(0))
    const id: unknown = JSON.parse(new TextDecoder().decode(bytes))?.['https://api.openai.com/auth']?.chatgpt_account_id
    return typeof id === 'string' && id !== '' ? id : undefined
  } catch {
    return undefined
  }
}

/** The public values of the open-source Codex CLI: a ChatGPT account in place of an API key. */
export const codexOAuth: OAuthEndpoints = {
  clientId: 'app_EMoamEEZ73f0CkXaXp7hrann',
  issuer: 'https://auth.openai.com',
  authorizeUrl: 'https://auth.openai.com/oauth/authorize',
  tokenUrl: 'https://auth.openai.com/oauth/token',
  scopes: ['openid', 'profile', 'email', 'offline_access'],
  redirect: { host: 'localhost', port: 1455, path: '/auth/callback' },
  extraAuthorizeParams: {
    id_token_add_organizations: 'true',
    codex_cli_simplified_flow: 'true',
    originator: 'libero',
  },
}
