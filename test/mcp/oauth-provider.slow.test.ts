import { readFile, writeFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { connectMcpServers } from '../../src/mcp/connect.ts'
import { createMcpFetch } from '../../src/mcp/http/mcp-fetch.ts'
import { credentialKey } from '../../src/mcp/oauth/credential.ts'
import { loginMcpServer } from '../../src/mcp/oauth/login-mcp-server.ts'
import { asLoginRequired, isLoginRequired, McpLoginRequiredError } from '../../src/mcp/oauth/login-required.ts'
import { McpOAuthProvider } from '../../src/mcp/oauth/mcp-oauth-provider.ts'
import { StoredLogin } from '../../src/mcp/oauth/stored-login.ts'
import { loopbackFetch } from '../authorization-server.ts'
import { temporary } from '../temporary.ts'
import { startOAuthAuthorizationServer } from './fixtures/oauth-authorization-server.ts'
import { startProtectedMcpServer } from './fixtures/oauth-mcp-server.ts'
import { failure, type OAuthWorld, oauthWorld } from './fixtures/oauth-world.ts'

test.each(['legacy', 'auto'] as const)(
  'A203 without a login there is an error with a remedy, and no browser opens (%s)',
  async (mode) => {
    const opened = await spyOnBrowser()
    const world = await oauthWorld({}, { challenge: 'read write' })
    const error = await failure(world.connect(world.provider(), world.config, mode))
    expect(error).toBeInstanceOf(McpLoginRequiredError)
    expect(error).toMatchObject({ server: 'tracker', scopes: ['read', 'write'] })
    expect(error.message).toContain('run libero mcp login tracker, or call loginMcpServer')
    expect(isLoginRequired(error)).toBe(true)
    expect(world.issuer.visits).toEqual([])
    expect(await opened()).toBe('')
  },
)

test.runIf(process.platform === 'linux')('A203 a login would have opened the browser that was watched', async () => {
  const opened = await spyOnBrowser()
  const world = await oauthWorld()
  const abort = new AbortController()
  const login = failure(loginMcpServer(world.config, { store: world.store, signal: abort.signal }))
  await expect.poll(opened, { timeout: 10_000 }).toContain(`${world.issuer.url}/authorize?`)
  abort.abort()
  await login
})

/** Replaces the program that opens addresses, and reports which it was given. */
async function spyOnBrowser(): Promise<() => Promise<string>> {
  const folder = await temporary('opener-')
  await writeFile(join(folder, 'xdg-open'), `#!/bin/sh\necho "$1" >> '${folder}/opened'\n`, { mode: 0o755 })
  vi.stubEnv('PATH', `${folder}:${process.env.PATH}`)
  onTestFinished(() => void vi.unstubAllEnvs())
  return () => readFile(join(folder, 'opened'), 'utf8').catch(() => '')
}

test('A204 a stored token is used without any further request', async () => {
  const world = await oauthWorld()
  await world.login()
  const [credential] = await world.store.list()
  world.issuer.visits.length = 0
  world.server.authorizations.length = 0
  await (await world.connect(world.provider())).listTools()
  expect(new Set(world.server.authorizations)).toEqual(new Set([`Bearer ${credential?.tokens.access}`]))
  expect(world.issuer.visits).toEqual([])
})

test('A204 a token that expires soon is renewed before it is used, once for all callers', async () => {
  const world = await oauthWorld({ lifetimeSeconds: 30 })
  await world.login()
  world.issuer.knobs.lifetimeSeconds = 3600
  const [old] = await world.store.list()
  world.server.authorizations.length = 0
  const provider = world.provider({ url: world.server.url })
  const tokens = await Promise.all(Array.from({ length: 10 }, () => provider.token()))
  expect(new Set(tokens).size).toBe(1)
  await (await world.connect(provider)).listTools()
  expect(world.server.authorizations).not.toContain(`Bearer ${old?.tokens.access}`)
  expect(world.issuer.renewals).toBe(1)
  expect(world.issuer.tokenRequests.at(-1)).toMatchObject({ grant_type: 'refresh_token', resource: world.server.url })
})

test('A204 a token in its last minute is still used when it cannot be renewed', async () => {
  const world = await oauthWorld({ lifetimeSeconds: 30 })
  await world.login()
  const [old] = await world.store.list()
  world.issuer.knobs.failures = [503]
  expect(await world.provider({ url: world.server.url }).token()).toBe(old?.tokens.access)
})

test('A204 renewed tokens that could not be stored cause an error, but are used, and stored later', async () => {
  const world = await oauthWorld()
  await world.login()
  let isFull = true
  const set: typeof world.store.set = (key, credential) =>
    isFull ? Promise.reject(new Error('the disk is full')) : world.store.set(key, credential)
  const provider = world.provider({ url: world.server.url, store: { ...world.store, set } })
  const old = (await provider.token()) ?? ''
  world.issuer.expire(old)
  const response = new Response(null, { status: 401 })
  const refused = { response, serverUrl: new URL(world.server.url) }
  await expect(provider.onUnauthorized(refused)).rejects.toThrow('the disk is full')
  const fresh = (await provider.token()) ?? ''
  expect(world.issuer.accepts(fresh, world.server.url)).toMatchObject({ access: fresh, isAlive: true })
  isFull = false
  expect(await provider.token()).toBe(fresh)
  expect((await world.store.list()).map(({ tokens }) => tokens.access)).toEqual([fresh])
})

test('unsaved renewed tokens do not override a logout or a newer login', async () => {
  const world = await oauthWorld()
  await world.login()
  const [credential] = await world.store.list()
  const key = credentialKey(credential!)
  let isFull = true
  const set: typeof world.store.set = (at, one) =>
    isFull ? Promise.reject(new Error('the disk is full')) : world.store.set(at, one)
  const renewedUnsaved = async (): Promise<StoredLogin> => {
    isFull = true
    const provider = world.provider({ url: world.server.url, store: { ...world.store, set } })
    const response = new Response(null, { status: 401 })
    await provider.token()
    await failure(provider.onUnauthorized({ response, serverUrl: new URL(world.server.url) }))
    isFull = false
    return provider
  }
  const first = await renewedUnsaved()
  const newer = { ...credential!, tokens: { access: 'newer' }, savedAt: Date.now() + 60_000 }
  await world.store.set(key, newer)
  expect(await first.token()).toBe('newer')
  expect(await world.store.list()).toEqual([newer])

  await world.store.delete(key)
  await world.login()
  const second = await renewedUnsaved()
  for (const one of await world.store.list()) await world.store.delete(credentialKey(one))
  expect(await second.token()).toBeUndefined()
  expect(await world.store.list()).toEqual([])
})

test('FM-17 a 401 costs one renewal, however many calls get it', async () => {
  const world = await oauthWorld()
  await world.login()
  const client = await world.connect(world.provider())
  const [old] = await world.store.list()
  world.issuer.expire(old?.tokens.access ?? '')
  const results = await Promise.all(Array.from({ length: 8 }, () => client.callTool({ name: 'look', arguments: {} })))
  expect(results.every(({ isError }) => !isError)).toBe(true)
  expect(world.issuer.renewals).toBe(1)
})

test('FM-17 a late 401 for an already renewed token causes no renewal', async () => {
  const world = await oauthWorld()
  await world.login()
  const provider = world.provider({ url: world.server.url })
  const old = (await provider.token()) ?? ''
  world.issuer.expire(old)
  const fetch = createMcpFetch(world.config)
  const refused = (): Promise<Response> => fetch(world.server.url, { headers: { authorization: `Bearer ${old}` } })
  const [first, late] = [await refused(), await refused()]
  const serverUrl = new URL(world.server.url)
  await provider.onUnauthorized({ response: first, serverUrl })
  expect(await provider.token()).not.toBe(old)
  await provider.onUnauthorized({ response: late, serverUrl })
  expect(world.issuer.renewals).toBe(1)
})

test('FM-17 a revoked login causes an error for a person, is not retried forever, and deletes nothing', async () => {
  const world = await oauthWorld()
  await world.login()
  const provider = world.provider()
  const client = await world.connect(provider)
  const before = await world.store.list()
  const grants = world.issuer.tokenRequests.length
  const [old] = before
  world.issuer.expire(old?.tokens.access ?? '')
  // Another use of the refresh token ends the login.
  await loopbackFetch(`${world.issuer.url}/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'refresh_token',
      refresh_token: old?.tokens.refresh ?? '',
      resource: world.server.url,
    }).toString(),
  })
  for (let i = 0; i < 3; i++) {
    const error = await failure(client.callTool({ name: 'look', arguments: {} }))
    expect(asLoginRequired(error, 'tracker')?.message).toContain('the login has expired or was revoked')
  }
  expect(world.issuer.tokenRequests).toHaveLength(grants + 2)
  expect(await world.store.list()).toEqual(before)
})

test('FM-17 a missing scope is named, other tools work, and the next login requests the old and the new ones', async () => {
  const world = await oauthWorld({}, { challenge: 'read', scopes: { write: 'write:all' } })
  await world.login()
  const client = await world.connect(world.provider())
  const error = await failure(client.callTool({ name: 'write', arguments: {} }))
  expect(isLoginRequired(error)).toBe(true)
  expect(asLoginRequired(error, 'tracker')?.message).toContain('needs a login with the scopes write:all')
  expect((await client.callTool({ name: 'look', arguments: {} })).isError).toBeFalsy()
  expect(world.issuer.authorizations).toHaveLength(1)

  await world.login()
  expect(world.issuer.authorizations.at(-1)?.get('scope')).toBe('read write:all')
  expect((await client.callTool({ name: 'write', arguments: {} })).isError).toBeFalsy()
  await world.login()
  expect(world.issuer.authorizations.at(-1)?.get('scope')).toBe('read')
})

test.each([
  ['is busy', (response: ServerResponse) => void response.writeHead(503).end()],
  ['is being put up', (response: ServerResponse) => void response.writeHead(200).end('<html>back soon')],
  ['breaks off', (response: ServerResponse) => void response.writeHead(200, { 'content-length': 9 }).write('{"')],
])('FM-17 a server that %s when a login is renewed is no reason to log in again', async (_, answer) => {
  const world = await oauthWorld()
  await world.login()
  const [credential] = await world.store.list()
  const troubled = createServer((request, response) => {
    answer(response)
    if (response.writableEnded) return
    setTimeout(() => request.socket.destroy(), 50)
  })
  await new Promise<void>((resolve) => troubled.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void troubled.close())
  const url = `http://127.0.0.1:${(troubled.address() as AddressInfo).port}/metadata`
  await world.store.set(credentialKey(credential!), {
    ...credential!,
    resourceMetadataUrl: url,
    tokens: { ...credential!.tokens, expires: 1 },
  })
  const error = await failure(world.provider({ url: world.server.url }).token())
  expect(error).not.toBeInstanceOf(McpLoginRequiredError)
  expect(error).toMatchObject({
    retryable: true,
    message: expect.stringMatching(/Renewing the login .* try again later/),
  })
  expect(world.issuer.renewals).toBe(0)
})

test('a new authorization server of a server does not receive the old refresh token', async () => {
  const world = await oauthWorld()
  await world.login()
  const client = await world.connect(world.provider())
  const [old] = await world.store.list()
  const other = await startOAuthAuthorizationServer()
  world.server.knobs.metadata = { authorization_servers: [other.url] }
  world.issuer.expire(old?.tokens.access ?? '')
  const error = await failure(client.callTool({ name: 'look', arguments: {} }))
  await other.close()
  expect(error.message).toContain('uses another authorization server now')
  expect(other.tokenRequests).toEqual([])
})

describe('OA-08 a token is sent only to its own server', () => {
  test('not to another address', async () => {
    const world = await oauthWorld()
    await world.login()
    const thief = await startProtectedMcpServer(() => world.issuer)
    const config = { ...world.config, url: thief.url }
    const error = await failure(world.connect(world.provider(), config))
    await thief.close()
    expect(error).toBeInstanceOf(McpLoginRequiredError)
    expect(thief.authorizations).toEqual([undefined])
  })

  test('not to another path, query or name', async () => {
    const world = await oauthWorld()
    await world.login()
    expect(await world.provider({ url: world.server.url }).token()).toBeTypeOf('string')
    expect(await world.provider({ url: `${world.server.url}/other` }).token()).toBeUndefined()
    expect(await world.provider({ url: `${world.server.url}?x=1` }).token()).toBeUndefined()
    expect(await world.provider({ url: world.server.url, name: 'other' }).token()).toBeUndefined()
    expect(await world.provider().token()).toBeUndefined()
  })

  test('a provider refuses a second server', async () => {
    const world = await oauthWorld()
    const provider = world.provider({ url: world.server.url })
    expect(
      (await failure(world.connect(provider, { ...world.config, url: 'https://evil.example/mcp' }))).message,
    ).toContain('make another provider')
    expect(() => new StoredLogin({ name: 'x', store: world.store, url: 'http://tracker.example/' })).toThrow(
      'not secure',
    )
  })
})

describe('A206 a server without auth that answers 401', () => {
  async function connected(world: OAuthWorld, config = world.config) {
    const asked: string[] = []
    const connections = await connectMcpServers([config], undefined, world.hooks, {
      buildAuthProvider: ({ name }) => {
        asked.push(name)
        return new McpOAuthProvider({ name, store: world.store })
      },
    })
    onTestFinished(() => connections.close())
    return { asked, server: connections.servers?.[0] }
  }

  test('uses a stored OAuth login', async () => {
    const world = await oauthWorld()
    expect((await connected(world)).server).toMatchObject({ state: 'needs-login' })
    expect(world.heard).toContainEqual(['mcp:auth:required', { name: 'tracker' }])
    await world.login()
    expect((await connected(world)).server).toMatchObject({ state: 'ready' })
  })

  test.each(['Authorization', 'authorization', 'AUTHORIZATION'])(
    'uses its configured header %s instead',
    async (header) => {
      const world = await oauthWorld()
      await world.login()
      const { asked, server } = await connected(world, { ...world.config, headers: { [header]: 'Bearer own' } })
      expect(server?.state).not.toBe('ready')
      expect(asked).toEqual([])
      expect(world.server.authorizations.at(-1)).toBe('Bearer own')
    },
  )
})

test('OA-11 no output, hook or error contains a token, code or verifier', async () => {
  const warnings = vi.spyOn(console, 'warn')
  const world = await oauthWorld({}, { challenge: 'read', scopes: { write: 'write' } })
  const heard: unknown[] = world.heard
  // A separate browser, so that the redirect with the code is not recorded.
  const openBrowser = async (url: string): Promise<void> => {
    const { browse } = await import('./fixtures/oauth-world.ts')
    heard.push(url, (await browse(url)).text)
  }
  heard.push(await world.login({ openBrowser }))
  const provider = world.provider()
  const client = await world.connect(provider)
  heard.push(await failure(client.callTool({ name: 'write', arguments: {} })))
  const [credential] = await world.store.list()
  const { access = '', refresh = '' } = credential?.tokens ?? {}
  world.issuer.expire(access)
  world.issuer.knobs.failures = [400, 500]
  heard.push(await failure(client.callTool({ name: 'look', arguments: {} })))
  heard.push(await failure(client.callTool({ name: 'look', arguments: {} })))
  world.issuer.knobs.failures = [400]
  heard.push(await failure(world.login({ openBrowser })), provider, client, warnings.mock.calls)
  warnings.mockRestore()
  const verifiers = world.issuer.tokenRequests.flatMap(({ code_verifier = [] }) => code_verifier)
  const all = inspect(heard, { depth: 12, maxStringLength: null, maxArrayLength: null, showHidden: false })
  expect(world.issuer.secrets).toEqual(expect.arrayContaining([access, refresh]))
  for (const secret of [...world.issuer.secrets, ...verifiers]) expect(all).not.toContain(secret)
  for (const url of [...world.issuer.visits, ...world.issuer.authorizations.map(String)])
    for (const secret of world.issuer.secrets) expect(url).not.toContain(secret)
})

test('the SDK can use a provider by itself: it finds and renews the stored tokens, and never redirects', async () => {
  const { auth } = await import('@modelcontextprotocol/client')
  const world = await oauthWorld()
  const fetchFn = createMcpFetch(world.config)
  const provider = world.provider({ url: world.server.url })
  const options = { serverUrl: world.server.url, fetchFn }
  expect(await failure(auth(provider, options))).toBeInstanceOf(McpLoginRequiredError)
  await world.login()
  expect(await auth(provider, options)).toBe('AUTHORIZED')
  expect(world.issuer.renewals).toBe(1)
  expect(await failure(auth(provider, { ...options, forceReauthorization: true }))).toBeInstanceOf(
    McpLoginRequiredError,
  )
  expect(world.issuer.registrations).toHaveLength(1)
})
