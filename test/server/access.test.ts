import { expect, test } from 'vitest'
import { createProcessContext } from '../../src/execution/process.ts'
import { createAgent } from '../../src/index.ts'
import { createServer } from '../../src/server/index.ts'
import type { AgentForRequest } from '../../src/server/session-work.ts'
import { fakeClock, scripted } from '../../src/testing/index.ts'
import { startServer, token, until } from './server-kit.ts'

const at = (path: string, headers: Record<string, string> = {}, method = 'GET'): Request =>
  new Request(`http://127.0.0.1:4000${path}`, { method, headers })
const bearer = { authorization: `Bearer ${token}` }

test('SV85 every request needs the token, and none can be left out by mistake', async () => {
  const { server } = await startServer({ provider: () => scripted('x') })
  for (const headers of [
    {},
    { authorization: 'Bearer wrong' },
    { authorization: `Basic ${token}` },
    { authorization: token },
    { cookie: `libero_session=${token}` },
  ]) {
    const refused = await server.fetch(at('/v1/sessions', headers as Record<string, string>))
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
  }
  expect((await server.fetch(at(`/v1/sessions?token=${token}`))).status).toBe(401)
  expect((await server.fetch(at('/v1/sessions', bearer))).status).toBe(200)
  for (const auth of [undefined, {}, { token: '' }, { token: 'short' }] as never[])
    expect(() => createServer({ store: {} as never, agentFor: async () => ({}) as never, auth })).toThrow(TypeError)
})

test('SV85 wrong tokens are reported and slowed down; the right one still works', async () => {
  const clock = fakeClock()
  const { server, errors } = await startServer({ provider: () => scripted('x'), clock })
  const statuses: number[] = []
  for (let i = 0; i < 14; i++)
    statuses.push((await server.fetch(at('/v1/sessions', { authorization: `Bearer guess-${i}` }))).status)
  expect(statuses.slice(0, 10)).toEqual(Array(10).fill(401))
  expect(statuses.slice(10)).toContain(429)
  expect(errors.length).toBeGreaterThanOrEqual(10)
  expect(errors.map(({ message }) => message).join()).not.toContain('guess')
  expect((await server.fetch(at('/v1/sessions', bearer))).status).toBe(200)
  await clock.advance(60_000)
  expect((await server.fetch(at('/v1/sessions', { authorization: 'Bearer again' }))).status).toBe(401)
})

test('SV85 a token is traded for a cookie that scripts cannot read, with which changes need an own header', async () => {
  const { server } = await startServer({ provider: () => scripted('x') })
  const login = await server.fetch(at('/v1/login', bearer, 'POST'))
  const set = login.headers.get('set-cookie')!
  expect(login.status).toBe(204)
  expect(set).toMatch(/^libero_session=[\w-]{43}; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Strict$/)
  expect(set).not.toContain(token)
  const cookie = { cookie: set.split(';')[0]! }
  expect((await server.fetch(at('/v1/sessions', cookie))).status).toBe(200)
  const post = (headers: Record<string, string>): Request =>
    new Request('http://127.0.0.1/v1/sessions', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: '{}',
    })
  expect(((await (await server.fetch(post(cookie))).json()) as { code: string }).code).toBe('header_missing')
  expect((await server.fetch(post({ ...cookie, 'x-libero': '1' }))).status).toBe(201)
  const logout = await server.fetch(at('/v1/logout', { ...cookie, 'x-libero': '1' }, 'POST'))
  expect(logout.headers.get('set-cookie')).toMatch(/^libero_session=; Max-Age=0;/)
})

test('SV88 another Host is refused before anything else, and so are pages of other origins', async () => {
  const { server } = await startServer({
    provider: () => scripted('x'),
    allowedHosts: ['127.0.0.1', 'agents.example.com'],
    allowedOrigins: ['https://app.example.com'],
  })
  const answer = async (headers: Record<string, string>, method = 'GET') => {
    const response = await server.fetch(at('/v1/sessions', { ...bearer, ...headers }, method))
    const text = await response.text()
    return {
      status: response.status,
      code: text.startsWith('{') ? JSON.parse(text).code : undefined,
      cors: response.headers.get('access-control-allow-origin'),
    }
  }
  expect(await answer({ host: 'evil.example.com' })).toEqual({ status: 403, code: 'wrong_host', cors: null })
  expect((await answer({ host: 'agents.example.com' })).status).toBe(200)
  expect((await answer({ host: 'agents.example.com:8080' })).status).toBe(200)
  expect(await answer({ host: '127.0.0.1:4000', origin: 'http://127.0.0.1:4000' })).toMatchObject({
    status: 200,
    cors: null,
  })
  expect(await answer({ host: '127.0.0.1:4000', origin: 'http://127.0.0.1:5000' })).toMatchObject({
    status: 403,
    code: 'wrong_origin',
    cors: null,
  })
  expect(await answer({ origin: 'null' })).toMatchObject({ status: 403, code: 'wrong_origin' })
  expect(await answer({ origin: 'https://app.example.com' })).toMatchObject({
    status: 200,
    cors: 'https://app.example.com',
  })
  const preflight = await answer(
    { origin: 'https://app.example.com', 'access-control-request-method': 'POST' },
    'OPTIONS',
  )
  expect(preflight).toMatchObject({ status: 204, cors: 'https://app.example.com' })
  expect(() =>
    createServer({
      store: { append() {} } as never,
      agentFor: async () => ({}) as never,
      auth: { token },
      allowedOrigins: ['*'],
    }),
  ).toThrow(/without wildcards/)
})

test('SV86 a caller may do what its scopes say', async () => {
  const { server } = await startServer({
    provider: () => scripted('x'),
    auth: { verify: ({ headers }) => ({ user: 'u', scopes: (headers.get('x-scopes') ?? '').split(' ') as never }) },
  })
  const allowed = async (method: string, path: string, scopes: string) => {
    const body =
      method === 'POST'
        ? { body: '{}', headers: { 'x-scopes': scopes, 'content-type': 'application/json' } }
        : { headers: { 'x-scopes': scopes } }
    return (await server.fetch(new Request(`http://127.0.0.1${path}`, { method, ...body }))).status !== 403
  }
  expect(await allowed('GET', '/v1/sessions', 'read')).toBe(true)
  expect(await allowed('GET', '/v1/sessions', 'send')).toBe(false)
  expect(await allowed('POST', '/v1/sessions', 'read answer')).toBe(false)
  expect(await allowed('POST', '/v1/sessions', 'send')).toBe(true)
  expect(await allowed('POST', '/v1/sessions/s/answers/c', 'send')).toBe(false)
  expect(await allowed('DELETE', '/v1/sessions/s', 'read send answer')).toBe(false)
  expect(await allowed('DELETE', '/v1/sessions/s', 'admin')).toBe(true)
})

test('SV89 bodies, streams, runs and messages are limited, with the time after which to try again', async () => {
  const { provider } = {
    provider: () =>
      scripted(
        (_request, signal) =>
          new Promise<string>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
      ),
  }
  const { send, server, store } = await startServer({
    provider,
    limits: { bodyBytes: 1000, streams: 2, runs: 1, waitingRuns: 1, messagesPerMinute: 5 },
  })
  const refusal = async (answer: Promise<{ status: number; body: { code: string }; headers: Headers }>) => {
    const { status, body, headers } = await answer
    return [status, body.code, headers.has('retry-after')]
  }
  expect(await refusal(send('POST', '/v1/sessions', { title: 'x'.repeat(1000) }))).toEqual([413, 'too_large', false])
  for (const id of ['a', 'b', 'c']) await send('POST', '/v1/sessions', { id })
  await send('POST', '/v1/sessions/a/messages', { content: 'x' })
  await send('POST', '/v1/sessions/b/messages', { content: 'x' })
  expect(await refusal(send('POST', '/v1/sessions/c/messages', { content: 'x' }))).toEqual([429, 'too_many_runs', true])
  expect((await store.find('c'))!.attention).toBeUndefined()
  for (let i = 0; i < 3; i++) expect((await send('POST', '/v1/sessions/a/messages', { content: 'x' })).status).toBe(202)
  const many = await send('POST', '/v1/sessions/a/messages', { content: 'x' })
  expect([many.status, many.headers.get('ratelimit-policy')]).toEqual([429, '"messages";q=5;w=60'])
  const streams = await Promise.all([0, 1].map(() => server.fetch(at('/v1/sessions/a/events', bearer))))
  expect(await refusal(send('GET', '/v1/sessions/a/events'))).toEqual([429, 'too_many_streams', true])
  await streams[0]!.body!.cancel()
  const again = await server.fetch(at('/v1/sessions/a/events', bearer))
  expect(again.status).toBe(200)
  await Promise.all([again, streams[1]!].map(({ body }) => body!.cancel()))
})

test('SV89 a run that waits for its turn begins when another one ends', async () => {
  const { send, store } = await startServer({ provider: () => scripted('ok'), limits: { runs: 1 } })
  const ids = ['a', 'b', 'c', 'd']
  await Promise.all(ids.map((id) => send('POST', '/v1/sessions', { id, message: 'Hi' })))
  await until(async () => (await Promise.all(ids.map((id) => store.find(id)))).every((one) => one!.turns === 2))
})

test('SV90 tenants get no agent that runs commands on this machine itself, unless the host trusts all of them', async () => {
  const options = {
    auth: { verify: () => ({ user: 'u', tenant: 'acme' }) },
    agentFor: async ({ session }: AgentForRequest) => {
      const agent = createAgent({ provider: scripted('ok'), session, execution: createProcessContext() })
      return { agent, close: () => agent.destroy() }
    },
  }
  const refusing = await startServer(options)
  await refusing.send('POST', '/v1/sessions', { id: 's', message: 'Hi' })
  await until(() => refusing.errors.length > 0)
  expect(refusing.errors[0]!.message).toMatch(/use libero\/contexts\/docker or bubblewrap, or set trustsAllUsers/)
  await until(async () => (await refusing.store.find('acme.s'))!.status === 'failed')
  expect(JSON.stringify(await refusing.store.read('acme.s'))).toContain('the server could not open an agent')
  const trusting = await startServer({ ...options, trustsAllUsers: true })
  await trusting.send('POST', '/v1/sessions', { id: 's', message: 'Hi' })
  await until(async () => (await trusting.store.find('acme.s'))!.turns === 2)
})
