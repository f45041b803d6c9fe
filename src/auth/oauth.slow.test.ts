import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type AuthorizationServer, loopbackFetch, startAuthorizationServer } from '../../test/authorization-server.ts'
import { rounds } from '../../test/soak.ts'
import { LockTimeoutError, withLock } from '../platform/lock.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { type CredentialStore, createCredentialStore } from './credentials.ts'
import {
  accountIdOf,
  createTokenSource,
  OAuthError,
  type OAuthTokens,
  refreshTokens,
  type TokenSourceOptions,
} from './oauth.ts'

const hour = 3_600_000
const fetch = loopbackFetch
const clock = fakeClock(1e12)

let server: AuthorizationServer
let folder: string
let store: CredentialStore

beforeEach(async () => {
  server = await startAuthorizationServer()
  folder = await mkdtemp(join(tmpdir(), 'libero-oauth-'))
  store = createCredentialStore({ path: join(folder, 'credentials.json') })
})

afterEach(async () => {
  await server.close()
  await rm(folder, { recursive: true, force: true })
})

describe('refreshTokens', () => {
  test.each(['form', 'json'] as const)('a refresh token becomes new tokens, asked for as %s', async (tokenFormat) => {
    const old = server.issue(clock.now())
    const tokens = await refreshTokens({ ...server.endpoints, tokenFormat }, old.refresh, { fetch, clock })
    expect(server.requests).toEqual([
      { grant_type: 'refresh_token', refresh_token: old.refresh, client_id: 'client-1' },
    ])
    expect(server.accepts(tokens.access)).toBe(true)
    expect(tokens.refresh).not.toBe(old.refresh)
    expect(tokens.expires).toBe(clock.now() + hour)
  })

  test('the old refresh token stays when no new one comes, and an unknown lifetime stays unknown', async () => {
    server.answers.push({ status: 200, body: '{"access_token":"a"}' })
    expect(await refreshTokens(server.endpoints, 'r', { fetch, clock })).toEqual({ access: 'a', refresh: 'r' })
  })

  test.each([
    ['"3600"', hour],
    ['0', undefined],
    ['-1', undefined],
    ['1e999', undefined],
    ['"soon"', undefined],
    ['null', undefined],
  ])('a lifetime of %s is understood', async (lifetime, ms) => {
    server.answers.push({ status: 200, body: `{"access_token":"a","expires_in":${lifetime}}` })
    const { expires } = await refreshTokens(server.endpoints, 'r', { fetch, clock })
    expect(expires).toBe(ms && clock.now() + ms)
  })

  test('the account is read from the new access token', async () => {
    server.answers.push({ status: 200, body: JSON.stringify({ access_token: codexToken('acct-7') }) })
    expect(await refreshTokens(server.endpoints, 'r', { fetch, clock })).toMatchObject({ accountId: 'acct-7' })
  })

  test('a refresh token that was used before means to log in again', async () => {
    const { refresh } = server.issue(clock.now())
    await refreshTokens(server.endpoints, refresh, { fetch, clock })
    const error = await failure(refreshTokens(server.endpoints, refresh, { fetch, clock }))
    expect(error).toMatchObject({ name: 'OAuthError', code: 'invalid_grant' })
    expect(error.retryable).toBeUndefined()
    expect(error.message).toBe(
      `${server.endpoints.tokenUrl} answered 400 (invalid_grant): the login has expired or was revoked; log in again`,
    )
  })

  test.each([
    [500, '<html>oops</html>', 'http_500', true],
    [503, '{"error":"temporarily_unavailable"}', 'temporarily_unavailable', true],
    [429, '', 'http_429', true],
    [401, '{"error":{"code":"refresh_token_reused","message":"secret-1"}}', 'refresh_token_reused', undefined],
    [400, '{"error":"secret-1"}', 'http_400', undefined],
    [400, '{"error":"<script>"}', 'http_400', undefined],
    [400, '{"error":"invalid_client"}', 'invalid_client', undefined],
    [302, '', 'http_302', undefined],
    [200, '<html>Welcome to the hotel</html>', 'invalid_response', undefined],
    [200, '{"access_token":7}', 'invalid_response', undefined],
  ])('an answer %d %s is the error %s', async (status, body, code, retryable) => {
    server.answers.push({ status, body })
    const error = await failure(refreshTokens(server.endpoints, 'secret-1', { fetch, clock }))
    expect(error).toMatchObject({ code })
    expect(error.retryable).toBe(retryable)
    expect(error.message).toMatch(new RegExp(`^${server.endpoints.tokenUrl} answered ${status}.*; \\w+`))
    expect(inspect(error, { depth: 9 })).not.toMatch(/secret-1|script|hotel/)
  })

  test('an unreachable server is retryable, and the text of the failure is not passed on', async () => {
    await server.close()
    const error = await failure(refreshTokens(server.endpoints, 'secret-1', { fetch, clock }))
    expect(error).toMatchObject({ code: 'network', retryable: true })
    expect(error.message).toBe(`Cannot reach ${server.url}/token: ECONNREFUSED; check the network and try again`)

    const leaking = () => Promise.reject(new TypeError('cannot send secret-1'))
    const other = await failure(refreshTokens(server.endpoints, 'secret-1', { fetch: leaking, clock }))
    expect(inspect(other, { depth: 9 })).not.toContain('secret-1')
  })

  test('a server that does not answer times out', async () => {
    const clock = fakeClock()
    const silent: typeof fetch = (_, init) =>
      new Promise((_, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal?.reason)))
    const failing = failure(refreshTokens(server.endpoints, 'r', { fetch: silent, clock }))
    await clock.advance(15_000)
    expect(await failing).toMatchObject({ code: 'timeout', retryable: true })
    expect(clock.pending).toBe(0)
  })

  test.each(['http://example.org/token', 'file:///token', 'nonsense'])(
    'a secret is not sent to %s',
    async (tokenUrl) => {
      const error = await failure(
        refreshTokens({ ...server.endpoints, tokenUrl }, 'r', { fetch: () => expect.unreachable() }),
      )
      expect(error.message).toBe(`The OAuth address ${tokenUrl} is not secure; use https, or http on this machine`)
    },
  )
})

describe('a token source without a store', () => {
  test('returns the tokens while they are valid for a minute, then renews them', async () => {
    const clock = fakeClock(1e12)
    const tokens = server.issue(clock.now())
    const heard: OAuthTokens[] = []
    const onRefresh = (tokens: OAuthTokens) => void heard.push(tokens)
    const source = createTokenSource({ name: 'x', tokens, endpoints: server.endpoints, fetch, clock, onRefresh })
    await clock.advance(hour - 60_001)
    expect(await source.current()).toBe(tokens)
    await clock.advance(1)
    const fresh = await source.current()
    expect(server.accepts(fresh.access)).toBe(true)
    expect(await source.current()).toBe(fresh)
    expect(heard).toEqual([fresh])
    expect(server.renewals).toBe(1)
  })

  test('renews once for concurrent callers', async () => {
    const tokens = server.issue(clock.now() - hour)
    const source = createTokenSource({ name: 'x', tokens, endpoints: server.endpoints, fetch, clock })
    const asked = Array.from({ length: 20 }, (_, i) => (i % 2 ? source.current() : source.refresh(tokens.access)))
    const got = await Promise.all(asked)
    expect(new Set(got).size).toBe(1)
    expect(await source.refresh(tokens.access)).toBe(got[0])
    expect(server.renewals).toBe(1)
  })

  test('renews tokens that a server did not accept, whatever their age', async () => {
    const tokens = server.issue(clock.now())
    const source = createTokenSource({ name: 'x', tokens, endpoints: server.endpoints, fetch, clock })
    const fresh = await source.refresh(tokens.access)
    expect(fresh.access).not.toBe(tokens.access)
    expect(await source.current()).toBe(fresh)
  })

  test('does not renew tokens without an expiry', async () => {
    const source = createTokenSource({ name: 'x', tokens: { access: 'a' }, endpoints: server.endpoints, fetch, clock })
    expect(await source.current()).toEqual({ access: 'a' })
    expect(await failure(source.refresh('a'))).toMatchObject({ code: 'no_refresh_token' })
  })

  test('keeps the account that the host named', async () => {
    const tokens = { ...server.issue(clock.now()), accountId: 'acct-1' }
    const source = createTokenSource({ name: 'x', tokens, endpoints: server.endpoints, fetch, clock })
    expect(await source.refresh(tokens.access)).toMatchObject({ accountId: 'acct-1' })
  })

  test('uses tokens until they expire when an early renewal fails, and tries again', async () => {
    const clock = fakeClock(1e12)
    const tokens = server.issue(clock.now() - hour + 30_000)
    const source = createTokenSource({ name: 'x', tokens, endpoints: server.endpoints, fetch, clock })
    const down = { status: 503, body: '' }
    server.answers.push(down, down)
    expect(await source.current()).toBe(tokens)
    await clock.advance(30_000)
    expect(await failure(source.current())).toMatchObject({ code: 'http_503', retryable: true })
    expect(server.accepts((await source.current()).access)).toBe(true)
  })

  test('fails when the host could not keep the new tokens', async () => {
    const tokens = server.issue(clock.now() - hour)
    const onRefresh = () => Promise.reject(new Error('disk full'))
    const source = createTokenSource({ name: 'x', tokens, endpoints: server.endpoints, fetch, clock, onRefresh })
    await expect(source.current()).rejects.toThrow('disk full')
    expect(server.accepts((await source.current()).access)).toBe(true)
  })
})

describe('a token source with a store', () => {
  test('stores renewed tokens before they are used', async () => {
    const heard: unknown[] = []
    const onRefresh = async () => void heard.push(await store.get('x'))
    const { source, tokens } = await stored(clock.now() - hour, { onRefresh })
    const fresh = await source.current()
    expect(heard).toEqual([{ type: 'oauth', ...fresh }])
    expect(await store.get('x')).toEqual({ type: 'oauth', ...fresh })
    expect(fresh.access).not.toBe(tokens.access)
    expect(await readdir(folder)).toEqual(['credentials.json'])
  })

  test('uses tokens that another process has stored in the meantime', async () => {
    const onRefresh = () => expect.unreachable()
    const { source, tokens } = await stored(clock.now() - hour, { onRefresh })
    const other = server.issue(clock.now())
    await store.set('x', { type: 'oauth', ...other })
    expect(await source.current()).toEqual(other)
    expect(await source.refresh(tokens.access)).toEqual(other)
    expect(server.requests).toEqual([])
  })

  test('renews with the refresh token that is stored, not with the one it remembers', async () => {
    const { source } = await stored(clock.now() - hour)
    const other = server.issue(clock.now() - hour)
    await store.set('x', { type: 'oauth', ...other })
    expect(server.accepts((await source.current()).access)).toBe(true)
    expect(server.requests.map(({ refresh_token }) => refresh_token)).toEqual([other.refresh])
  })

  test('does not restore a removed login', async () => {
    const { source } = await stored(clock.now() - hour)
    await store.remove('x')
    const error = await failure(source.current())
    expect(error.code).toBe('logged_out')
    expect(error.message).toBe(`There is no OAuth login "x" in ${store.path} any more; log in again`)
    expect(server.requests).toEqual([])
    expect(await store.list()).toEqual([])
  })

  test('fails when the new tokens could not be stored', async () => {
    const tokens = server.issue(clock.now() - hour + 30_000)
    await store.set('x', { type: 'oauth', ...tokens })
    const set = () => Promise.reject(new LockTimeoutError('busy'))
    const options = { name: 'x', tokens, endpoints: server.endpoints, fetch, clock }
    const source = createTokenSource({ ...options, store: { ...store, set } })
    expect(await failure(source.current())).toMatchObject({ code: 'locked', retryable: true })
    expect(server.accepts((await source.current()).access)).toBe(true)
  })

  test('waits for a renewal elsewhere, also under a lock of one’s choice', async () => {
    const lockPath = join(folder, 'my.lock')
    const { source } = await stored(clock.now() - hour, { lockPath })
    const other = server.issue(clock.now())
    const asked = await withLock(lockPath, async () => {
      const asked = source.current()
      await store.set('x', { type: 'oauth', ...other })
      return { asked }
    })
    expect(await asked.asked).toEqual(other)
    expect(server.requests).toEqual([])
  })

  async function stored(issuedAt: number, options: Partial<TokenSourceOptions> = {}) {
    const tokens = server.issue(issuedAt)
    await store.set('x', { type: 'oauth', ...tokens })
    const source = createTokenSource({
      name: 'x',
      tokens,
      store,
      endpoints: server.endpoints,
      fetch,
      clock,
      ...options,
    })
    return { tokens, source }
  }
})

const count = rounds(6, 20)

describe(`${count} processes that share a login`, { timeout: 60_000 }, () => {
  const children: ChildProcess[] = []

  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL')
  })

  test('FP-35 all stay logged in, and each expiry costs one renewal', async () => {
    const start = Date.now()
    await store.set('x', { type: 'oauth', ...server.issue(start) })
    const processes = await Promise.all(Array.from({ length: count }, startProcess))
    const everybody = (order: Order) => Promise.all(processes.map((ask) => ask(order)))

    expect(await everybody({ now: start, method: 'current' })).toEqual(Array(count).fill(200))
    expect(server.renewals).toBe(0)
    for (let expiry = 1; expiry <= 3; expiry++) {
      expect(await everybody({ now: start + expiry * hour, method: 'current' })).toEqual(Array(count).fill(200))
      expect(server.renewals).toBe(expiry)
    }
    expect(await everybody({ now: start + 3 * hour, method: 'refresh' })).toEqual(Array(count).fill(200))
    expect(server.renewals).toBe(4)
    expect(await readdir(folder)).toEqual(['credentials.json'])
  })

  interface Order {
    now: number
    method: 'current' | 'refresh'
  }

  /** A process that requests tokens on command, uses them, and reports the result. */
  async function startProcess(): Promise<(order: Order) => Promise<unknown>> {
    const module = (file: string): string => JSON.stringify(new URL(file, import.meta.url).href)
    const script = `
      import { createInterface } from 'node:readline'
      import { createCredentialStore } from ${module('credentials.ts')}
      import { createTokenSource } from ${module('oauth.ts')}
      import { systemClock } from ${module('../core/clock.ts')}
      const { path, endpoints, url } = JSON.parse(process.argv[1])
      const store = createCredentialStore({ path })
      let now = 0
      const clock = { ...systemClock, now: () => now }
      const tokens = await store.get('x')
      const source = createTokenSource({ name: 'x', tokens, store, endpoints, clock })
      let { access } = tokens
      console.log('"ready"')
      for await (const line of createInterface({ input: process.stdin })) {
        const order = JSON.parse(line)
        now = order.now
        try {
          access = (await (order.method === 'current' ? source.current() : source.refresh(access))).access
          const { status } = await fetch(url + '/me', { headers: { authorization: 'Bearer ' + access } })
          console.log(status)
        } catch (error) {
          console.log(JSON.stringify(String(error)))
        }
      }`
    const values = JSON.stringify({ path: store.path, endpoints: server.endpoints, url: server.url })
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script, values], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    children.push(child)
    const lines = createInterface({ input: child.stdout! })
    await once(lines, 'line')
    return async (order) => {
      const answer = once(lines, 'line')
      child.stdin!.write(`${JSON.stringify(order)}\n`)
      return JSON.parse((await answer)[0])
    }
  }
})

describe('accountIdOf', () => {
  test('reads the account of a Codex token', () => {
    expect(accountIdOf(codexToken('acct-ü?>'))).toBe('acct-ü?>')
  })

  test.each([
    'opaque',
    '',
    'a.b.c',
    'a.%%%.c',
    `a.${btoa('null')}.c`,
    `a.${btoa('{}')}.c`,
    codexToken(7),
    codexToken(''),
  ])('finds none in %s', (token) => {
    expect(accountIdOf(token)).toBeUndefined()
  })
})

function codexToken(account: unknown): string {
  const payload = JSON.stringify({ 'https://api.openai.com/auth': { chatgpt_account_id: account } })
  return `e30.${Buffer.from(payload).toString('base64url')}.sig`
}

async function failure(promise: Promise<unknown>): Promise<OAuthError> {
  const error = await promise.then(
    () => expect.unreachable(),
    (error: unknown) => error,
  )
  expect(error).toBeInstanceOf(OAuthError)
  return error as OAuthError
}
