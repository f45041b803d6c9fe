import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { JsonSchema } from '../../src/server/route.ts'
import { allRoutes } from '../../src/server/routes/all-routes.ts'
import { call, scripted } from '../../src/testing/index.ts'
import { rounds } from '../soak.ts'
import { startServer, tool, until } from './server-kit.ts'

async function twoTenants() {
  const started = await startServer({
    provider: () => scripted([call('c1', 'publish', { to: 'npm' })], 'ok', 'ok', 'ok'),
    tools: { publish: tool('publish', { gated: true, effects: [{ kind: 'fs.write', path: '/tmp/x' }] as never }) },
    trustsAllUsers: true,
    limits: { messagesPerMinute: 1_000_000, streams: 1_000_000 },
    auth: {
      verify: ({ headers }) => {
        const tenant = headers.get('x-tenant')
        return tenant === null ? undefined : { user: `user-of-${tenant}`, tenant }
      },
    },
  })
  for (const tenant of ['acme', 'beta'])
    for (const id of ['one', 'two', 'same'])
      await started.send(
        'POST',
        '/v1/sessions',
        { id, title: `canary-${tenant}`, tags: [`canary-${tenant}`], message: `canary-${tenant}` },
        { 'x-tenant': tenant },
      )
  const ids = ['acme', 'beta'].flatMap((tenant) => ['one', 'two', 'same'].map((id) => `${tenant}.${id}`))
  await until(async () =>
    (await Promise.all(ids.map((id) => started.store.find(id)))).every(
      (one) => one!.status === 'waiting' && !one!.isHeld,
    ),
  )
  for (const id of ids) await started.store.blobs(id).put(new TextEncoder().encode(`canary-${id}`))
  return started
}

test('SV87 tenants have names of their own: each sees its session of the same name, and only its own list', async () => {
  const { send } = await twoTenants()
  for (const tenant of ['acme', 'beta']) {
    const own = { 'x-tenant': tenant }
    expect((await send('GET', '/v1/sessions/same', undefined, own)).body).toMatchObject({
      id: 'same',
      title: `canary-${tenant}`,
    })
    const listed = await send('GET', '/v1/sessions', undefined, own)
    expect(listed.body.sessions.map(({ id }: { id: string }) => id).sort()).toEqual(['one', 'same', 'two'])
    expect(listed.body.sessions[0].tenant).toBeUndefined()
    const pending = await send('GET', '/v1/pending', undefined, own)
    expect(pending.body.pending).toHaveLength(3)
    expect(JSON.stringify(pending.body)).not.toContain(tenant === 'acme' ? 'beta' : 'acme')
    expect((await send('GET', '/v1/usage', undefined, own)).body.total.sessions).toBe(3)
  }
  const foreign = await send('GET', '/v1/sessions/beta.one', undefined, { 'x-tenant': 'acme' })
  const none = await send('GET', '/v1/sessions/gamma.one', undefined, { 'x-tenant': 'acme' })
  expect([foreign.status, foreign.body.code]).toEqual([none.status, none.body.code])
})

test.for(['acme.one', 'libero', ''])(
  'SV87 a tenant %j is refused: no tenant begins like another, or like what the server keeps',
  async (tenant) => {
    const { send, errors } = await startServer({
      provider: () => scripted('x'),
      auth: { verify: () => ({ user: 'u', tenant }) },
    })
    expect((await send('GET', '/v1/sessions')).status).toBe(500)
    expect(errors[0]!.message).toMatch(/a tenant has letters, digits/)
  },
)

test('SV94 whatever is requested, there is no internal error, no byte of another tenant, and nothing of it changes', {
  timeout: 600_000,
}, async () => {
  const { server, store, errors } = await twoTenants()
  const before = JSON.stringify(await Promise.all(['one', 'two', 'same'].map((id) => store.read(`beta.${id}`))))
  const blob = (await store.blobs('beta.one').names())[0]!
  const names = [
    'one',
    'two',
    'same',
    'beta.one',
    'acme.one',
    '../beta.one',
    '..%2fbeta.one',
    'one/../../beta.one',
    'BETA.one',
  ]
  const name = fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom('one', 'beta.one', ...names, blob, 'c1') },
    { weight: 1, arbitrary: fc.constantFrom('beta.one/c1', '', '%', 'one\u0000') },
    { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }) },
  )
  const wild = fc.oneof(fc.jsonValue(), name)
  /** Mostly a value that fits the schema. */
  const fitting = (schema: JsonSchema): fc.Arbitrary<unknown> => {
    if (Array.isArray(schema.enum)) return fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...schema.enum) }, wild)
    if (schema.type === 'integer') return fc.oneof({ weight: 8, arbitrary: fc.integer({ min: 0, max: 9 }) }, wild)
    if (schema.type === 'boolean') return fc.oneof({ weight: 8, arbitrary: fc.boolean() }, wild)
    if (schema.type === 'array') return fc.oneof({ weight: 8, arbitrary: fc.array(name, { maxLength: 2 }) }, wild)
    return fc.oneof({ weight: 8, arbitrary: name }, wild)
  }
  const some = (schemas: Readonly<Record<string, JsonSchema>>): fc.Arbitrary<Record<string, unknown>> =>
    fc.record(Object.fromEntries(Object.entries(schemas).map(([key, schema]) => [key, fitting(schema)])), {
      requiredKeys: [],
    })
  const headerValue = fc.constantFrom('application/json', 'text/event-stream', '5', 'wait=0', '"3"', 'x y')
  const request = fc.constantFrom(...allRoutes).chain((route) =>
    fc.record({
      path: fc.constant(route.path),
      method: fc.oneof(
        { weight: 9, arbitrary: fc.constant(route.method) },
        fc.constantFrom('GET', 'POST', 'DELETE', 'OPTIONS'),
      ),
      params: fc.array(name, { minLength: 3, maxLength: 3 }),
      query: fc.oneof(
        { weight: 4, arbitrary: some(route.query ?? {}) },
        fc.dictionary(fc.string({ maxLength: 5 }), wild, { maxKeys: 2 }),
      ),
      body: fc.oneof(
        {
          weight: 6,
          arbitrary: some((route.body?.properties as Record<string, JsonSchema>) ?? {}).map((one) =>
            JSON.stringify(one),
          ),
        },
        fc.string({ maxLength: 60 }),
      ),
      type: fc.constantFrom('application/json', 'application/json', route.rawBody ?? 'text/plain'),
      headers: fc.dictionary(
        fc.constantFrom('accept', 'last-event-id', 'idempotency-key', 'prefer', 'if-none-match', 'range'),
        headerValue,
        { maxKeys: 1 },
      ),
      isEncoded: fc.boolean(),
    }),
  )
  const counts = new Map<number, number>()
  await fc.assert(
    fc.asyncProperty(request, async ({ path, method, params, query, body, type, headers, isEncoded }) => {
      let i = 0
      const filled = path.replace(/\{\w+\}/g, () =>
        isEncoded ? encodeURIComponent(params[i++ % 3]!.toWellFormed()) : params[i++ % 3]!,
      )
      const search = new URLSearchParams(
        Object.entries(query).map(([key, one]): [string, string] => [
          key,
          typeof one === 'string' ? one : JSON.stringify(one),
        ]),
      )
      let made: Request
      try {
        made = new Request(new URL(`${filled}?${search}`, 'http://127.0.0.1'), {
          method,
          headers: { ...headers, 'x-tenant': 'acme', 'content-type': type },
          ...(method !== 'GET' && { body }),
        })
      } catch {
        return // no client could send it
      }
      const response = await server.fetch(made)
      counts.set(response.status, (counts.get(response.status) ?? 0) + 1)
      const text = await firstOf(response)
      expect(response.status, `${method} ${filled} ${text}`).not.toBe(500)
      expect(text.replaceAll(JSON.stringify(body).slice(1, -1), ''), `${method} ${filled}`).not.toMatch(
        /canary-beta|user-of-beta/,
      )
      expect(JSON.stringify([...response.headers])).not.toContain('canary-beta')
    }),
    { numRuns: rounds(800, 10_000) },
  )
  expect([...counts.keys()]).toEqual(expect.arrayContaining([200, 400, 404]))
  expect(errors.map(({ message }) => message)).toEqual([])
  expect(JSON.stringify(await Promise.all(['one', 'two', 'same'].map((id) => store.read(`beta.${id}`))))).toBe(before)
})

/** The text of a response; of a stream only what comes first. */
async function firstOf(response: Response): Promise<string> {
  if (response.headers.get('content-type') !== 'text/event-stream') return response.text()
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (let i = 0; i < 3; i++) {
    const { value, done } = await Promise.race([
      reader.read(),
      new Promise<{ value: string; done: boolean }>((resolve) =>
        setTimeout(() => resolve({ value: '', done: true }), 5),
      ),
    ])
    text += value ?? ''
    if (done) break
  }
  await reader.cancel()
  return text
}
