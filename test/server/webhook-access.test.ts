import { expect, test } from 'vitest'
import { createMemoryStore } from '../../src/index.ts'
import { until } from './server-kit.ts'
import { openReceiver, startWithWebhooks as start, webhooks } from './webhook-receiver.ts'

test('SV70 a deleted webhook gets nothing more, not even what was refused before', async () => {
  const [gone, stays] = [await openReceiver(), await openReceiver()]
  const store = createMemoryStore()
  const { send } = await start({ store })
  const other = await start({ store })
  gone.answer = (_, response) => void response.writeHead(500).end()
  const made = await send('POST', '/v1/webhooks', { url: gone.url, events: ['run_ended'] })
  await send('POST', '/v1/webhooks', { url: stays.url, events: ['run_ended'] })
  await send('POST', '/v1/sessions', { id: 'a', message: 'One' })
  await until(() => gone.received.length > 0 && stays.received.length > 0)
  expect((await send('DELETE', '/v1/webhooks/none')).body.code).toBe('no_webhook')
  // Through another server than the one that delivers.
  expect((await other.send('DELETE', `/v1/webhooks/${made.body.id}`)).status).toBe(204)
  const { length } = gone.received
  await send('POST', '/v1/sessions', { id: 'b', message: 'Two' })
  await until(() => stays.received.length === 2)
  expect(gone.received.length).toBeLessThanOrEqual(length + 1) // one may have been under way
  expect((await send('DELETE', `/v1/webhooks/${made.body.id}`)).status).toBe(404)
  expect((await send('GET', '/v1/webhooks')).body.webhooks).toHaveLength(1)
})

test('SV71 a tenant has its own webhooks, which tell about its own sessions by the names it knows', async () => {
  const [acme, beta] = [await openReceiver(), await openReceiver()]
  const auth = {
    verify: ({ headers }: Request) => ({
      user: 'ada',
      tenant: headers.get('x-tenant') ?? 'none',
      ...(headers.has('x-scope') && { scopes: ['send', 'read', 'answer'] as const }),
    }),
  }
  const { send, errors } = await start({ auth, trustsAllUsers: true })
  const of = (tenant: string) => ({ 'x-tenant': tenant })
  const made = await send('POST', '/v1/webhooks', { url: acme.url, events: ['run_ended'] }, of('acme'))
  await send('POST', '/v1/webhooks', { url: beta.url, events: ['run_ended'] }, of('beta'))
  for (const tenant of ['acme', 'beta']) await send('POST', '/v1/sessions', { id: 'same', message: 'Hi' }, of(tenant))
  await until(() => acme.received.length === 1 && beta.received.length === 1)
  expect(acme.received[0]!.body.data.session).toBe('same')
  expect(acme.received[0]!.text + JSON.stringify(acme.received[0]!.headers)).not.toContain('acme')
  expect((await send('GET', '/v1/webhooks', undefined, of('beta'))).body.webhooks).toMatchObject([{ url: beta.url }])
  expect((await send('DELETE', `/v1/webhooks/${made.body.id}`, undefined, of('beta'))).status).toBe(404)
  for (const method of ['GET', 'POST'] as const) {
    const body = method === 'POST' ? { url: acme.url, events: ['parked'] } : undefined
    const refused = await send(method, '/v1/webhooks', body, { ...of('acme'), 'x-scope': 'less' })
    expect(refused.body.code).toBe('scope_missing')
  }
  expect(errors).toEqual([])
})

test('SV72 no address leads into a private network, as written, as a number, or after DNS', async () => {
  const receiver = await openReceiver()
  const { send } = await start({ webhooks: {} })
  const refused = [
    ...[
      'no url',
      'ftp://example.com/',
      'https://user:word@example.com/',
      'https://a\\b.example/',
      'http://example.com/',
    ],
    ...[
      receiver.url,
      'https://localhost/',
      'https://127.1/',
      'https://2130706433/',
      'https://[::1]/',
      'https://10.0.0.7/',
    ],
    ...['https://169.254.169.254/latest', 'https://[::ffff:127.0.0.1]/', 'https://printer.local/', 'https://0x7f.1/'],
  ]
  for (const url of refused) {
    const answer = await send('POST', '/v1/webhooks', { url, events: ['parked'] })
    expect([url, answer.status, answer.body.code]).toEqual([url, 400, 'bad_request'])
  }
  expect((await send('POST', '/v1/webhooks', { url: 'https://example.com/', events: ['parked'] })).status).toBe(201)

  const asked: string[] = []
  const resolve = async (host: string) => {
    asked.push(host)
    return ['127.0.0.1']
  }
  const rebound = await start({ webhooks: { resolve } })
  const { port } = new URL(receiver.url)
  await rebound.send('POST', '/v1/webhooks', { url: `https://hooks.example:${port}/`, events: ['run_ended'] })
  await rebound.send('POST', '/v1/sessions', { id: 'a', message: 'Hi' })
  await until(() => rebound.errors.length > 0)
  expect(rebound.errors[0]!.message).toContain('hooks.example is not on the public internet')
  expect(asked).toContain('hooks.example')
  expect(receiver.received).toEqual([])
})

test('SV72 a redirect is not followed, and counts as a failure', async () => {
  const [receiver, target] = [await openReceiver(), await openReceiver()]
  const { send, errors } = await start()
  let redirects = 2
  receiver.answer = (_, response) => {
    if (redirects-- > 0) response.writeHead(307, { location: target.url })
    response.end()
  }
  await send('POST', '/v1/webhooks', { url: receiver.url, events: ['run_ended'] })
  await send('POST', '/v1/sessions', { id: 'a', message: 'Hi' })
  await until(() => receiver.received.length === 3)
  expect(target.received).toEqual([])
  expect(errors[0]!.message).toContain('it answered 307')
})

test('SV73 a receiver that does not answer is asked again later and holds up no other; a long answer is not read', async () => {
  const [silent, long] = [await openReceiver(), await openReceiver()]
  const { send, errors } = await start({ webhooks: { ...webhooks, timeoutMs: 20_000 } })
  let silences = 1
  silent.answer = (_, response) => {
    if (silences-- <= 0) response.end()
  }
  let written = 0
  long.answer = (_, response) => {
    const more = (): void => {
      while (!response.destroyed && written < 1e9) {
        written += 65_536
        if (!response.write(Buffer.alloc(65_536))) return void response.once('drain', more)
      }
    }
    more()
  }
  await send('POST', '/v1/webhooks', { url: silent.url, events: ['run_ended'] })
  await send('POST', '/v1/webhooks', { url: long.url, events: ['run_ended'] })
  await send('POST', '/v1/sessions', { id: 'a', message: 'One' })
  await until(() => long.received.length >= 1 && silent.received.length >= 2)
  expect(silent.received[0]!.id).toBe(silent.received[1]!.id)
  expect(errors[0]!.message).toContain('did not answer within 20000 ms')
  await send('POST', '/v1/sessions', { id: 'b', message: 'Two' })
  const isTold = ({ received }: typeof long): boolean => received.some(({ body }) => body.data.session === 'b')
  await until(() => isTold(long) && isTold(silent))
  expect(written).toBeLessThan(1e8)
})

test('SV74 of several servers one delivers at a time: each event comes once, and the cursors are shared', async () => {
  const receiver = await openReceiver()
  const store = createMemoryStore()
  const servers = [await start({ store }), await start({ store }), await start({ store })]
  await servers[0]!.send('POST', '/v1/webhooks', { url: receiver.url, events: ['run_ended'] })
  for (const { server } of servers) await server.start()
  for (let i = 0; i < 12; i++) await servers[i % 3]!.send('POST', '/v1/sessions', { id: `s${i}`, message: 'Hi' })
  await until(() => receiver.received.length >= 12)
  for (const { server } of servers) await server.start() // further sweeps find nothing
  // A process that dies of a session holds that one alone, so that the session is known as the cause.
  await until(async () => !(await store.list({ kind: 'webhook' })).sessions[0]!.isHeld)
  expect(receiver.received.map(({ body }) => body.data.session).sort()).toEqual(
    Array.from({ length: 12 }, (_, i) => `s${i}`).sort(),
  )
})

test('SV74 no answer, event, error or list of sessions has a secret, and no client can name where it is kept', async () => {
  const receiver = await openReceiver()
  receiver.answer = (_, response) => void response.writeHead(500).end()
  const { send, store, errors } = await start()
  const made = await send('POST', '/v1/webhooks', { url: receiver.url, events: ['run_ended'] })
  const { secret, id } = made.body
  await send('POST', '/v1/sessions', { id: 'a', message: 'Hi' })
  await until(() => errors.length > 0)
  const stored = `libero.webhooks.${id}`
  expect(JSON.stringify(await store.read(stored))).toContain(secret)
  const paths = ['', '/events', '/export', '/entries'].map((path) => `/v1/sessions/${stored}${path}`)
  let told = ''
  for (const path of [...paths, '/v1/sessions', '/v1/sessions?kind=webhook', '/v1/webhooks', '/v1/usage', '/metrics']) {
    const answer = await send('GET', path, undefined, { accept: 'application/json' })
    if (path.includes(stored)) expect([path, answer.status >= 400]).toEqual([path, true])
    told += JSON.stringify(answer.body)
  }
  for (const [method, path, body] of [
    ['POST', '/v1/sessions', { id: stored }],
    ['POST', '/v1/sessions/a/fork', { id: stored }],
    ['POST', `/v1/sessions/${stored}/fork`, { id: 'copy' }],
    ['POST', `/v1/sessions/${stored}/messages`, { content: 'Hi' }],
    ['DELETE', `/v1/sessions/${stored}`, undefined],
  ] as const) {
    const answer = await send(method, path, body)
    expect([path, answer.status]).toEqual([path, 400])
    told += JSON.stringify(answer.body)
  }
  for (const { message, stack } of errors) told += message + stack
  expect(told).not.toContain(secret)
  expect(told).not.toContain(secret.slice('whsec_'.length))
  expect((await send('GET', '/v1/usage')).body.total.sessions).toBe(1)
  expect(JSON.stringify(receiver.received)).not.toContain(secret)
})
