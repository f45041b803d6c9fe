import fc from 'fast-check'
import { expect, test } from 'vitest'
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

test('SV12 tenants have names of their own: each sees its session of the same name, and only its own list', async () => {
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

test('SV12 a tenant whose name has a dot is refused, so that no tenant can begin like another', async () => {
  const { send, errors } = await startServer({
    provider: () => scripted('x'),
    auth: { verify: () => ({ user: 'u', tenant: 'acme.one' }) },
  })
  expect((await send('GET', '/v1/sessions')).status).toBe(500)
  expect(errors[0]!.message).toMatch(/a tenant has letters, digits/)
})

test('SV19 whatever is requested, there is no internal error, no byte of another tenant, and nothing of it changes', {
  timeout: 600_000,
}, async () => {
  const { server, store, errors } = await twoTenants()
  const before = JSON.stringify(await Promise.all(['one', 'two', 'same'].map((id) => store.read(`beta.${id}`))))
  const blob = (await store.blobs('beta.one').names())[0]!
  const name = fc.oneof(
    fc.constantFrom(
      'one',
      'same',
      'beta.one',
      'acme.one',
      '../beta.one',
      '..%2fbeta.one',
      'one/../../beta.one',
      'BETA.one',
      'beta.one/c1',
      '',
      '%',
      'one\u0000',
      blob,
      'c1',
    ),
    fc.string({ maxLength: 40 }),
    fc.string({ unit: 'binary', maxLength: 20 }),
  )
  const value = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom('allow', 'deny', 'prompt', 1, 2, -1, 'canary', 'beta', 'beta.one'),
    name,
  )
  const keys = [
    'id',
    'content',
    'message',
    'mode',
    'at',
    'to',
    'text',
    'title',
    'tags',
    'kind',
    'folder',
    'decision',
    'digest',
    'scope',
    'tenant',
    'input',
    'tool',
    'url',
    'events',
    'messages',
    'model',
  ]
  const request = fc.record({
    method: fc.oneof(
      { weight: 6, arbitrary: fc.constant('route') },
      { weight: 1, arbitrary: fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS') },
    ),
    route: fc.integer({ min: 0, max: allRoutes.length - 1 }),
    params: fc.array(name, { minLength: 3, maxLength: 3 }),
    query: fc.dictionary(
      fc.constantFrom(
        'limit',
        'after',
        'before',
        'cursor',
        'parent',
        'state',
        'tag',
        'session',
        'types',
        'children',
        'deltas',
        'fromEnd',
        'id',
        'by',
        'x',
      ),
      value,
      { maxKeys: 3 },
    ),
    body: fc.oneof(
      fc.dictionary(fc.constantFrom(...keys), value, { maxKeys: 4 }).map((one) => JSON.stringify(one)),
      fc.string({ maxLength: 60 }),
    ),
    type: fc.constantFrom('application/json', 'application/jsonl', 'text/plain'),
    headers: fc.dictionary(
      fc.constantFrom('accept', 'last-event-id', 'idempotency-key', 'prefer', 'if-none-match', 'origin', 'range'),
      fc.constantFrom('application/json', '5', 'wait=0', '"3"', 'x y', 'null'),
      { maxKeys: 2 },
    ),
    isEncoded: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(request, async ({ method, route, params, query, body, type, headers, isEncoded }) => {
      const { path, method: own } = allRoutes[route]!
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
      const used = method === 'route' ? own : method
      let made: Request
      try {
        made = new Request(new URL(`${filled}?${search}`, 'http://127.0.0.1'), {
          method: used,
          headers: { ...headers, 'x-tenant': 'acme', 'content-type': type },
          ...(used !== 'GET' && { body }),
        })
      } catch {
        return // no client could send it
      }
      const response = await server.fetch(made)
      const text = await firstOf(response)
      expect(response.status, `${used} ${filled} ${text}`).not.toBe(500)
      expect(text.replaceAll(JSON.stringify(body).slice(1, -1), ''), `${used} ${filled}`).not.toMatch(
        /canary-beta|user-of-beta/,
      )
      expect(JSON.stringify([...response.headers])).not.toContain('canary-beta')
    }),
    { numRuns: rounds(800, 10_000) },
  )
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
