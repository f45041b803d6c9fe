import type { OAuthTokens } from '@modelcontextprotocol/client'
import { OAuthError } from '../../auth/token-endpoint.ts'
import { loadSdk } from '../load-sdk.ts'
import type { McpCredential, McpTokens } from './credential.ts'
import { McpLoginRequiredError, scopesOf } from './login-required.ts'
import { oauthFailure } from './oauth-failure.ts'
import { discoveryFetch, tokenFetch } from './oauth-fetch.ts'

interface RenewOptions {
  readonly fetch: typeof globalThis.fetch
  readonly now: () => number
}

/**
 * The credential with new tokens. The token endpoint is discovered each time: a server may have moved to another
 * authorization server, which must not receive the refresh token of the first one.
 */
export async function renewCredential(credential: McpCredential, options: RenewOptions): Promise<McpCredential> {
  const { name, server, issuer, resource, client, tokens, resourceMetadataUrl } = credential
  const { fetch: fetchFn, now } = options
  if (tokens.refresh === undefined)
    throw new McpLoginRequiredError(name, { reason: 'it has ended, and the server gave nothing to renew it with' })
  const sdk = await loadSdk()
  try {
    const discovery = discoveryFetch(fetchFn)
    const where = {
      fetchFn: discovery.fetch,
      ...(resourceMetadataUrl && { resourceMetadataUrl: new URL(resourceMetadataUrl) }),
    }
    const found = await sdk.discoverOAuthServerInfo(server, where)
    const { authorizationServerUrl, authorizationServerMetadata: metadata } = found
    const isOther = (metadata?.issuer ?? authorizationServerUrl) !== issuer
    if ((isOther || !metadata) && discovery.hadTrouble())
      throw new OAuthError(
        `Renewing the login to the MCP server "${name}" failed: it cannot say now where its logins are; try again later`,
        { code: 'temporarily_unavailable', retryable: true },
      )
    if (isOther) throw new McpLoginRequiredError(name, { reason: 'the server uses another authorization server now' })
    const fresh = await sdk.refreshAuthorization(authorizationServerUrl, {
      ...(metadata && { metadata }),
      clientInformation: { ...client },
      refreshToken: tokens.refresh,
      resource,
      fetchFn: tokenFetch(fetchFn),
    })
    // Without scopes in the answer the old ones stay.
    const scopes = tokens.scopes && { scopes: tokens.scopes }
    return { ...credential, tokens: { ...scopes, ...tokensOf(fresh, now()) }, savedAt: now() }
  } catch (error) {
    throw oauthFailure(error, `Renewing the login to the MCP server "${name}"`, sdk)
  }
}

/** The tokens of a token endpoint's answer, in the form of the store. */
export function tokensOf({ access_token, refresh_token, expires_in, scope }: OAuthTokens, now: number): McpTokens {
  if (!isSendable(access_token) || (refresh_token ?? '').length > longestToken)
    throw new OAuthError(
      'The authorization server gave a token that no request can carry; ask who runs it, and log in again',
      { code: 'invalid_response' },
    )
  const scopes = scopesOf(scope)
  const expires = now + (expires_in ?? Number.NaN) * 1000
  return {
    access: access_token,
    ...(refresh_token && { refresh: refresh_token }),
    // 0, which `null` becomes, means unknown.
    ...(expires !== now && Number.isFinite(expires) && { expires }),
    ...(scopes.length > 0 && { scopes }),
  }
}

const longestToken = 100_000

/** A header value is one line of visible ASCII. */
const isSendable = (token: string): boolean => token.length <= longestToken && /^[\x21-\x7e]+$/.test(token)
