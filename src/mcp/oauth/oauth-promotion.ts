import type { McpServerConfig } from '../config.ts'
import { challengeOf } from './challenge.ts'

/** Whether a server is to be treated as one with `auth: 'oauth'`, though nobody said so: it answers 401 and says where to log in. */
export async function oauthPromotion(
  config: McpServerConfig,
  refusal: unknown,
  { fetch }: { readonly fetch?: typeof globalThis.fetch } = {},
): Promise<boolean> {
  if (config.url === undefined || config.auth !== undefined || hasAuthorizationHeader(config)) return false
  if (statusIn(refusal) !== 401) return false
  if (refusal instanceof Response && challengeOf(refusal).resourceMetadataUrl !== undefined) return true
  return hasResourceMetadata(config, fetch)
}

/** Whether somebody has chosen another way to sign in. */
export function hasAuthorizationHeader({ headers = {} }: McpServerConfig): boolean {
  return Object.keys(headers).some((name) => name.trim().toLowerCase() === 'authorization')
}

function statusIn(refusal: unknown): number | undefined {
  for (let one = refusal, depth = 0; typeof one === 'object' && one !== null && depth < 5; depth++) {
    if ('status' in one && typeof one.status === 'number') return one.status
    one = 'cause' in one ? one.cause : undefined
  }
  return undefined
}

/** An error of the SDK no longer has the headers of the answer; the metadata lie at a known place too. */
async function hasResourceMetadata(config: McpServerConfig, given?: typeof globalThis.fetch): Promise<boolean> {
  const { createMcpFetch } = await import('../http/mcp-fetch.ts')
  const { loadSdk } = await import('../load-sdk.ts')
  const sdk = await loadSdk()
  const fetchFn = createMcpFetch(config, given && { fetch: given })
  try {
    const { authorization_servers } = await sdk.discoverOAuthProtectedResourceMetadata(config.url ?? '', {}, fetchFn)
    return (authorization_servers?.length ?? 0) > 0
  } catch {
    return false
  }
}
