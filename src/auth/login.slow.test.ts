import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type AuthorizationServer, loopbackFetch, startAuthorizationServer } from '../../test/authorization-server.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { startCallbackServer } from './callback-server.ts'
import { type CredentialStore, createCredentialStore } from './credentials.ts'
import { type LoginOptions, login } from './login.ts'
import { codexOAuth, OAuthError, type OAuthTokens } from './oauth.ts'

let server: AuthorizationServer
let folder: string
let store: CredentialStore

beforeEach(async () => {
  server = await startAuthorizationServer()
  folder = await mkdtemp(join(tmpdir(), 'libero-login-'))
  store = createCredentialStore({ path: join(folder, 'credentials.json') })
})

afterEach(async () => {
  await server.close()
  await rm(folder, { recursive: true, force: true })
})

test('a login in the browser ends with tokens that work and are stored', async () => {
  const pages: Page[] = []
  const tokens = await start({ openBrowser: async (url) => void pages.push(await browse(url)) }).tokens
  expect(server.accepts(tokens.access)).toBe(true)
  expect(tokens.expires).toBeGreaterThan(Date.now())
  expect(await store.get('x')).toEqual({ type: 'oauth', ...tokens })
  await expect.poll(() => pages).toMatchObject([{ status: 200, text: expect.stringContaining('close this window') }])
})

test('the address asks for a code with PKCE, and extra parameters cannot change that', async () => {
  const endpoints = {
    ...server.endpoints,
    authorizeUrl: `${server.url}/authorize?tenant=7`,
    scopes: ['read', 'write'],
    redirect: { host: 'localhost', path: '/auth/callback' },
    extraAuthorizeParams: { prompt: 'login', code_challenge_method: 'plain', state: 'known' },
  } as const
  const running = start({ endpoints })
  const { searchParams } = new URL(await running.url)
  expect(Object.fromEntries(searchParams)).toEqual({
    tenant: '7',
    prompt: 'login',
    response_type: 'code',
    client_id: 'client-1',
    redirect_uri: expect.stringMatching(/^http:\/\/localhost:\d+\/auth\/callback$/),
    scope: 'read write',
    state: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge_method: 'S256',
  })
  await browse(await running.url)
  await running.tokens
  expect(server.requests[0]?.code_verifier).toMatch(/^[\w-]{43}$/)

  const second = start({ endpoints })
  const other = new URL(await second.url).searchParams
  expect(other.get('state')).not.toBe(searchParams.get('state'))
  expect(other.get('code_challenge')).not.toBe(searchParams.get('code_challenge'))
  await browse(await second.url)
  await second.tokens
})

test('the address is printed, and the login goes on if no browser opens', async () => {
  const running = start({ openBrowser: () => Promise.reject(new Error('no display')) })
  await browse(await running.url)
  await running.tokens
  expect(running.printed).toEqual([
    `To log in to x, open ${await running.url}`,
    'The browser could not be opened (no display); open the address yourself',
  ])
})

describe('a request that does not belong to this login', () => {
  test('a wrong state is refused, and the login goes on', async () => {
    const running = start()
    const url = await running.url
    const back = await redirectOf(url)
    const state = back.searchParams.get('state')!
    const other = state.startsWith('x') ? 'y' : 'x'
    for (const wrong of ['', 'x', `${state}x`, state.slice(1), `${other}${state.slice(1)}`, `${state.slice(1)}!`]) {
      expect(await get(change(back, { state: wrong, code: 'code-of-the-attacker' }))).toMatchObject({ status: 400 })
      expect(await get(change(back, { state: wrong, error: 'access_denied' }))).toMatchObject({ status: 400 })
    }
    expect(await get(change(back, { state: null }))).toMatchObject({ status: 400 })
    expect(await get(change(back, { code: null }))).toMatchObject({ status: 400 })
    expect(server.requests).toEqual([])
    await get(back)
    expect(server.accepts((await running.tokens).access)).toBe(true)
    expect(server.requests).toHaveLength(1)
  })

  test('only a GET of the exact path with the exact host is accepted', async () => {
    const running = start()
    const back = await redirectOf(await running.url)
    const { search } = back
    for (const method of ['POST', 'PUT', 'OPTIONS', 'HEAD'])
      expect(await get(back, { method })).toMatchObject({ status: 405 })
    for (const path of ['/', '/callback/', '/callbac', '/x/../callback', '//x/callback', '/CALLBACK'])
      expect(await get(back, { path: `${path}${search}` })).toMatchObject({ status: 404 })
    for (const host of ['evil.test', `evil.test:${back.port}`, `localhost:${back.port}`, '127.0.0.1'])
      expect(await get(back, { headers: { host } })).toMatchObject({ status: 404 })
    expect(server.requests).toEqual([])
    await get(back)
    await running.tokens
  })

  test('an answer counts once', async () => {
    let answers = 0
    const callback = await startCallbackServer({}, () => ++answers > 1)
    const statuses = []
    for (let i = 0; i < 4; i++) statuses.push((await get(new URL(callback.redirectUri))).status)
    await callback.close()
    expect(statuses).toEqual([400, 200, 410, 410])
    expect(answers).toBe(2)
  })

  test('no page repeats parts of the request', async () => {
    const running = start()
    const back = await redirectOf(await running.url)
    const script = '<script>alert(1)</script>'
    const denied = change(back, { code: null, error: 'access_denied', error_description: script })
    for (const url of [change(denied, { state: script }), denied]) {
      const page = await get(url)
      expect(page.text).not.toMatch(/script|alert|access_denied|state/)
      expect(page.headers).toMatchObject({
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
      })
    }
    await failure(running.tokens)
  })
})

test('a denial in the browser is a typed error, and an earlier login stays', async () => {
  await store.set('x', { type: 'oauth', access: 'old' })
  const running = start()
  const back = await redirectOf(await running.url)
  await get(change(back, { code: null, error: 'access_denied' }))
  const error = await failure(running.tokens)
  expect(error).toMatchObject({ code: 'access_denied' })
  expect(error.message).toBe('The login to x failed: access was denied in the browser; start it again to retry')
  expect(await store.get('x')).toEqual({ type: 'oauth', access: 'old' })
})

test.each([
  ['invalid_scope', 'invalid_scope'],
  ['<script>', 'unknown_error'],
])('the error %s of the server is reported as %s', async (said, code) => {
  const running = start()
  await get(change(await redirectOf(await running.url), { code: null, error: said }))
  expect(await failure(running.tokens)).toMatchObject({ code, message: expect.stringContaining(code) })
})

test('an answer from another issuer is refused before any token is asked for', async () => {
  const running = start()
  await get(change(await redirectOf(await running.url), { iss: 'https://evil.test' }))
  const error = await failure(running.tokens)
  expect(error.code).toBe('issuer_mismatch')
  expect(error.message).toContain(`another server than ${server.url}`)
  expect(server.requests).toEqual([])
})

test('an answer without an issuer, or a client without one, is accepted', async () => {
  const first = start()
  await get(change(await redirectOf(await first.url), { iss: null }))
  expect(server.accepts((await first.tokens).access)).toBe(true)
  const { issuer: _, ...endpoints } = server.endpoints
  const second = start({ endpoints })
  await browse(await second.url)
  expect(server.accepts((await second.tokens).access)).toBe(true)
})

test('a code that is not accepted is an error without the code, and nothing is stored', async () => {
  const running = start()
  await get(change(await redirectOf(await running.url), { code: 'code-secret' }))
  const error = await failure(running.tokens)
  expect(error.code).toBe('invalid_grant')
  expect(error.message).not.toContain('code-secret')
  expect(await store.list()).toEqual([])
})

test('the account is read from the token', async () => {
  await server.close()
  const claims = { 'https://api.openai.com/auth': { chatgpt_account_id: 'acct-1' } }
  const accessToken = () => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.sig`
  server = await startAuthorizationServer({ accessToken })
  const running = start()
  await browse(await running.url)
  expect(await running.tokens).toMatchObject({ accountId: 'acct-1' })
})

describe('the port', () => {
  test('can be given, and an error says when it is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => other.once('listening', resolve))
    const { port } = other.address() as AddressInfo
    const endpoints = { ...server.endpoints, redirect: { port } }
    const error = await failure(start({ endpoints }).tokens)
    expect(error.code).toBe('port_taken')
    expect(error.message).toBe(
      `Port ${port} of 127.0.0.1 is taken, and this login needs it; end the program that uses it, maybe another login, and try again`,
    )
    await new Promise((resolve) => other.close(resolve))

    const running = start({ endpoints })
    expect(new URL(await running.url).searchParams.get('redirect_uri')).toBe(`http://127.0.0.1:${port}/callback`)
    await browse(await running.url)
    await running.tokens
  })

  test('is closed at the end in every case, without open connections', async () => {
    const endings: ((running: Running) => Promise<unknown>)[] = [
      async ({ url }) => browse(await url),
      async ({ url }) => get(change(await redirectOf(await url), { error: 'access_denied' })),
      async ({ abort }) => abort(),
      async ({ clock }) => clock.advance(300_000),
    ]
    for (const end of endings) {
      const running = start()
      const port = Number((await redirectOf(await running.url)).port)
      const idle = connect(port, '127.0.0.1').on('error', () => {})
      await new Promise((resolve) => idle.once('connect', resolve))
      const slow = connect(port, '127.0.0.1', () => slow.write('GET /callback HTTP/1.1\r\n')).on('error', () => {})
      const ended = Promise.all([idle, slow].map((socket) => new Promise((resolve) => socket.once('close', resolve))))
      await end(running)
      await running.tokens.catch(() => {})
      await ended
      await expect(get(new URL(`http://127.0.0.1:${port}/callback`))).rejects.toThrow(/ECONNREFUSED/)
      expect(running.clock.pending).toBe(0)
    }
  })
})

test('a login that is not completed times out', async () => {
  const running = start({ timeoutMs: 120_000 })
  await running.url
  await running.clock.advance(119_999)
  expect(await Promise.race([running.tokens, Promise.resolve('waiting')])).toBe('waiting')
  await running.clock.advance(1)
  const error = await failure(running.tokens)
  expect(error).toMatchObject({ code: 'timeout' })
  expect(error.message).toBe('The login to x was not completed within 120 s; start it again when ready')
})

test('a login can be aborted before, while waiting, and while the code is exchanged', async () => {
  const before = start({ signal: AbortSignal.abort() })
  expect(await failure(before.tokens)).toMatchObject({ code: 'aborted' })
  expect(before.printed).toEqual([])

  const starting = start()
  starting.abort()
  expect(await failure(starting.tokens)).toMatchObject({ code: 'aborted' })

  const waiting = start()
  await waiting.url
  waiting.abort()
  expect(await failure(waiting.tokens)).toMatchObject({ code: 'aborted' })

  const exchanging = start({
    fetch: (_, init) => {
      exchanging.abort()
      return new Promise((_, reject) => init?.signal?.aborted && reject(init.signal.reason))
    },
  })
  await browse(await exchanging.url)
  expect(await failure(exchanging.tokens)).toMatchObject({ code: 'aborted' })
  expect(await store.list()).toEqual([])
})

describe('pasting', () => {
  test.each([
    ['the address', (back: URL) => ` ${back.href}\n`],
    ['the address without its beginning', (back: URL) => back.href.replace('http://', '')],
    ['code#state', (back: URL) => `${back.searchParams.get('code')}#${back.searchParams.get('state')}`],
  ])('%s takes the place of the browser', async (_, textOf) => {
    const running = start({ paste: async () => textOf(await redirectOf(await running.url)) })
    expect(server.accepts((await running.tokens).access)).toBe(true)
  })

  test('an invalid paste is asked for again, and ends the login only after five attempts', async () => {
    const texts = ['', 'code', 'code#state', 'http://127.0.0.1/callback?code=a&state=b']
    const running = start({ paste: async () => texts.shift() ?? (await redirectOf(await running.url)).href })
    expect(server.accepts((await running.tokens).access)).toBe(true)
    expect(running.printed.slice(1)).toEqual(
      Array(4).fill('That is not the answer to this login; paste the whole address that the browser ended at'),
    )

    let asked = 0
    const hopeless = start({ paste: async () => `nonsense ${++asked}` })
    expect(await failure(hopeless.tokens)).toMatchObject({ code: 'bad_paste' })
    expect(asked).toBe(5)
  })

  test('is cancelled when the browser was faster, and a failure to paste does not end the login', async () => {
    let signal: AbortSignal | undefined
    const running = start({
      paste: (given) => {
        signal = given
        return new Promise(() => {})
      },
    })
    await browse(await running.url)
    await running.tokens
    expect(signal?.aborted).toBe(true)

    const second = start({ paste: () => Promise.reject(new Error('no terminal')) })
    await browse(await second.url)
    expect(server.accepts((await second.tokens).access)).toBe(true)
  })

  test('a pasted denial is a denial', async () => {
    const running = start({
      paste: async () => change(await redirectOf(await running.url), { code: null, error: 'access_denied' }).href,
    })
    expect(await failure(running.tokens)).toMatchObject({ code: 'access_denied' })
  })
})

test.each(['javascript:alert(1)', 'file:///etc/passwd', 'http://example.org/authorize'])(
  'nothing is opened at %s',
  async (authorizeUrl) => {
    const openBrowser = () => expect.unreachable()
    const error = await failure(start({ endpoints: { ...server.endpoints, authorizeUrl }, openBrowser }).tokens)
    expect(error.code).toBe('insecure_url')
  },
)

test('the endpoints of Codex are secure and ask for a token that can be renewed', () => {
  for (const url of [codexOAuth.authorizeUrl, codexOAuth.tokenUrl]) expect(new URL(url).origin).toBe(codexOAuth.issuer)
  expect(codexOAuth.scopes).toContain('offline_access')
})

type Running = ReturnType<typeof start>

/** A login under way. `url` is the address for the browser. */
function start(options: Partial<LoginOptions> = {}) {
  const url = Promise.withResolvers<string>()
  const controller = new AbortController()
  const clock = fakeClock(Date.now())
  const printed: string[] = []
  const tokens: Promise<OAuthTokens> = login({
    name: 'x',
    endpoints: server.endpoints,
    store,
    fetch: loopbackFetch,
    signal: controller.signal,
    clock,
    openBrowser: () => {},
    print: (text) => {
      printed.push(text)
      url.resolve(text.replace('To log in to x, open ', ''))
    },
    ...options,
  })
  tokens.catch(url.reject)
  url.promise.catch(() => {})
  return { tokens, url: url.promise, clock, printed, abort: () => controller.abort() }
}

interface Page {
  readonly status: number | undefined
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
}

/** Acts like a browser whose user agrees. */
async function browse(url: string): Promise<Page> {
  return get(await redirectOf(url))
}

/** Where the authorization server sends the browser. */
async function redirectOf(url: string): Promise<URL> {
  const { headers } = await get(new URL(url))
  return new URL(String(headers.location))
}

function change(url: URL, params: Record<string, string | null>): URL {
  const changed = new URL(url)
  for (const [name, value] of Object.entries(params)) {
    if (value === null) changed.searchParams.delete(name)
    else changed.searchParams.set(name, value)
  }
  return changed
}

/** `path` is sent as it is. */
function get(
  { hostname, port, pathname, search }: URL,
  options: { method?: string; path?: string; headers?: Record<string, string> } = {},
): Promise<Page> {
  return new Promise((resolve, reject) => {
    const host = hostname === 'localhost' ? '127.0.0.1' : hostname
    const headers = { host: `${hostname}:${port}`, ...options.headers }
    const asking = request(
      { host, port, path: `${pathname}${search}`, agent: false, ...options, headers },
      async (page) => {
        let text = ''
        for await (const chunk of page) text += chunk
        resolve({ status: page.statusCode, headers: page.headers, text })
      },
    )
    asking.on('error', reject)
    asking.end()
  })
}

async function failure(promise: Promise<unknown>): Promise<OAuthError> {
  const error = await promise.then(
    () => expect.unreachable(),
    (error: unknown) => error,
  )
  expect(error).toBeInstanceOf(OAuthError)
  return error as OAuthError
}
