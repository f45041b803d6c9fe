import type { AuthorizationServerMetadata, OAuthProtectedResourceMetadata } from '@modelcontextprotocol/client'
import { loginAborted } from '../../auth/callback-server.ts'
import { OAuthError, secureUrl } from '../../auth/token-endpoint.ts'
import { systemClock } from '../../core/clock.ts'
import type { McpServerConfig } from '../config.ts'
import { loadSdk } from '../load-sdk.ts'
import { awaitAnswer, type LoginAnswer, type McpLoginOptions } from './browser-login.ts'
import { credentialKey, type McpClientInformation, type McpCredential } from './credential.ts'
import type { McpCredentialStore } from './credential-store.ts'
import { type Challenge, challengeOf, credentialHeader, scopesOf } from './login-required.ts'
import { oauthFailure } from './oauth-failure.ts'
import { discoveryFetch, tokenFetch } from './oauth-fetch.ts'
import { tokensOf } from './renew-credential.ts'
import { clientMetadata } from './stored-login.ts'

/** Logs a person in to an MCP server through the browser of this machine. The result has no secrets. */
export async function loginMcpServer(
  config: McpServerConfig,
  options: McpLoginOptions,
): Promise<{ readonly name: string; readonly issuer: string; readonly scopes: readonly string[] }> {
  const { name } = config
  const { hooks } = options
  try {
    const login = await logIn(config, options)
    await hooks?.tell('mcp:auth:success', { name })
    return login
  } catch (cause) {
    const error = options.signal?.aborted
      ? loginAborted(`the MCP server "${name}"`)
      : oauthFailure(cause, whatOf(config), await loadSdk())
    await hooks?.tell('mcp:auth:error', { name, error })
    throw error
  }
}

const whatOf = ({ name }: McpServerConfig): string => `The login to the MCP server "${name}"`

async function logIn(config: McpServerConfig, options: McpLoginOptions): ReturnType<typeof loginMcpServer> {
  const { store, signal, clock = systemClock } = options
  const server = serverAddress(config)
  if (signal?.aborted) throw loginAborted(`the MCP server "${config.name}"`)
  const fetch = await fetchOf(config, options)
  const sdk = await loadSdk()
  const found = await findLogin(config, fetch)
  const before = (await store.list()).filter((one) => one.name === config.name && one.server === server)
  const scopes = scopesToAsk(found, before, options)
  const answer = await awaitAnswer(config, options, async (redirectUrl, state) => {
    const client = await clientFor(found, redirectUrl, scopes, options, fetch)
    const asked = { redirectUrl, state, scope: scopes.join(' '), resource: found.resource }
    const { authorizationUrl, codeVerifier } = await sdk.startAuthorization(found.authorizationServer, {
      ...asked,
      metadata: found.metadata,
      clientInformation: { ...client },
    })
    return { authorizationUrl, codeVerifier, client, scopes, metadata: found.metadata }
  })
  const credential = await exchangeCode(config, found, answer, { fetch, now: () => clock.now() })
  await storeLogin(store, credential, before)
  return { name: config.name, issuer: found.metadata.issuer, scopes: credential.tokens.scopes ?? scopes }
}

function serverAddress(config: McpServerConfig): string {
  if (config.transport === 'stdio' || config.url === undefined)
    throw new OAuthError(`${whatOf(config)} is not possible: it has no url; give programs what they need in env`, {
      code: 'no_url',
    })
  const header = credentialHeader(config)
  if (header !== undefined)
    throw new OAuthError(`${whatOf(config)} would not be used: its headers set ${header}; leave that one out first`, {
      code: 'static_authorization',
    })
  return secureUrl(config.url).href
}

async function fetchOf(config: McpServerConfig, options: McpLoginOptions): Promise<typeof globalThis.fetch> {
  const { createMcpFetch } = await import('../http/mcp-fetch.ts')
  const { fetch: given, allowPrivate, signal } = options
  return createMcpFetch(config, {
    ...(given && { fetch: given }),
    ...(allowPrivate && { allowPrivate }),
    ...(signal && { signal }),
  })
}

async function exchangeCode(
  { name, url = '' }: McpServerConfig,
  { authorizationServer, metadata, resource, resourceMetadataUrl }: FoundLogin,
  { code, iss, codeVerifier, redirectUrl, client, scopes }: LoginAnswer,
  { fetch: fetchFn, now }: { readonly fetch: typeof globalThis.fetch; readonly now: () => number },
): Promise<McpCredential> {
  const sdk = await loadSdk()
  const tokens = await sdk.exchangeAuthorization(authorizationServer, {
    metadata,
    clientInformation: { ...client },
    authorizationCode: code,
    ...(iss !== undefined && { iss }),
    codeVerifier,
    redirectUri: redirectUrl,
    resource,
    fetchFn: tokenFetch(fetchFn),
  })
  return {
    name,
    server: new URL(url).href,
    issuer: metadata.issuer,
    resource,
    client,
    tokens: { ...(scopes.length > 0 && { scopes }), ...tokensOf(tokens, now()) },
    ...(resourceMetadataUrl !== undefined && { resourceMetadataUrl }),
    savedAt: now(),
  }
}

/** Deletes earlier logins after the new one is stored. */
async function storeLogin(
  store: McpCredentialStore,
  credential: McpCredential,
  before: readonly McpCredential[],
): Promise<void> {
  const key = credentialKey(credential)
  await store.exclusively(key, () => store.set(key, credential))
  for (const old of before.map(credentialKey)) if (old !== key) await store.exclusively(old, () => store.delete(old))
}

/** The checked authorization server of an MCP server. */
interface FoundLogin {
  readonly authorizationServer: string
  readonly metadata: AuthorizationServerMetadata
  readonly resourceMetadata?: OAuthProtectedResourceMetadata
  readonly resource: string
  readonly resourceMetadataUrl?: string
  /** The scopes that the server's 401 names. */
  readonly challengedScopes: readonly string[]
}

/** Discovers the authorization server. Throws if a login would not be safe. */
async function findLogin(config: McpServerConfig, fetch: typeof globalThis.fetch): Promise<FoundLogin> {
  return discover(new URL(config.url ?? '').href, await askForChallenge(config, fetch), fetch)
}

/** A request without a token makes the server name its metadata; otherwise the well-known addresses are tried. */
async function askForChallenge(
  { url = '', transport }: McpServerConfig,
  fetch: typeof globalThis.fetch,
): Promise<Challenge> {
  const accept = 'application/json, text/event-stream'
  const ask = {
    method: 'POST',
    body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    headers: { accept, 'content-type': 'application/json' },
  }
  const response = await fetch(url, transport === 'sse' ? { headers: { accept } } : ask)
  await response.body?.cancel()
  return response.status === 401 ? challengeOf(response) : { scopes: [] }
}

async function discover(server: string, challenge: Challenge, fetch: typeof globalThis.fetch): Promise<FoundLogin> {
  const { fetch: fetchFn } = discoveryFetch(fetch)
  const sdk = await loadSdk()
  const { resourceMetadataUrl } = challenge
  const url = resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl: new URL(resourceMetadataUrl) }
  const found = await sdk.discoverOAuthServerInfo(server, { fetchFn, ...url })
  const { authorizationServerUrl, authorizationServerMetadata: metadata, resourceMetadata } = found
  if (!metadata?.code_challenge_methods_supported?.includes('S256'))
    throw new OAuthError(
      `The authorization server ${new URL(authorizationServerUrl).host} does not say that it supports PKCE with S256, so no login is started there; ask who runs it`,
      { code: 'no_pkce' },
    )
  await sdk.selectResourceURL(server, noProvider, resourceMetadata) // throws when it is for another server
  const resource = resourceMetadata?.resource ?? sdk.resourceUrlFromServerUrl(server).href
  return {
    authorizationServer: authorizationServerUrl,
    metadata,
    ...(resourceMetadata && { resourceMetadata }),
    resource,
    challengedScopes: challenge.scopes,
    ...(resourceMetadataUrl !== undefined && { resourceMetadataUrl }),
  }
}

/** `selectResourceURL` uses a provider only for a method that ours does not have. */
const noProvider = {} as Parameters<Awaited<ReturnType<typeof loadSdk>>['selectResourceURL']>[1]

/** The client: registered by hand, else a metadata document, else registered dynamically. */
async function clientFor(
  { authorizationServer, metadata }: FoundLogin,
  redirectUrl: string,
  scopes: readonly string[],
  { client, clientMetadataUrl }: McpLoginOptions,
  fetchFn: typeof globalThis.fetch,
): Promise<McpClientInformation> {
  if (client) return { client_id: client.id, ...(client.secret !== undefined && { client_secret: client.secret }) }
  const sdk = await loadSdk()
  if (clientMetadataUrl !== undefined && metadata.client_id_metadata_document_supported === true) {
    sdk.validateClientMetadataUrl(clientMetadataUrl)
    return { client_id: clientMetadataUrl }
  }
  const registered = await sdk.registerClient(authorizationServer, {
    metadata,
    clientMetadata: clientMetadata(redirectUrl),
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
    fetchFn,
  })
  const { client_id, client_secret, token_endpoint_auth_method } = registered
  return {
    client_id,
    ...(client_secret !== undefined && { client_secret }),
    ...(token_endpoint_auth_method !== undefined && { token_endpoint_auth_method }),
  }
}

/**
 * The scopes that a login requests: those the server wants now; after refused calls also the earlier ones and those that the
 * calls needed. If the server names none, all scopes it supports.
 */
export function scopesToAsk(
  { challengedScopes, resourceMetadata, metadata }: FoundLogin,
  before: readonly McpCredential[],
  { scopes: asked = [] }: Pick<McpLoginOptions, 'scopes'>,
): readonly string[] {
  const needed = [...asked, ...before.flatMap(({ neededScopes = [] }) => neededScopes)]
  const kept = needed.length > 0 ? before.flatMap(({ tokens }) => tokens.scopes ?? []) : []
  const wanted = [...kept, ...challengedScopes, ...needed]
  const all = wanted.length > 0 ? wanted : (resourceMetadata?.scopes_supported ?? [])
  const scopes = scopesOf(all.join(' '))
  // Some servers issue a refresh token only with this scope.
  const isOffline = scopes.length > 0 && metadata.scopes_supported?.includes('offline_access')
  return [...new Set([...scopes, ...(isOffline ? ['offline_access'] : [])])]
}
