import type { AuthorizationServerMetadata } from '@modelcontextprotocol/client'
import { limitLogin, openLoginPage, randomText, startCallbackServer } from '../../auth/callback-server.ts'
import { errorCode, OAuthError, secureUrl } from '../../auth/token-endpoint.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import type { HookContexts } from '../../core/hook-map.ts'
import type { Hooks } from '../../core/hooks.ts'
import { isSameSecret } from '../../platform/is-same-secret.ts'
import { visibleName } from '../../platform/visible-text.ts'
import type { McpServerConfig } from '../config.ts'
import { loadSdk } from '../load-sdk.ts'
import type { McpClientInformation } from './credential.ts'
import type { McpCredentialStore } from './credential-store.ts'

/** A login before the browser opens. */
interface LoginRequest {
  readonly authorizationUrl: URL
  readonly codeVerifier: string
  readonly client: McpClientInformation
  readonly scopes: readonly string[]
  readonly metadata: AuthorizationServerMetadata
}

/** The answer that the browser brings back. */
export interface LoginAnswer extends LoginRequest {
  readonly code: string
  readonly iss?: string
  readonly redirectUrl: string
}

/** Opens the authorization server in the browser, and waits on this machine for its redirect. */
export async function awaitAnswer(
  config: McpServerConfig,
  options: McpLoginOptions,
  begin: (redirectUrl: string, state: string) => Promise<LoginRequest>,
): Promise<LoginAnswer> {
  const state = randomText()
  const answer = Promise.withResolvers<URLSearchParams>()
  answer.promise.catch(() => {}) // it may reject before it is awaited
  const server = await startCallbackServer({ path: callbackPath(options) }, (params) => {
    if (!isAnswerTo(params, state)) return false
    answer.resolve(params)
    return true
  })
  const { signal, timeoutMs = 300_000, clock = systemClock } = options
  const limits = { signal, timeoutMs: Math.min(timeoutMs, longestLogin), clock }
  const stop = limitLogin(`the MCP server "${config.name}"`, limits, answer.reject)
  try {
    const request = await begin(server.redirectUri, state)
    const { href, host } = authorizationAddress(request.authorizationUrl)
    const what = request.scopes.length > 0 ? ` It will ask for: ${request.scopes.join(', ')}.` : ''
    options.print?.(`The login to the MCP server "${config.name}" is at ${visibleName(host)}.${what}`)
    options.print?.(`If no browser opens, open ${href}`)
    await options.hooks?.tell('mcp:auth:url', { name: config.name, url: href })
    void openLoginPage(href, options)
    const { code, iss } = await readAnswer(await answer.promise, request.metadata)
    return { ...request, code, ...(iss !== undefined && { iss }), redirectUrl: server.redirectUri }
  } finally {
    stop()
    await server.close()
  }
}

/** Unguessable for other users of this machine, unless the redirect address was registered beforehand. */
function callbackPath({ client, clientMetadataUrl }: McpLoginOptions): string {
  return client || clientMetadataUrl !== undefined ? '/callback' : `/callback/${randomText()}`
}

/** Whether the parameters answer this login. Repeated parameters are refused. */
function isAnswerTo(params: URLSearchParams, state: string): boolean {
  if (['state', 'code', 'iss', 'error'].some((name) => params.getAll(name).length > 1)) return false
  if (!isSameSecret(params.get('state') ?? '', state)) return false
  return Boolean(params.get('code')) || params.has('error')
}

const longestLogin = 600_000

function authorizationAddress(url: URL): URL {
  // Only the host is checked: an error would quote the rest, which contains the state.
  if (url.username === '' && url.password === '') {
    secureUrl(`${url.protocol}//${url.host}/`)
    return url
  }
  throw new OAuthError(
    `The address of the login has a user name before ${visibleName(url.host)}, which disguises the real host; ask who runs the server`,
    { code: 'insecure_url' },
  )
}

/** Checks the issuer first: even an error of another server is ignored. */
async function readAnswer(
  params: URLSearchParams,
  metadata: AuthorizationServerMetadata,
): Promise<{ code: string; iss: string | undefined }> {
  const sdk = await loadSdk()
  const iss = params.get('iss') ?? undefined
  sdk.validateAuthorizationResponseIssuer({
    iss,
    expectedIssuer: metadata.issuer,
    issParameterSupported: metadata.authorization_response_iss_parameter_supported === true,
  })
  const error = params.get('error')
  if (error !== null) throw new sdk.OAuthError(errorCode(error) ?? 'unknown_error', 'the login was refused')
  return { code: params.get('code') ?? '', iss }
}

export interface McpLoginOptions {
  /** Stores the tokens. An earlier login stays until this one has succeeded. */
  readonly store: McpCredentialStore
  readonly hooks?: Pick<Hooks<HookContexts>, 'tell'>
  /** Default: the browser of this machine. A failure does not end the login, because the address is also printed. */
  readonly openBrowser?: (url: string) => void | Promise<void>
  /** Shows a line to the user. */
  readonly print?: (text: string) => void
  readonly signal?: AbortSignal
  /** Milliseconds for the whole login. Default 300,000, at most 600,000. */
  readonly timeoutMs?: number
  readonly fetch?: typeof globalThis.fetch
  /** Hosts that may be private although the server is public, such as `auth.corp.example`. */
  readonly allowPrivate?: readonly string[]
  /** The address of a client metadata document, for servers that accept it as the client id. It must allow `http://127.0.0.1/callback`. */
  readonly clientMetadataUrl?: string
  /** A client registered by hand, with the redirect `http://127.0.0.1/callback`. */
  readonly client?: { readonly id: string; readonly secret?: string }
  /** Requested beside the scopes that the server wants, such as those of a `McpLoginRequiredError`. */
  readonly scopes?: readonly string[]
  readonly clock?: Clock
}
