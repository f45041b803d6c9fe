import { secureUrl } from '../../auth/token-endpoint.ts'
import type { McpServerConfig } from '../config.ts'
import { credentialKey, type McpCredential } from './credential.ts'
import type { McpCredentialStore } from './credential-store.ts'

/**
 * Removes every login to a server, at any address. Revoking the tokens is attempted, but may fail. Gives how many logins
 * were removed from the store, and how many of them were revoked at their servers.
 */
export async function logoutMcpServer(
  config: McpServerConfig,
  options: {
    readonly store: McpCredentialStore
    readonly fetch?: typeof globalThis.fetch
    readonly allowPrivate?: readonly string[]
  },
): Promise<{ readonly removed: number; readonly revoked: number }> {
  const { store } = options
  let removed = 0
  let revoked = 0
  for (const credential of (await store.list()).filter(({ name }) => name === config.name)) {
    const key = credentialKey(credential)
    await store.exclusively(key, async () => {
      const stored = (await store.get(key)) ?? credential
      if (await revoke(stored, options).catch(() => false)) revoked++
      if (await store.delete(key)) removed++
    })
  }
  return { removed, revoked }
}

async function revoke(credential: McpCredential, options: Parameters<typeof logoutMcpServer>[1]): Promise<boolean> {
  const { createMcpFetch } = await import('../http/mcp-fetch.ts')
  const { loadSdk } = await import('../load-sdk.ts')
  const { name, server, issuer, tokens } = credential
  const { fetch: given, allowPrivate } = options
  const guards = { timeoutMs: 10_000, ...(given && { fetch: given }), ...(allowPrivate && { allowPrivate }) }
  const fetch = createMcpFetch({ name, transport: 'streamable-http', url: server }, guards)
  const metadata = await (await loadSdk()).discoverAuthorizationServerMetadata(issuer, { fetchFn: fetch })
  const endpoint = metadata && 'revocation_endpoint' in metadata ? metadata.revocation_endpoint : undefined
  if (metadata?.issuer !== issuer || typeof endpoint !== 'string') return false
  const { href } = secureUrl(endpoint)
  const both = [
    ['refresh_token', tokens.refresh],
    ['access_token', tokens.access],
  ] as const
  let isDone = false
  for (const [token_type_hint, token] of both) {
    if (token === undefined) continue
    const request = revocation({ token, token_type_hint }, credential)
    const response = await fetch(href, request)
    await response.body?.cancel()
    isDone ||= response.ok
  }
  return isDone
}

function revocation(fields: Record<string, string>, { client }: McpCredential): RequestInit {
  const { client_id, client_secret } = client
  const body = new URLSearchParams(client_secret === undefined ? { ...fields, client_id } : fields)
  if (client_secret === undefined) return { method: 'POST', body }
  const pair = [client_id, client_secret].map((part) => encodeURIComponent(part)).join(':')
  return { method: 'POST', body, headers: { authorization: `Basic ${btoa(pair)}` } }
}
