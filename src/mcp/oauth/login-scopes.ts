import { scopesOf } from './challenge.ts'
import type { McpCredential } from './credential.ts'
import type { FoundLogin } from './find-login.ts'
import type { McpLoginOptions } from './login-options.ts'

/**
 * What a login asks for: what the server wants now; when calls were refused, also what there was and what they needed.
 * Only a server that wants nothing in particular is asked for all it has.
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
  // Some servers give nothing to renew a login with unless they are asked.
  const isOffline = scopes.length > 0 && metadata.scopes_supported?.includes('offline_access')
  return [...new Set([...scopes, ...(isOffline ? ['offline_access'] : [])])]
}
