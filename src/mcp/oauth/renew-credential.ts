import type { OAuthTokens } from '@modelcontextprotocol/client'
import { loadSdk } from '../load-sdk.ts'
import { scopesOf } from './challenge.ts'
import type { McpCredential, McpTokens } from './credential.ts'
import { McpLoginRequiredError } from './login-required.ts'
import { oauthFailure } from './oauth-failure.ts'

export interface RenewOptions {
  readonly fetch: typeof globalThis.fetch
  readonly now: () => number
}

/**
 * The credential with new tokens. Where the token endpoint is, is found out anew each time: a server may have moved to
 * another authorization server, which must not get to see what the first one gave.
 */
export async function renewCredential(credential: McpCredential, options: RenewOptions): Promise<McpCredential> {
  const { name, server, issuer, resource, client, tokens, resourceMetadataUrl } = credential
  const { fetch: fetchFn, now } = options
  if (tokens.refresh === undefined)
    throw new McpLoginRequiredError(name, { reason: 'it has ended, and the server gave nothing to renew it with' })
  const sdk = await loadSdk()
  try {
    const where = { fetchFn, ...(resourceMetadataUrl && { resourceMetadataUrl: new URL(resourceMetadataUrl) }) }
    const found = await sdk.discoverOAuthServerInfo(server, where)
    const { authorizationServerUrl, authorizationServerMetadata: metadata } = found
    if ((metadata?.issuer ?? authorizationServerUrl) !== issuer)
      throw new McpLoginRequiredError(name, { reason: 'the server uses another authorization server now' })
    const fresh = await sdk.refreshAuthorization(authorizationServerUrl, {
      ...(metadata && { metadata }),
      clientInformation: { ...client },
      refreshToken: tokens.refresh,
      resource,
      fetchFn,
    })
    // A server that names no scopes means the old ones.
    const scopes = tokens.scopes && { scopes: tokens.scopes }
    return { ...credential, tokens: { ...scopes, ...tokensOf(fresh, now()) }, savedAt: now() }
  } catch (error) {
    throw oauthFailure(error, `Renewing the login to the MCP server "${name}"`, sdk)
  }
}

/** Tokens as they are kept, from a token endpoint's answer. */
export function tokensOf({ access_token, refresh_token, expires_in, scope }: OAuthTokens, now: number): McpTokens {
  const scopes = scopesOf(scope)
  return {
    access: access_token,
    ...(refresh_token && { refresh: refresh_token }),
    ...(expires_in !== undefined && Number.isFinite(expires_in) && { expires: now + expires_in * 1000 }),
    ...(scopes.length > 0 && { scopes }),
  }
}
