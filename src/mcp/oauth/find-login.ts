import type { AuthorizationServerMetadata, OAuthProtectedResourceMetadata } from '@modelcontextprotocol/client'
import { OAuthError } from '../../auth/token-endpoint.ts'
import type { McpServerConfig } from '../config.ts'
import { loadSdk } from '../load-sdk.ts'
import type { McpLoginOptions } from './browser-login.ts'
import type { McpClientInformation, McpCredential } from './credential.ts'
import { type Challenge, challengeOf, scopesOf } from './login-required.ts'
import { discoveryFetch } from './oauth-fetch.ts'
import { clientMetadata } from './stored-login.ts'

/** The checked authorization server of an MCP server. */
export interface FoundLogin {
  readonly authorizationServer: string
  readonly metadata: AuthorizationServerMetadata
  readonly resourceMetadata?: OAuthProtectedResourceMetadata
  readonly resource: string
  readonly resourceMetadataUrl?: string
  /** The scopes that the server's 401 names. */
  readonly challengedScopes: readonly string[]
}

/** Discovers the authorization server. Throws if a login would not be safe. */
export async function findLogin(config: McpServerConfig, fetch: typeof globalThis.fetch): Promise<FoundLogin> {
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
export async function clientFor(
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
