import type { Clock } from '../../core/clock.ts'
import type { HookContexts } from '../../core/hook-map.ts'
import type { Hooks } from '../../core/hooks.ts'
import type { McpCredentialStore } from './credential-store.ts'

/** How a person is logged in. */
export interface McpLoginOptions {
  /** Keeps the tokens. An earlier login stays in it until this one has succeeded. */
  readonly store: McpCredentialStore
  readonly hooks?: Pick<Hooks<HookContexts>, 'tell'>
  /** Default: the browser of this machine. That it fails ends nothing, the address is also printed. */
  readonly openBrowser?: (url: string) => void | Promise<void>
  /** Shows a line to the user. */
  readonly print?: (text: string) => void
  readonly signal?: AbortSignal
  /** How long the user may take. Default 300,000, at most 600,000. */
  readonly timeoutMs?: number
  readonly fetch?: typeof globalThis.fetch
  /** Hosts that may be private though the server is not, such as `auth.corp.example`. */
  readonly allowPrivate?: readonly string[]
  /** Where a document about this client lies, for servers that take that as its id. It must allow `http://127.0.0.1/callback`. */
  readonly clientMetadataUrl?: string
  /** A client that was registered by hand, for `http://127.0.0.1/callback`. */
  readonly client?: { readonly id: string; readonly secret?: string }
  /** Asked for beside what the server wants, such as the `scopes` of a `McpLoginRequiredError`. */
  readonly scopes?: readonly string[]
  readonly clock?: Clock
}
