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
 * Signs in with what a login has stored, and renews it. It never opens a browser: what only a person can do ends in a
 * `McpLoginRequiredError`. Our transports use `token` and `onUnauthorized`; the rest is what the SDK asks of a provider.
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
  /** Refresh tokens that were refused. They stay in the store until a login replaces them, but are not sent again. */
  readonly #refused = new Set<string>()
  /** Renewed, but the store could not take it: until it can, the only valid tokens are here. */
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

  /** Says which server this is for. Once said, it stays: a token is not for any server that asks. */
  bind(url: string, fetch?: typeof globalThis.fetch): void {
    const { href } = secureUrl(url)
    if (this.#url !== undefined && this.#url !== href)
      throw new TypeError(
        `The login of the MCP server "${this.name}" is for ${this.#url}; make another provider for ${href}`,
      )
    this.#url = href
    this.#fetch ??= fetch
  }

  /** The token for the next request, renewed if it is about to end. Undefined when nobody has logged in. */
  async token(): Promise<string | undefined> {
    return (await this.#current())?.tokens.access
  }

  /** Called on a 401. Returns when there is another token to try. */
  async onUnauthorized({ response, serverUrl }: { response: Response; serverUrl: URL }): Promise<void> {
    this.bind(serverUrl.href)
    const { scopes, resourceMetadataUrl } = challengeOf(response)
    const credential = await this.#find()
    if (!credential) throw new McpLoginRequiredError(this.name, { scopes })
    await this.#renew(credential, usedToken(response) ?? this.#lastUsed, resourceMetadataUrl)
  }

  /** Keeps what a call was refused for, so that the next login asks for it too. */
  async noteNeededScopes(scopes: readonly string[]): Promise<void> {
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

  /** Without an issuer: for a request to the server. With one: what is stored, which the SDK may then renew. */
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

  /** Who is not registered is not registered behind anybody's back: that belongs to a login. */
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

  /** Nothing is deleted: an old token may still work, and the next login replaces it. What was refused is not sent again. */
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
    if (!this.#endsWithin(credential, marginMs)) return credential
    try {
      const fresh = await this.#renew(credential, access)
      this.#lastUsed = fresh.tokens.access
      return fresh
    } catch (error) {
      // In its last minute a token is renewed early; as long as it is good, failing at that harms nobody.
      if (!this.#endsWithin(credential, 0)) return credential
      throw error
    }
  }

  /** The newest login to this very server. The store is asked each time: another process may have renewed it, or logged out. */
  async #find(issuer?: string): Promise<McpCredential | undefined> {
    if (this.#url === undefined) return undefined
    for (const key of this.#unsaved.keys()) await this.#saveLate(key).catch(() => {})
    const all = [...(await this.#store.list()), ...this.#unsaved.values()]
    return all
      .filter(({ name, server }) => name === this.name && server === this.#url)
      .filter((one) => issuer === undefined || one.issuer === issuer)
      .sort((a, b) => b.savedAt - a.savedAt)[0]
  }

  #renew(credential: McpCredential, stale: string | undefined, metadataUrl?: string): Promise<McpCredential> {
    this.#renewing ??= this.#renewAlone(credential, stale, metadataUrl).finally(() => {
      this.#renewing = undefined
    })
    return this.#renewing
  }

  /** No caller can abort it: the answer holds the only refresh token that is still good. */
  #renewAlone(credential: McpCredential, stale: string | undefined, metadataUrl?: string): Promise<McpCredential> {
    return this.#change(credential, async (stored) => {
      if (stored.tokens.access !== stale && !this.#endsWithin(stored, 0)) return stored
      const { refresh } = stored.tokens
      const over = new McpLoginRequiredError(this.name, { reason: 'the login has expired or was revoked' })
      if (refresh !== undefined && this.#refused.has(refresh)) throw over
      const asked = metadataUrl === undefined ? stored : { ...stored, resourceMetadataUrl: metadataUrl }
      try {
        return await renewCredential(asked, { fetch: await this.#askingFetch(), now: () => this.#clock.now() })
      } catch (error) {
        if (refresh === undefined || !isLoginOver(error)) throw error
        this.#refused.add(refresh)
        throw over
      }
    })
  }

  /** Under the lock, from what is stored by then. */
  #change(
    credential: McpCredential,
    edit: (stored: McpCredential) => McpCredential | Promise<McpCredential>,
  ): Promise<McpCredential> {
    const key = credentialKey(credential)
    return this.#store.exclusively(key, async () => {
      const stored = await this.#newest(key)
      if (!stored) throw new McpLoginRequiredError(this.name, { reason: 'somebody has logged out' })
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

  /** What was renewed here and is not stored, unless somebody has logged out, or in again, since. */
  async #newest(key: string): Promise<McpCredential | undefined> {
    const stored = await this.#store.get(key)
    const unsaved = this.#unsaved.get(key)
    if (!unsaved || (stored && stored.savedAt <= unsaved.savedAt)) return unsaved ?? stored
    this.#unsaved.delete(key)
    return stored
  }

  /** Under the lock, so that it never lands upon something newer. */
  #saveLate(key: string): Promise<void> {
    return this.#store.exclusively(key, async () => {
      const credential = await this.#newest(key)
      if (credential && this.#unsaved.has(key)) await this.#save(key, credential)
    })
  }

  async #askingFetch(): Promise<typeof globalThis.fetch> {
    if (this.#fetch) return this.#fetch
    const { createMcpFetch } = await import('../http/mcp-fetch.ts')
    this.#fetch = createMcpFetch({ name: this.name, transport: 'streamable-http', url: this.#url ?? '' })
    return this.#fetch
  }

  #endsWithin({ tokens: { expires } }: McpCredential, ms: number): boolean {
    return expires !== undefined && expires <= this.#clock.now() + ms
  }
}

/** So much earlier than needed is a token renewed: a request that it begins with must also end with it. */
const marginMs = 60_000

const logins = new WeakMap<McpOAuthProvider, StoredLogin>()

/** What a provider stands for; the same for as long as the provider is. */
export function storedLogin(provider: McpOAuthProvider): StoredLogin {
  let login = logins.get(provider)
  if (!login) logins.set(provider, (login = new StoredLogin(provider.options)))
  return login
}

/** What we say of ourselves to authorization servers: a program on somebody's machine, which can keep no secret. */
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
