import { loginAborted } from '../../auth/callback-server.ts'
import { OAuthError, secureUrl } from '../../auth/token-endpoint.ts'
import { systemClock } from '../../core/clock.ts'
import type { McpServerConfig } from '../config.ts'
import { loadSdk } from '../load-sdk.ts'
import { awaitAnswer, type LoginAnswer, type McpLoginOptions } from './browser-login.ts'
import { credentialKey, type McpCredential } from './credential.ts'
import type { McpCredentialStore } from './credential-store.ts'
import { clientFor, type FoundLogin, findLogin, scopesToAsk } from './find-login.ts'
import { credentialHeader } from './login-required.ts'
import { oauthFailure } from './oauth-failure.ts'
import { tokenFetch } from './oauth-fetch.ts'
import { tokensOf } from './renew-credential.ts'

/** Logs a person in to an MCP server through the browser of this machine. The result has no secrets. */
export async function loginMcpServer(
  config: McpServerConfig,
  options: McpLoginOptions,
): Promise<{ readonly name: string; readonly issuer: string; readonly scopes: readonly string[] }> {
  const { name } = config
  const { hooks } = options
  try {
    const login = await logIn(config, options)
    await hooks?.tell('mcp:auth:success', { name })
    return login
  } catch (cause) {
    const error = options.signal?.aborted
      ? loginAborted(`the MCP server "${name}"`)
      : oauthFailure(cause, whatOf(config), await loadSdk())
    await hooks?.tell('mcp:auth:error', { name, error })
    throw error
  }
}

const whatOf = ({ name }: McpServerConfig): string => `The login to the MCP server "${name}"`

async function logIn(config: McpServerConfig, options: McpLoginOptions): ReturnType<typeof loginMcpServer> {
  const { store, signal, clock = systemClock } = options
  const server = serverAddress(config)
  if (signal?.aborted) throw loginAborted(`the MCP server "${config.name}"`)
  const fetch = await fetchOf(config, options)
  const sdk = await loadSdk()
  const found = await findLogin(config, fetch)
  const before = (await store.list()).filter((one) => one.name === config.name && one.server === server)
  const scopes = scopesToAsk(found, before, options)
  const answer = await awaitAnswer(config, options, async (redirectUrl, state) => {
    const client = await clientFor(found, redirectUrl, scopes, options, fetch)
    const asked = { redirectUrl, state, scope: scopes.join(' '), resource: found.resource }
    const { authorizationUrl, codeVerifier } = await sdk.startAuthorization(found.authorizationServer, {
      ...asked,
      metadata: found.metadata,
      clientInformation: { ...client },
    })
    return { authorizationUrl, codeVerifier, client, scopes, metadata: found.metadata }
  })
  const credential = await exchangeCode(config, found, answer, { fetch, now: () => clock.now() })
  await storeLogin(store, credential, before)
  return { name: config.name, issuer: found.metadata.issuer, scopes: credential.tokens.scopes ?? scopes }
}

function serverAddress(config: McpServerConfig): string {
  if (config.transport === 'stdio' || config.url === undefined)
    throw new OAuthError(`${whatOf(config)} is not possible: it has no url; give programs what they need in env`, {
      code: 'no_url',
    })
  const header = credentialHeader(config)
  if (header !== undefined)
    throw new OAuthError(`${whatOf(config)} would not be used: its headers set ${header}; leave that one out first`, {
      code: 'static_authorization',
    })
  return secureUrl(config.url).href
}

async function fetchOf(config: McpServerConfig, options: McpLoginOptions): Promise<typeof globalThis.fetch> {
  const { createMcpFetch } = await import('../http/mcp-fetch.ts')
  const { fetch: given, allowPrivate, signal } = options
  return createMcpFetch(config, {
    ...(given && { fetch: given }),
    ...(allowPrivate && { allowPrivate }),
    ...(signal && { signal }),
  })
}

async function exchangeCode(
  { name, url = '' }: McpServerConfig,
  { authorizationServer, metadata, resource, resourceMetadataUrl }: FoundLogin,
  { code, iss, codeVerifier, redirectUrl, client, scopes }: LoginAnswer,
  { fetch: fetchFn, now }: { readonly fetch: typeof globalThis.fetch; readonly now: () => number },
): Promise<McpCredential> {
  const sdk = await loadSdk()
  const tokens = await sdk.exchangeAuthorization(authorizationServer, {
    metadata,
    clientInformation: { ...client },
    authorizationCode: code,
    ...(iss !== undefined && { iss }),
    codeVerifier,
    redirectUri: redirectUrl,
    resource,
    fetchFn: tokenFetch(fetchFn),
  })
  return {
    name,
    server: new URL(url).href,
    issuer: metadata.issuer,
    resource,
    client,
    tokens: { ...(scopes.length > 0 && { scopes }), ...tokensOf(tokens, now()) },
    ...(resourceMetadataUrl !== undefined && { resourceMetadataUrl }),
    savedAt: now(),
  }
}

/** Deletes earlier logins after the new one is stored. */
async function storeLogin(
  store: McpCredentialStore,
  credential: McpCredential,
  before: readonly McpCredential[],
): Promise<void> {
  const key = credentialKey(credential)
  await store.exclusively(key, () => store.set(key, credential))
  for (const old of before.map(credentialKey)) if (old !== key) await store.exclusively(old, () => store.delete(old))
}
