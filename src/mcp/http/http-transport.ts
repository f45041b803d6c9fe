import type {
  AuthProvider,
  OAuthClientProvider,
  SSEClientTransport,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import type { McpServerConfig } from '../config.ts'
import { loadSdk } from '../load-sdk.ts'
import { challengeOf } from '../oauth/login-required.ts'
import { type McpAuthProvider, McpOAuthProvider } from '../oauth/mcp-oauth-provider.ts'
import { StoredLogin, storedLogin } from '../oauth/stored-login.ts'
import { createMcpFetch, type McpFetchOptions } from './mcp-fetch.ts'

export interface HttpTransportOptions extends McpFetchOptions {
  /** One of ours renews tokens itself, under the lock of its store; the SDK renews those of any other. */
  readonly authProvider?: McpAuthProvider
}

/** A connection over Streamable HTTP, not yet opened. */
export async function createHttpTransport(
  config: McpServerConfig,
  options: HttpTransportOptions = {},
): Promise<StreamableHTTPClientTransport> {
  const sdk = await loadSdk()
  return new sdk.StreamableHTTPClientTransport(new URL(config.url ?? ''), {
    ...wiring(config, options),
    // With the first login it makes three attempts at most.
    maxStepUpRetries: 2,
  })
}

/** A connection over the old HTTP transport, not yet opened. */
export async function createSseTransport(
  config: McpServerConfig,
  options: HttpTransportOptions = {},
): Promise<SSEClientTransport> {
  const sdk = await loadSdk()
  return new sdk.SSEClientTransport(new URL(config.url ?? ''), wiring(config, options))
}

/** Whether a server refused Streamable HTTP in a way that servers of the old transport do. */
export function isWrongTransport(error: unknown): boolean {
  return [400, 404, 405].includes(statusOf(error) ?? 0)
}

/** The HTTP status behind an error of the SDK, also when it was wrapped once more. */
export function statusOf(error: unknown): number | undefined {
  for (let one = error, depth = 0; one instanceof Error && depth < 5; one = one.cause, depth++)
    if ('status' in one && typeof one.status === 'number') return one.status
  return undefined
}

interface Wiring {
  readonly fetch: typeof globalThis.fetch
  readonly authProvider?: OAuthClientProvider | AuthProvider
  readonly redirectPolicy: 'same-origin'
}

/** The headers of the configuration are the fetch's to add: those that the SDK is given it also sends to authorization servers. */
function wiring(config: McpServerConfig, { authProvider: given, ...options }: HttpTransportOptions): Wiring {
  const authProvider =
    given instanceof McpOAuthProvider ? storedLogin(given) : (given as OAuthClientProvider | AuthProvider | undefined)
  const fetch = createMcpFetch(config, options)
  const redirectPolicy = 'same-origin'
  if (!(authProvider instanceof StoredLogin)) return { fetch, redirectPolicy, ...(authProvider && { authProvider }) }
  authProvider.bind(config.url ?? '', fetch)
  return {
    redirectPolicy,
    fetch: noticingScopes(fetch, authProvider),
    // Only these two: of what has more, the SDK renews the tokens itself, and two processes would undo each other's renewals.
    authProvider: {
      token: () => authProvider.token(),
      onUnauthorized: (context) => authProvider.onUnauthorized(context),
    },
  }
}

/** What a call would have needed is noted for the next login. */
function noticingScopes(fetch: typeof globalThis.fetch, provider: StoredLogin): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    if (response.status !== 403) return response
    const { error, scopes } = challengeOf(response)
    if (error === 'insufficient_scope') await provider.noteNeededScopes(scopes).catch(() => {})
    return response
  }
}
