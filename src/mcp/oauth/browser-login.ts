import type { AuthorizationServerMetadata } from '@modelcontextprotocol/client'
import { startCallbackServer } from '../../auth/callback-server.ts'
import { errorCode, OAuthError, secureUrl } from '../../auth/token-endpoint.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { messageOf } from '../../core/errors.ts'
import type { HookContexts } from '../../core/hook-map.ts'
import type { Hooks } from '../../core/hooks.ts'
import { visibleName } from '../../platform/visible-text.ts'
import type { McpServerConfig } from '../config.ts'
import { loadSdk } from '../load-sdk.ts'
import type { McpClientInformation } from './credential.ts'
import type { McpCredentialStore } from './credential-store.ts'

/** A login that is about to begin. */
export interface LoginRequest {
  readonly authorizationUrl: URL
  readonly codeVerifier: string
  readonly client: McpClientInformation
  readonly scopes: readonly string[]
  readonly metadata: AuthorizationServerMetadata
}

/** What the browser brought back. */
export interface LoginAnswer extends LoginRequest {
  readonly code: string
  readonly iss?: string
  readonly redirectUrl: string
}

/** Sends a person to the authorization server, and waits on this machine for the browser to come back. */
export async function awaitAnswer(
  config: McpServerConfig,
  options: McpLoginOptions,
  begin: (redirectUrl: string, state: string) => Promise<LoginRequest>,
): Promise<LoginAnswer> {
  const state = randomText()
  const answer = Promise.withResolvers<URLSearchParams>()
  answer.promise.catch(() => {}) // it may fail before anybody awaits it
  const server = await startCallbackServer({ path: callbackPath(options) }, (params) => {
    if (!isAnswerTo(params, state)) return false
    answer.resolve(params)
    return true
  })
  const stop = endWhen(config, options, answer.reject)
  try {
    const request = await begin(server.redirectUri, state)
    const { href, host } = authorizationAddress(request.authorizationUrl)
    const what = request.scopes.length > 0 ? ` It will ask for: ${request.scopes.join(', ')}.` : ''
    options.print?.(`The login to the MCP server "${config.name}" is at ${visibleName(host)}.${what}`)
    options.print?.(`If no browser opens, open ${href}`)
    await options.hooks?.tell('mcp:auth:url', { name: config.name, url: href })
    void show(href, options)
    const { code, iss } = await readAnswer(await answer.promise, request.metadata)
    return { ...request, code, ...(iss !== undefined && { iss }), redirectUrl: server.redirectUri }
  } finally {
    stop()
    await server.close()
  }
}

/** Nobody else on this machine can guess it; only where it was registered beforehand it has to be known. */
function callbackPath({ client, clientMetadataUrl }: McpLoginOptions): string {
  return client || clientMetadataUrl !== undefined ? '/callback' : `/callback/${randomText()}`
}

function randomText(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url')
}

/** Whether this is the answer to our question, once and not twice in one. */
function isAnswerTo(params: URLSearchParams, state: string): boolean {
  if (['state', 'code', 'iss', 'error'].some((name) => params.getAll(name).length > 1)) return false
  const { timingSafeEqual } = process.getBuiltinModule('node:crypto')
  const [given, wanted] = [Buffer.from(params.get('state') ?? ''), Buffer.from(state)]
  if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return false
  return Boolean(params.get('code')) || params.has('error')
}

/** After ten minutes nobody remembers what he was asked. */
const longestLogin = 600_000

function endWhen(
  { name }: McpServerConfig,
  { signal, timeoutMs = 300_000, clock = systemClock }: McpLoginOptions,
  reject: (error: OAuthError) => void,
): () => void {
  const ms = Math.min(timeoutMs, longestLogin)
  const onAbort = (): void =>
    reject(new OAuthError(`The login to the MCP server "${name}" was aborted`, { code: 'aborted' }))
  if (signal?.aborted) onAbort()
  signal?.addEventListener('abort', onAbort)
  const off = clock.timer(ms, () => {
    const text = `The login to the MCP server "${name}" was not completed within ${ms / 1000} s; start it again when ready`
    reject(new OAuthError(text, { code: 'timeout' }))
  })
  return () => {
    off()
    signal?.removeEventListener('abort', onAbort)
  }
}

function authorizationAddress(url: URL): URL {
  // An error quotes the address it refuses; the rest of this one holds our state.
  if (url.username === '' && url.password === '') {
    secureUrl(`${url.protocol}//${url.host}/`)
    return url
  }
  throw new OAuthError(
    `The address of the login has a user name before ${visibleName(url.host)}, as in a trick; ask who runs the server`,
    { code: 'insecure_url' },
  )
}

async function show(url: string, { openBrowser, print }: McpLoginOptions): Promise<void> {
  try {
    const open = openBrowser ?? (await import('../../auth/open-browser.ts')).openBrowser
    await open(url)
  } catch (error) {
    print?.(`The browser could not be opened (${messageOf(error)}); open the address yourself`)
  }
}

/** Who answered comes first: what another server says, even of what went wrong, is not for us. */
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
