import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createAgent, createMemoryStore } from '../../src/index.ts'
import type { AgentForRequest } from '../../src/server/session-work.ts'
import { scripted } from '../../src/testing/index.ts'
import { gated, startServer, token, until } from './server-kit.ts'

const get = (path: string, method = 'GET'): Request =>
  new Request(`http://127.0.0.1${path}`, { method, headers: { authorization: `Bearer ${token}` } })

/** `x-tenant: root` is a caller of no tenant. */
const byTenant = {
  verify: ({ headers }: Request) => {
    const tenant = headers.get('x-tenant') ?? ''
    if (tenant === '') return undefined
    return { user: 'ada', ...(tenant !== 'root' && { tenant }) }
  },
}
const as = (tenant: string) => ({ 'x-tenant': tenant })

/** Notes for whom agents are opened. */
function recorder() {
  const opened: unknown[] = []
  const agentFor = async ({ session, tenant, summary }: AgentForRequest) => {
    opened.push([session.id, tenant, summary.folder])
    const agent = createAgent({ session, provider: scripted('ran') })
    return { agent, close: () => agent.destroy() }
  }
  return { opened, agentFor }
}

test.for([{ tenant: 'victim' }, {}])(
  'SV87 neither an import nor a fork of it takes a session to another tenant or folder: %j',
  async (details) => {
    const { opened, agentFor } = recorder()
    const { send, server, store } = await startServer({ auth: byTenant, agentFor, trustsAllUsers: true })
    const lines = [
      { libero: 'session', version: 1, id: 'x', entries: 2 },
      { seq: 1, id: 'e1', at: 1, type: 'details', ...details, folder: '/etc' },
      {
        seq: 2,
        id: 'e2',
        at: 8e15,
        type: 'input',
        mode: 'followUp',
        clientKey: 'k',
        content: [{ type: 'text', text: 'x' }],
      },
      { libero: 'end', sessions: 1 },
    ]
    const text = lines.map((line) => JSON.stringify(line)).join('\n')
    const made = await send('POST', '/v1/sessions/import?id=i', text, {
      ...as('acme'),
      'content-type': 'application/jsonl',
    })
    expect(made.status).toBe(201)
    expect((await send('POST', '/v1/sessions/i/fork', { at: 2, id: 'f' }, as('acme'))).status).toBe(201)
    for (const id of ['acme.i', 'acme.f']) expect(await store.find(id)).toMatchObject({ tenant: 'acme' })
    expect((await store.find('acme.f'))!.folder).toBeUndefined()
    expect((await store.find('acme.i'))!.updatedAt).toBeLessThanOrEqual(Date.now())
    await server.start()
    await until(() => opened.length > 0)
    await pause(50)
    for (const one of opened) expect(one).toEqual([expect.stringMatching(/^acme\./), 'acme', undefined])
  },
)

test('SV87 a caller of no tenant who writes to a session of a tenant has it worked on for that tenant', async () => {
  const { opened, agentFor } = recorder()
  const { send } = await startServer({ auth: byTenant, agentFor, trustsAllUsers: true })
  await send('POST', '/v1/sessions', { id: 's' }, as('acme'))
  await send('POST', '/v1/sessions/acme.s/messages', { content: 'Hi' }, as('root'))
  await until(() => opened.length > 0)
  expect(opened).toEqual([['acme.s', 'acme', undefined]])
})

test('SV95 servers on one store do not work again and again on what failed, and leave alone what was stopped', async () => {
  const store = createMemoryStore()
  const agentFor = async () => Promise.reject(new Error('no key'))
  const servers = [await startServer({ store, agentFor }), await startServer({ store, agentFor })]
  await servers[0]!.send('POST', '/v1/sessions', { id: 'failing', message: 'x' })
  await until(async () => (await store.find('failing'))!.status === 'failed')
  const { provider, requests } = gated('never', 'never')
  const stopping = await startServer({ store, provider: () => provider })
  const other = await startServer({ store, provider: () => scripted('ran') })
  await stopping.send('POST', '/v1/sessions', { id: 'stopped', message: 'x' })
  await until(() => requests.length === 1)
  await stopping.send('POST', '/v1/sessions/stopped/messages', { content: 'queued' })
  await stopping.send('POST', '/v1/sessions/stopped/stop')
  await until(async () => !(await store.find('stopped'))!.isHeld)
  const heads = async () => [(await store.find('failing'))!.head, (await store.find('stopped'))!.head]
  const before = await heads()
  for (let look = 0; look < 3; look++) {
    for (const { server } of [...servers, stopping, other]) await server.start()
    await pause(30)
  }
  expect(await heads()).toEqual(before)
})

test('SV89 HEAD of a stream, and a stream over the limit, hold nothing', async () => {
  const store = createMemoryStore()
  let looks = 0
  const counted = new Proxy(store, {
    get: (target, name, receiver) => {
      if (name === 'list') looks++
      return Reflect.get(target, name, receiver)
    },
  })
  const { send, server } = await startServer({ store: counted, provider: () => scripted('x'), limits: { streams: 1 } })
  await send('POST', '/v1/sessions', { id: 's' })
  for (let i = 0; i < 3; i++) expect((await server.fetch(get('/v1/sessions/s/events', 'HEAD'))).status).toBe(200)
  const first = await server.fetch(get('/v1/events'))
  expect(first.status).toBe(200)
  expect((await send('GET', '/v1/events')).body.code).toBe('too_many_streams')
  await first.body!.cancel()
  await pause(50)
  looks = 0
  await pause(1200)
  expect(looks).toBe(0)
})

test('SV76 a session is made with its message or not at all, and making it again with the same key is harmless', async () => {
  const { send, store } = await startServer({ provider: () => scripted('x'), limits: { messagesPerMinute: 2 } })
  expect((await send('POST', '/v1/sessions', { id: 'bad', message: [{ type: 'no' }] })).status).toBe(400)
  expect((await send('POST', '/v1/sessions', { id: 'bad', message: 'x' }, { 'idempotency-key': 'a b' })).status).toBe(
    400,
  )
  const make = (id: string) => send('POST', '/v1/sessions', { id, message: 'x' }, { 'idempotency-key': `key-${id}` })
  expect([(await make('a')).status, (await make('a')).status]).toEqual([201, 201])
  expect((await make('b')).status).toBe(429)
  expect([await store.find('bad'), await store.find('b')]).toEqual([undefined, undefined])
  // Over the limit a repeated message is still the same message.
  const again = await send('POST', '/v1/sessions/a/messages', { content: 'x' }, { 'idempotency-key': 'key-a' })
  expect(again.status).toBe(202)
  await until(async () => (await store.find('a'))!.turns === 2)
})

test('SV82 stop counts while the agent is being opened', async () => {
  let open = (): void => {}
  const opening = new Promise<void>((resolve) => void (open = resolve))
  let isAsked = false
  const { send, store } = await startServer({
    async agentFor({ session }) {
      isAsked = true
      await opening
      const agent = createAgent({ session, provider: scripted('ran') })
      return { agent, close: () => agent.destroy() }
    },
  })
  await send('POST', '/v1/sessions', { id: 's', message: 'x' })
  await until(() => isAsked)
  expect((await send('POST', '/v1/sessions/s/stop')).status).toBe(202)
  open()
  await pause(50)
  expect((await store.find('s'))!.turns).toBe(0)
})

test('SV95 a stream that opens while the server closes is refused', async () => {
  let open = (): void => {}
  const opening = new Promise<void>((resolve) => void (open = resolve))
  let isSlow = false
  const verify = async () => {
    if (isSlow) await opening
    return { user: 'u' }
  }
  const { send, server } = await startServer({ auth: { verify }, provider: () => scripted('x') })
  await send('POST', '/v1/sessions', { id: 's' })
  isSlow = true
  const asked = server.fetch(get('/v1/sessions/s/events'))
  await server.close()
  open()
  expect((await asked).status).toBe(503)
})

test('SV85 a host that verifies callers has wrong tokens slowed down too; requests without any are no guesses', async () => {
  const { server, errors } = await startServer({ auth: { verify: () => undefined }, provider: () => scripted('x') })
  const statuses = async (headers: Record<string, string>) => {
    const all: number[] = []
    for (let i = 0; i < 15; i++)
      all.push((await server.fetch(new Request('http://127.0.0.1/v1/sessions', { headers }))).status)
    return new Set(all)
  }
  expect(await statuses({})).toEqual(new Set([401]))
  expect(errors).toEqual([])
  expect(await statuses({ authorization: 'Bearer wrong' })).toEqual(new Set([401, 429]))
})

test('SV94 what a store says about its machine is in no stream', async () => {
  const store = createMemoryStore()
  let isBroken = false
  const breaking = new Proxy(store, {
    get(target, name, receiver) {
      if (name === 'read' && isBroken) return async () => Promise.reject(new Error('EIO at /home/op/secret.db'))
      return Reflect.get(target, name, receiver)
    },
  })
  const { send, server, errors } = await startServer({ store: breaking, provider: () => scripted('x') })
  await send('POST', '/v1/sessions', { id: 's' })
  isBroken = true
  const text = await (await server.fetch(get('/v1/sessions/s/events'))).text()
  expect(text).toContain('event: failed')
  expect(text).not.toContain('/home/op')
  expect(errors.map(({ message }) => message).join()).toContain('/home/op')
})

test('SV86 waiting for an answer needs the right to read it, and counts as a stream', async () => {
  const { provider } = gated('never')
  const scopes = {
    verify: ({ headers }: Request) => ({ user: 'u', scopes: (headers.get('x-scopes') ?? 'admin').split(' ') as never }),
  }
  const { send, server } = await startServer({ auth: scopes, provider: () => provider, limits: { streams: 1 } })
  await send('POST', '/v1/sessions', { id: 's' })
  const refused = await send(
    'POST',
    '/v1/sessions/s/messages',
    { content: 'x' },
    { prefer: 'wait=1', 'x-scopes': 'send' },
  )
  expect(refused.body.code).toBe('scope_missing')
  const stream = await server.fetch(get('/v1/sessions/s/events'))
  const full = await send('POST', '/v1/sessions/s/messages', { content: 'x' }, { prefer: 'wait=1' })
  expect(full.body.code).toBe('too_many_streams')
  expect((await send('GET', '/v1/sessions/s')).body.attention).toBeUndefined() // neither was stored
  await stream.body!.cancel()
})
