import type { Clock } from '../../core/clock.ts'
import type { McpCredentialStore } from './credential-store.ts'

export interface McpOAuthProviderOptions {
  /** The server's name in the configuration. */
  readonly name: string
  readonly store: McpCredentialStore
  /** The server's address; whoever connects tells it otherwise. No token is given to another one. */
  readonly url?: string
  /** Asks authorization servers. Default: `createMcpFetch`. */
  readonly fetch?: typeof globalThis.fetch
  /** Where a document about this client lies, for servers that take that as its id. */
  readonly clientMetadataUrl?: string
  readonly clock?: Clock
}

/**
 * Signs in with what a login has stored, and renews it. It never opens a browser: what only a person can do ends in a
 * `McpLoginRequiredError`. This is only its name; the work is loaded when a server is connected.
 */
export class McpOAuthProvider {
  readonly options: McpOAuthProviderOptions
  constructor(options: McpOAuthProviderOptions) {
    this.options = options
  }
}

/** Who signs in: one of ours, or an `OAuthClientProvider` or `AuthProvider` of the official client. */
export type McpAuthProvider = McpOAuthProvider | object
