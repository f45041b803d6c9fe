import type {
  OAuthClientInformationContext,
  OAuthClientMetadata,
  OAuthClientProvider,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client'
import { secureUrl } from '../../auth/token-endpoint.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { usedToken } from '../http/mcp-fetch.ts'
import { credentialKey, type McpCredential } from './credential.ts'
import type { McpCredentialStore } from './credential-store.ts'
import { challengeOf, McpLoginRequiredError } from './login-required.ts'
import type { McpOAuthProvider, McpOAuthProviderOptions } from './mcp-oauth-provider.ts'
import { isLoginOver } from './oauth-failure.ts'
import { renewCredential, tokensOf } from './renew-credential.ts'

/**
 * Uses and renews the tokens of a stored login. It never opens a browser: if a person has to log in, it throws a
 * `McpLoginRequiredError`. Our transports use `token` and `onUnauthorized`; the rest is the SDK's provider interface.
 */
export class StoredLogin implements OAuthClientProvider {
  readonly name: string
  readonly clientMetadataUrl?: string
  readonly #store: McpCredentialStore
  readonly #clock: Clock
  #url: string | undefined
  #fetch: typeof globalThis.fetch | undefined
  #renewing: Promise<McpCredential> | undefined
  #lastUsed: string | undefined
  /** Refused refresh tokens. They stay in the store until the next login, but are not sent again. */
  readonly #refused = new Set<string>()
  /** Renewed credentials that could not be stored yet: the only copies of the valid tokens. */
  readonly #unsaved = new Map<string, McpCredential>()
  #codeVerifier = ''

  constructor({ name, store, url, fetch, clientMetadataUrl, clock = systemClock }: McpOAuthProviderOptions) {
    this.name = name
    this.#store = store
    this.#clock = clock
    if (clientMetadataUrl !== undefined) this.clientMetadataUrl = clientMetadataUrl
    if (url !== undefined) this.bind(url, fetch)
    else this.#fetch = fetch
  }

  /** Sets the server's address, once: tokens are never sent to another server. */
  bind(url: string, fetch?: typeof globalThis.fetch): void {
    const { href } = secureUrl(url)
    if (this.#url !== undefined && this.#url !== href)
      throw new TypeError(
        `The login of the MCP server "${this.name}" is for ${this.#url}; make another provider for ${href}`,
      )
    this.#url = href
    this.#fetch ??= fetch
  }

  /** The token for the next request, renewed if it is about to expire. Undefined without a login. */
  async token(): Promise<string | undefined> {
    return (await this.#current())?.tokens.access
  }

  /** Called on a 401. Resolves when there is another token to try. */
  async onUnauthorized({ response, serverUrl }: { response: Response; serverUrl: URL }): Promise<void> {
    this.bind(serverUrl.href)
    const { scopes, resourceMetadataUrl } = challengeOf(response)
    const credential = await this.#find()
    if (!credential) throw new McpLoginRequiredError(this.name, { scopes })
    await this.#renew(credential, usedToken(response) ?? this.#lastUsed, resourceMetadataUrl)
  }

  /** Stores the scopes that a refused call needed, for the next login. */
  async addNeededScopes(scopes: readonly string[]): Promise<void> {
    const credential = await this.#find()
    if (!credential || scopes.length === 0) return
    await this.#change(credential, (stored) => {
      const before = stored.neededScopes ?? []
      const neededScopes = [...new Set([...before, ...scopes])].slice(0, 100)
      return neededScopes.length === before.length ? stored : { ...stored, neededScopes }
    })
  }

  get redirectUrl(): string {
    return 'http://127.0.0.1/callback'
  }

  get clientMetadata(): OAuthClientMetadata {
    return clientMetadata(this.redirectUrl)
  }

  /** Without an issuer: current tokens for a request. With one: the stored tokens, which the SDK may renew. */
  async tokens(context?: OAuthClientInformationContext): Promise<StoredOAuthTokens | undefined> {
    const credential = context ? await this.#find(context.issuer) : await this.#current()
    if (!credential) return undefined
    const { access, refresh, expires, scopes } = credential.tokens
    return {
      access_token: access,
      token_type: 'Bearer',
      issuer: credential.issuer,
      ...(refresh !== undefined && !this.#refused.has(refresh) && { refresh_token: refresh }),
      ...(expires !== undefined && { expires_in: Math.max(0, Math.round((expires - this.#clock.now()) / 1000)) }),
      ...(scopes && { scope: scopes.join(' ') }),
    }
  }

  async saveTokens(tokens: StoredOAuthTokens, context?: OAuthClientInformationContext): Promise<void> {
    const credential = await this.#find(context?.issuer ?? tokens.issuer)
    if (!credential) throw new McpLoginRequiredError(this.name)
    const now = this.#clock.now()
    await this.#change(credential, (stored) => ({ ...stored, tokens: tokensOf(tokens, now), savedAt: now }))
  }

  /** Never registers a client; a login does that. */
  async clientInformation(context?: OAuthClientInformationContext): Promise<StoredOAuthClientInformation | undefined> {
    const credential = await this.#find(context?.issuer)
    if (credential) return { ...credential.client, issuer: credential.issuer }
    if (context) throw new McpLoginRequiredError(this.name)
    return undefined
  }

  async saveClientInformation(
    client: StoredOAuthClientInformation,
    context?: OAuthClientInformationContext,
  ): Promise<void> {
    const credential = await this.#find(context?.issuer)
    if (credential?.client.client_id !== client.client_id) throw new McpLoginRequiredError(this.name)
  }

  redirectToAuthorization(): never {
    throw new McpLoginRequiredError(this.name)
  }

  state(): string {
    return crypto.randomUUID()
  }

  saveCodeVerifier(codeVerifier: string): void {
    this.#codeVerifier = codeVerifier
  }

  codeVerifier(): string {
    return this.#codeVerifier
  }

  /** Deletes nothing: an old token may still work, and the next login replaces it. Refused refresh tokens are not sent again. */
  async invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery'): Promise<void> {
    if (scope === 'verifier') this.#codeVerifier = ''
    if (scope !== 'all' && scope !== 'tokens') return
    const refresh = (await this.#find())?.tokens.refresh
    if (refresh !== undefined) this.#refused.add(refresh)
  }

  async #current(): Promise<McpCredential | undefined> {
    const credential = await this.#find()
    if (!credential) return undefined
    const { access } = credential.tokens
    this.#lastUsed = access
    if (!this.#expiresWithin(credential, marginMs)) return credential
    try {
      const fresh = await this.#renew(credential, access)
      this.#lastUsed = fresh.tokens.access
      return fresh
    } catch (error) {
      // The early renewal failed, but the token is still valid.
      if (!this.#expiresWithin(credential, 0)) return credential
      throw error
    }
  }

  /** The newest login to this server. Read from the store each time: another process may have renewed it or logged out. */
  async #find(issuer?: string): Promise<McpCredential | undefined> {
    if (this.#url === undefined) return undefined
    for (const key of this.#unsaved.keys()) await this.#retrySave(key).catch(() => {})
    const all = [...(await this.#store.list()), ...this.#unsaved.values()]
    return all
      .filter(({ name, server }) => name === this.name && server === this.#url)
      .filter((one) => issuer === undefined || one.issuer === issuer)
      .sort((a, b) => b.savedAt - a.savedAt)[0]
  }

  #renew(credential: McpCredential, stale: string | undefined, metadataUrl?: string): Promise<McpCredential> {
    this.#renewing ??= this.#renewLocked(credential, stale, metadataUrl).finally(() => {
      this.#renewing = undefined
    })
    return this.#renewing
  }

  /** No caller can abort it: the answer holds the only valid refresh token. */
  #renewLocked(credential: McpCredential, stale: string | undefined, metadataUrl?: string): Promise<McpCredential> {
    return this.#change(credential, async (stored) => {
      if (stored.tokens.access !== stale && !this.#expiresWithin(stored, 0)) return stored
      const { refresh } = stored.tokens
      const over = new McpLoginRequiredError(this.name, { reason: 'the login has expired or was revoked' })
      if (refresh !== undefined && this.#refused.has(refresh)) throw over
      const asked = metadataUrl === undefined ? stored : { ...stored, resourceMetadataUrl: metadataUrl }
      try {
        return await renewCredential(asked, { fetch: await this.#authorizationFetch(), now: () => this.#clock.now() })
      } catch (error) {
        if (refresh === undefined || !isLoginOver(error)) throw error
        this.#refused.add(refresh)
        throw over
      }
    })
  }

  /** Edits the stored credential under the lock. */
  #change(
    credential: McpCredential,
    edit: (stored: McpCredential) => McpCredential | Promise<McpCredential>,
  ): Promise<McpCredential> {
    const key = credentialKey(credential)
    return this.#store.exclusively(key, async () => {
      const stored = await this.#newest(key)
      if (!stored) throw new McpLoginRequiredError(this.name, { reason: 'it was logged out' })
      const edited = await edit(stored)
      if (edited !== stored) await this.#save(key, edited)
      return edited
    })
  }

  async #save(key: string, credential: McpCredential): Promise<void> {
    try {
      await this.#store.set(key, credential)
      this.#unsaved.delete(key)
    } catch (error) {
      this.#unsaved.set(key, credential)
      throw error
    }
  }

  /** The unsaved credential, unless there was a logout or another login since; else the stored one. */
  async #newest(key: string): Promise<McpCredential | undefined> {
    const stored = await this.#store.get(key)
    const unsaved = this.#unsaved.get(key)
    if (!unsaved || (stored && stored.savedAt <= unsaved.savedAt)) return unsaved ?? stored
    this.#unsaved.delete(key)
    return stored
  }

  /** Under the lock, so that it never overwrites a newer credential. */
  #retrySave(key: string): Promise<void> {
    return this.#store.exclusively(key, async () => {
      const credential = await this.#newest(key)
      if (credential && this.#unsaved.has(key)) await this.#save(key, credential)
    })
  }

  async #authorizationFetch(): Promise<typeof globalThis.fetch> {
    if (this.#fetch) return this.#fetch
    const { createMcpFetch } = await import('../http/mcp-fetch.ts')
    this.#fetch = createMcpFetch({ name: this.name, transport: 'streamable-http', url: this.#url ?? '' })
    return this.#fetch
  }

  #expiresWithin({ tokens: { expires } }: McpCredential, ms: number): boolean {
    return expires !== undefined && expires <= this.#clock.now() + ms
  }
}

/** Tokens are renewed this early, so that they stay valid for the whole request. */
const marginMs = 60_000

const logins = new WeakMap<McpOAuthProvider, StoredLogin>()

/** The one `StoredLogin` of a provider. */
export function storedLogin(provider: McpOAuthProvider): StoredLogin {
  let login = logins.get(provider)
  if (!login) logins.set(provider, (login = new StoredLogin(provider.options)))
  return login
}

/** How we register: a native program, which can keep no secret. */
export function clientMetadata(redirectUrl: string): OAuthClientMetadata {
  return {
    client_name: 'Libero',
    redirect_uris: [redirectUrl],
    application_type: 'native',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  }
}
