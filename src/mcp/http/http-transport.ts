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

interface HttpTransportOptions extends McpFetchOptions {
  /** A `McpOAuthProvider` renews tokens itself, under the lock of its store; for any other provider the SDK does. */
  readonly authProvider?: McpAuthProvider
}

/** A transport over Streamable HTTP, not yet connected. */
export async function createHttpTransport(
  config: McpServerConfig,
  options: HttpTransportOptions = {},
): Promise<StreamableHTTPClientTransport> {
  const sdk = await loadSdk()
  return new sdk.StreamableHTTPClientTransport(new URL(config.url ?? ''), {
    ...sdkOptions(config, options),
    // With the first login at most three attempts.
    maxStepUpRetries: 2,
  })
}

/** A transport over the old HTTP+SSE, not yet connected. */
export async function createSseTransport(
  config: McpServerConfig,
  options: HttpTransportOptions = {},
): Promise<SSEClientTransport> {
  const sdk = await loadSdk()
  return new sdk.SSEClientTransport(new URL(config.url ?? ''), sdkOptions(config, options))
}

/** Whether the server probably has only the old transport. */
export function isWrongTransport(error: unknown): boolean {
  return [400, 404, 405].includes(statusOf(error) ?? 0)
}

/** The HTTP status of an error of the SDK, or of its cause. */
export function statusOf(error: unknown): number | undefined {
  for (let one = error, depth = 0; one instanceof Error && depth < 5; one = one.cause, depth++)
    if ('status' in one && typeof one.status === 'number') return one.status
  return undefined
}

interface SdkOptions {
  readonly fetch: typeof globalThis.fetch
  readonly authProvider?: OAuthClientProvider | AuthProvider
  readonly redirectPolicy: 'same-origin'
}

/** The fetch adds the configured headers: the SDK would also send them to authorization servers. */
function sdkOptions(config: McpServerConfig, { authProvider: given, ...options }: HttpTransportOptions): SdkOptions {
  const authProvider =
    given instanceof McpOAuthProvider ? storedLogin(given) : (given as OAuthClientProvider | AuthProvider | undefined)
  const fetch = createMcpFetch(config, options)
  const redirectPolicy = 'same-origin'
  if (!(authProvider instanceof StoredLogin)) return { fetch, redirectPolicy, ...(authProvider && { authProvider }) }
  authProvider.bind(config.url ?? '', fetch)
  return {
    redirectPolicy,
    fetch: recordingScopes(fetch, authProvider),
    // Only these two methods: otherwise the SDK renews the tokens itself, and concurrent processes invalidate each other's tokens.
    authProvider: {
      token: () => authProvider.token(),
      onUnauthorized: (context) => authProvider.onUnauthorized(context),
    },
  }
}

/** Stores the missing scopes of a refused call for the next login. */
function recordingScopes(fetch: typeof globalThis.fetch, provider: StoredLogin): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    if (response.status !== 403) return response
    const { error, scopes } = challengeOf(response)
    if (error === 'insufficient_scope') await provider.addNeededScopes(scopes).catch(() => {})
    return response
  }
}
