import type { Clock } from '../../core/clock.ts'
import type { McpCredentialStore } from './credential-store.ts'

export interface McpOAuthProviderOptions {
  /** The server's name in the configuration. */
  readonly name: string
  readonly store: McpCredentialStore
  /** The server's address; otherwise the connection sets it. Tokens are never sent to another address. */
  readonly url?: string
  /** For requests to authorization servers. Default: `createMcpFetch`. */
  readonly fetch?: typeof globalThis.fetch
  /** The address of a client metadata document, for servers that accept it as the client id. */
  readonly clientMetadataUrl?: string
  readonly clock?: Clock
}

/**
 * Uses and renews the tokens of a stored login. It never opens a browser: if a person has to log in, it throws a
 * `McpLoginRequiredError`. Holds only the options; `StoredLogin` is loaded when a server is connected.
 */
export class McpOAuthProvider {
  readonly options: McpOAuthProviderOptions
  constructor(options: McpOAuthProviderOptions) {
    this.options = options
  }
}

/** Our provider, or an `OAuthClientProvider` or `AuthProvider` of the official client. */
export type McpAuthProvider = McpOAuthProvider | object
