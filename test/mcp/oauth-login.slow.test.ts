import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { credentialKey } from '../../src/mcp/oauth/credential.ts'
import { loginMcpServer } from '../../src/mcp/oauth/login-mcp-server.ts'
import { logoutMcpServer } from '../../src/mcp/oauth/logout-mcp-server.ts'
import { loopbackFetch } from '../authorization-server.ts'
import { startOAuthAuthorizationServer } from './fixtures/oauth-authorization-server.ts'
import { browse, failure, oauthWorld } from './fixtures/oauth-world.ts'

test('A205 a login registers a client, proves itself with PKCE, and leaves a token that works', async () => {
  const world = await oauthWorld({}, { challenge: 'read' })
  const login = await world.login()
  expect(login).toEqual({ name: 'tracker', issuer: world.issuer.url, scopes: ['read'] })
  const [registered] = world.issuer.registrations
  const redirect = world.issuer.authorizations[0]?.get('redirect_uri') ?? ''
  expect(registered).toMatchObject({
    client_name: 'Libero',
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    redirect_uris: [redirect],
  })
  // The authorization server checks the verifier against the challenge, and the rest of the request: see its `redeem`.
  expect(world.issuer.authorizations[0]?.get('code_challenge_method')).toBe('S256')
  const client = await world.connect(world.provider())
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['look', 'write'])
  expect(world.heard.filter(Array.isArray).map(([name]) => name)).toEqual(['mcp:auth:url', 'mcp:auth:success'])
})

test('a client registered by hand has precedence, then one with a document, then a new one', async () => {
  const world = await oauthWorld({ metadata: { client_id_metadata_document_supported: true } })
  const clientMetadataUrl = 'https://libero.example/client.json'
  await world.login({ client: { id: 'by-hand', secret: 'hand-secret' }, clientMetadataUrl })
  expect(world.issuer.authorizations.at(-1)?.get('client_id')).toBe('by-hand')
  await world.login({ clientMetadataUrl })
  expect(world.issuer.authorizations.at(-1)?.get('client_id')).toBe(clientMetadataUrl)
  expect(new URL(world.issuer.authorizations.at(-1)?.get('redirect_uri') ?? '').pathname).toBe('/callback')
  expect(world.issuer.registrations).toEqual([])
  world.issuer.knobs.metadata = {}
  await world.login({ clientMetadataUrl })
  expect(world.issuer.registrations).toHaveLength(1)
})

describe('OA-01 an unsafe address is never opened', () => {
  test.each([
    'http://shop.example/?x=$(touch canary)',
    'file:///c:/windows/system32/calc.exe',
    'javascript:alert(1)',
    'https://good.example@evil.example/authorize',
  ])('%s', async (authorization_endpoint) => {
    const world = await oauthWorld({ metadata: { authorization_endpoint } })
    const error = await failure(world.login())
    expect(world.opened).toEqual([])
    expect(world.heard.filter((one) => typeof one === 'string')).toEqual([])
    expect(error.message).toMatch(/not secure|disguises the real host|cannot be understood/)
    expect(await world.store.list()).toEqual([])
  })
})

test('OA-01 the host is shown before the address, and before anything is opened', async () => {
  const world = await oauthWorld()
  await world.login()
  const host = new URL(world.issuer.url).host
  expect(world.heard[0]).toBe(`The login to the MCP server "tracker" is at ${host}.`)
  expect(world.heard[1]).toContain(world.opened[0])
})

describe('OA-02 metadata at private addresses are not requested, and nothing else is tried instead', () => {
  test.each(['http://169.254.169.254/', 'https://169.254.169.254/', 'http://10.0.0.1/', 'https://[fd00:ec2::254]/x'])(
    '%s, named by the challenge',
    async (resourceMetadataUrl) => {
      const world = await oauthWorld({}, { resourceMetadataUrl })
      expect((await failure(world.login())).message).toMatch(/not on the public internet|over plain http/)
      expect(world.opened).toEqual([])
      expect(world.issuer.visits).toEqual([])
    },
  )

  test('named as an authorization server, or as an endpoint of one', async () => {
    const world = await oauthWorld({}, { metadata: { authorization_servers: ['https://169.254.169.254'] } })
    expect(await failure(world.login())).toMatchObject({ code: 'private' })
    world.server.knobs.metadata = {}
    for (const endpoint of ['registration_endpoint', 'token_endpoint']) {
      world.issuer.knobs.metadata = { [endpoint]: 'https://169.254.169.254/x' }
      expect(await failure(world.login())).toMatchObject({ code: 'private' })
    }
    expect(await world.store.list()).toEqual([])
  })
})

describe('OA-03 metadata that name another issuer are refused', () => {
  test.each(['https://evil.example', 'HTTP'])('%s', async (issuer) => {
    const world = await oauthWorld()
    world.issuer.knobs.metadata = { issuer: issuer === 'HTTP' ? world.issuer.url.replace('http', 'HTTP') : issuer }
    const error = await failure(world.login())
    expect(error).toMatchObject({ code: 'issuer_mismatch' })
    expect(error.message).not.toContain('evil')
    expect(world.opened).toEqual([])
    expect(world.issuer.registrations).toEqual([])
  })
})

describe('OA-04 an answer of another server is refused before any token is asked for', () => {
  test('by another issuer', async () => {
    const other = await startOAuthAuthorizationServer()
    const world = await oauthWorld({ iss: other.url })
    const error = await failure(world.login())
    await other.close()
    expect(error).toMatchObject({ code: 'issuer_mismatch' })
    expect(inspect([error, world.heard.slice(3)], { depth: 9 })).not.toContain(other.url)
    expect(world.issuer.tokenRequests).toEqual([])
  })

  test.each(['/', '/./', '?'])('by an issuer with %j appended', async (more) => {
    const world = await oauthWorld()
    world.issuer.knobs.iss = `${world.issuer.url}${more}`
    expect(await failure(world.login())).toMatchObject({ code: 'issuer_mismatch' })
    expect(world.issuer.tokenRequests).toEqual([])
  })

  test('by a missing issuer, although one was announced', async () => {
    const world = await oauthWorld({ iss: null })
    expect(await failure(world.login())).toMatchObject({ code: 'issuer_mismatch' })
    expect(world.issuer.tokenRequests).toEqual([])
  })

  test('and its error is not shown', async () => {
    const world = await oauthWorld({ iss: 'https://evil.example', error: 'call_this_number' })
    const error = await failure(world.login())
    expect(error).toMatchObject({ code: 'issuer_mismatch' })
    expect(error.message).not.toContain('call_this_number')
  })

  test('but if none is announced, none is needed', async () => {
    const world = await oauthWorld({ iss: null, metadata: { authorization_response_iss_parameter_supported: null } })
    await world.login()
    expect(await world.store.list()).toHaveLength(1)
  })
})

test('a denial by the person is an error with that code, and nothing is stored', async () => {
  const world = await oauthWorld({ error: 'access_denied' })
  const error = await failure(world.login())
  expect(error).toMatchObject({ code: 'access_denied' })
  expect(error.message).toContain('access was denied in the browser')
  expect(world.heard.at(-1)).toEqual(['mcp:auth:error', { name: 'tracker', error }])
})

describe('OA-05 a state must be ours, complete, and is used once', () => {
  async function answered(edit: (back: URL) => void): Promise<{ statuses: number[]; tokens: number }> {
    const world = await oauthWorld()
    const statuses: number[] = []
    await world.login({
      openBrowser: async (url) => {
        const sent = await loopbackFetch(url)
        const right = new URL(sent.headers.get('location') ?? '')
        const wrong = new URL(right)
        edit(wrong)
        statuses.push((await loopbackFetch(wrong.href)).status)
        statuses.push((await loopbackFetch(right.href)).status)
      },
    })
    return { statuses, tokens: world.issuer.tokenRequests.length }
  }

  test.each<[string, (back: URL) => void]>([
    ['absent', (back) => back.searchParams.delete('state')],
    ['empty', (back) => back.searchParams.set('state', '')],
    ['of another login', (back) => back.searchParams.set('state', 'A'.repeat(43))],
    ['twice', (back) => back.searchParams.append('state', 'x')],
    ['with two codes', (back) => back.searchParams.append('code', 'x')],
  ])('%s: refused, and the right answer still counts', async (_, edit) => {
    expect(await answered(edit)).toEqual({ statuses: [400, 200], tokens: 1 })
  })

  test('replayed: refused', async () => {
    const world = await oauthWorld()
    const statuses: number[] = []
    await world.login({
      openBrowser: async (url) => {
        const { status, url: back } = await browse(url)
        statuses.push(status)
        statuses.push((await loopbackFetch(back).catch(() => ({ status: 410 }))).status)
      },
    })
    await expect.poll(() => statuses).toEqual([200, 410])
    expect(world.issuer.tokenRequests).toHaveLength(1)
  })

  test('after ten minutes the callback server is closed, whatever limit was set', async () => {
    const world = await oauthWorld()
    const limits: number[] = []
    let back = ''
    const clock = {
      now: systemClock.now,
      timer: (ms: number, fn: () => void) => {
        limits.push(ms)
        return systemClock.timer(50, fn)
      },
    }
    const openBrowser = async (url: string): Promise<void> => {
      back = (await loopbackFetch(url)).headers.get('location') ?? ''
    }
    const error = await failure(world.login({ clock, timeoutMs: 86_400_000, openBrowser }))
    expect(limits).toEqual([600_000])
    expect(error.message).toContain('was not completed within 600 s')
    await expect(loopbackFetch(back)).rejects.toThrow('ECONNREFUSED')
    expect(world.issuer.tokenRequests).toEqual([])
  })
})

describe('OA-06 an authorization server that does not offer PKCE with S256 is not used', () => {
  test.each([[null], [['plain']], [[]]])('%j', async (code_challenge_methods_supported) => {
    const world = await oauthWorld({ metadata: { code_challenge_methods_supported } })
    expect(await failure(world.login())).toMatchObject({ code: 'no_pkce' })
    expect(world.opened).toEqual([])
    expect(world.issuer.registrations).toEqual([])
  })
})

describe('OA-07 the callback', () => {
  test('is on 127.0.0.1, at a random port and path', async () => {
    const world = await oauthWorld()
    await world.login()
    await world.login()
    const [one, other] = world.issuer.authorizations.map((asked) => new URL(asked.get('redirect_uri') ?? ''))
    expect(one?.hostname).toBe('127.0.0.1')
    expect(one?.pathname).toMatch(/^\/callback\/[\w-]{43}$/)
    expect(one?.pathname).not.toBe(other?.pathname)
  })

  test('accepts a GET for its own host and path, and repeats nothing of it', async () => {
    const world = await oauthWorld()
    const seen: (number | string)[] = []
    await world.login({
      openBrowser: async (url) => {
        const back = (await loopbackFetch(url)).headers.get('location') ?? ''
        seen.push((await loopbackFetch(back, { method: 'POST' })).status)
        seen.push((await loopbackFetch(back, { headers: { host: 'evil.example' } })).status)
        seen.push((await loopbackFetch(back.replace('/callback/', '/callback/x'))).status)
        const page = await loopbackFetch(back)
        seen.push(page.status, await page.text())
      },
    })
    expect(seen.slice(0, 4)).toEqual([405, 404, 404, 200])
    expect(seen[4]).not.toMatch(/script|code-|alert/)
  })
})

test('OA-10 the resource is named in both requests', async () => {
  const world = await oauthWorld()
  await world.login()
  expect(world.issuer.authorizations[0]?.get('resource')).toBe(world.server.url)
  expect(world.issuer.tokenRequests[0]?.resource).toBe(world.server.url)
})

test('OA-10 the resource is named also for an old server that has no metadata of its own', async () => {
  const world = await oauthWorld({}, { resourceMetadataUrl: null })
  const { origin, knobs, url } = world.server
  const answer = await loopbackFetch(`${world.issuer.url}/.well-known/oauth-authorization-server`)
  knobs.authorizationMetadata = { ...((await answer.json()) as object), issuer: origin }
  world.issuer.knobs.iss = origin
  await world.login()
  expect(world.issuer.authorizations[0]?.get('resource')).toBe(url)
  expect(world.issuer.tokenRequests[0]?.resource).toBe(url)
  await (await world.connect(world.provider())).listTools()
})

test('OA-10 metadata for another resource are refused', async () => {
  const world = await oauthWorld({}, { metadata: { resource: 'https://other.example/mcp' } })
  expect(await failure(world.login())).toMatchObject({ code: 'resource_mismatch' })
  expect(world.opened).toEqual([])
})

describe('OA-12 a login requests', () => {
  const metadata = { scopes_supported: ['admin:*', 'read'] }
  const asked = async (world: Awaited<ReturnType<typeof oauthWorld>>): Promise<string | null | undefined> => {
    await world.login()
    return world.issuer.authorizations.at(-1)?.get('scope')
  }

  test('the scopes that the server wants, and not all it supports', async () => {
    const world = await oauthWorld({}, { challenge: 'read', metadata })
    expect(await asked(world)).toBe('read')
    expect(world.heard[0]).toContain('It will ask for: read.')
  })

  test('all supported scopes when the server wants none in particular, and shows them', async () => {
    const world = await oauthWorld({}, { metadata })
    expect(await asked(world)).toBe('admin:* read')
    expect(world.heard[0]).toContain('It will ask for: admin:*, read.')
  })

  test('nothing when the server names none', async () => {
    expect(await asked(await oauthWorld())).toBeNull()
  })

  test('offline access only if it is supported', async () => {
    const world = await oauthWorld({ metadata: { scopes_supported: ['offline_access'] } }, { challenge: 'read' })
    expect(await asked(world)).toBe('read offline_access')
  })
})

test('OA-13 an interrupted login keeps the old one, and a completed one replaces it', async () => {
  const world = await oauthWorld()
  await world.login()
  const [old] = await world.store.list()
  const abort = new AbortController()
  const error = await failure(world.login({ signal: abort.signal, openBrowser: () => abort.abort() }))
  expect(error).toMatchObject({ code: 'aborted' })
  world.issuer.knobs.failures = [500]
  await failure(world.login())
  expect(await world.store.list()).toEqual([old])
  await (await world.connect(world.provider())).listTools()

  await world.login()
  const [fresh, ...rest] = await world.store.list()
  expect(rest).toEqual([])
  expect(credentialKey(fresh!)).not.toBe(credentialKey(old!))
})

test('a server with its own header, or without an address, has no login', async () => {
  const world = await oauthWorld()
  const { store } = world
  const own = { ...world.config, headers: { AUTHORIZATION: 'Bearer mine-12345678' } }
  const error = await failure(loginMcpServer(own, { store }))
  expect(error.message).toContain('its headers set Authorization')
  expect(error.message).not.toContain('mine-12345678')
  const program = { name: 'files', transport: 'stdio', command: 'files' } as const
  expect((await failure(loginMcpServer(program, { store }))).message).toContain('it has no url')
  const plain = { ...world.config, url: 'http://tracker.example/mcp' }
  expect((await failure(loginMcpServer(plain, { store }))).message).toContain('not secure')
})

test('a logout revokes both tokens if possible, and removes them in any case', async () => {
  const world = await oauthWorld()
  await world.login()
  const [credential] = await world.store.list()
  expect(await logoutMcpServer(world.config, { store: world.store })).toEqual({ removed: 1, revoked: 1 })
  expect(world.issuer.revoked).toEqual([credential?.tokens.refresh, credential?.tokens.access])
  expect(await world.store.list()).toEqual([])

  await world.login()
  await world.issuer.close()
  expect(await logoutMcpServer(world.config, { store: world.store })).toEqual({ removed: 1, revoked: 0 })
})
