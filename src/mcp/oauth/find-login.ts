import type { AuthorizationServerMetadata, OAuthProtectedResourceMetadata } from '@modelcontextprotocol/client'
import { OAuthError } from '../../auth/token-endpoint.ts'
import type { McpServerConfig } from '../config.ts'
import { loadSdk } from '../load-sdk.ts'
import { type Challenge, challengeOf } from './challenge.ts'
import { discoveryFetch } from './discovery-fetch.ts'

/** Where a person logs in for a server, checked. */
export interface FoundLogin {
  readonly authorizationServer: string
  readonly metadata: AuthorizationServerMetadata
  readonly resourceMetadata?: OAuthProtectedResourceMetadata
  readonly resource: string
  readonly resourceMetadataUrl?: string
  /** What the server wants before it lets anybody in. */
  readonly challengedScopes: readonly string[]
}

/** Finds out where and how to log in to a server. Throws where it would not be safe. */
export async function findLogin(config: McpServerConfig, fetch: typeof globalThis.fetch): Promise<FoundLogin> {
  return discover(new URL(config.url ?? '').href, await askForChallenge(config, fetch), fetch)
}

/** What the server wants it says when it is asked without a token. Who says nothing is looked up where such things lie. */
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
      `The authorization server ${new URL(authorizationServerUrl).host} does not say that it supports PKCE with S256, so nobody is sent there; ask who runs it`,
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

/** It is only asked for an opinion of its own. */
const noProvider = {} as Parameters<Awaited<ReturnType<typeof loadSdk>>['selectResourceURL']>[1]
