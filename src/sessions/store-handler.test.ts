import { describe, expect, test } from 'vitest'
import { StoreError } from '../core/errors.ts'
import { write } from '../testing/store-contract-kit.ts'
import { createMemoryStore } from './memory-store.ts'
import type { StoreAccess } from './remote/access.ts'
import { createStoreHandler, type StoreHandlerOptions } from './store-handler.ts'

const token = 'tok-5f2c9d-very-secret'
const entry = (seq: number, more: object = {}) => ({ seq, id: `e${seq}`, at: 1, type: 'label', text: 'x', ...more })

interface Asking {
  readonly method?: string
  readonly body?: unknown
  readonly headers?: Record<string, string>
}

interface Said {
  readonly sessions?: readonly { id: string }[]
  readonly entries?: readonly unknown[]
  readonly inbox?: readonly unknown[]
  readonly error?: { readonly code: string }
}

function serving(options: Partial<StoreHandlerOptions> = {}) {
  const store = options.store ?? createMemoryStore()
  const handler = createStoreHandler({ token, ...options, store })
  async function ask(path: string, { method = 'GET', body: given, headers = {} }: Asking = {}) {
    const response = await handler(
      new Request(`http://here.test${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(given !== undefined && { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(given !== undefined && {
          body: typeof given === 'string' || given instanceof Uint8Array ? (given as string) : JSON.stringify(given),
        }),
      }),
    )
    const isJson = response.headers.get('content-type') === 'application/json'
    const body = isJson ? ((await response.json()) as Said) : {}
    return { status: response.status, headers: response.headers, body }
  }
  return { store, handler, ask }
}

const lease = { method: 'POST', body: { protocol: 2, owner: 'ann', ttlMs: 60_000, create: true } }
const append = (entries: unknown, fence = '"1/0"', more: object = {}): Asking => ({
  method: 'POST',
  body: { protocol: 2, entries, ...more },
  headers: { 'if-match': fence },
})

describe('who gets in', () => {
  test('a handler without a token and without authorize is not made', () => {
    const store = createMemoryStore()
    expect(() => createStoreHandler({ store })).toThrow(/needs a token, or an authorize function/)
    for (const bad of ['', 'with space', 'line\nbreak', 7])
      expect(() => createStoreHandler({ store, token: bad as string })).toThrow(/token must be/)
    expect(() => createStoreHandler({ store, authorize: true as never })).toThrow(/authorize must be/)
    expect(() => createStoreHandler({ store: {} as never, token })).toThrow(/needs a SessionStore/)
  })

  test.each([
    undefined,
    '',
    'Bearer',
    'Bearer ',
    `Basic ${token}`,
    token,
    'Bearer wrong',
    `Bearer ${token}x`,
    `Bearer ${token} x`,
    `Bearer ${token},${token}`,
  ])('the header %j is refused, on every route alike', async (authorization) => {
    const { handler, store } = serving()
    for (const path of ['/sessions', '/sessions/s/entries', '/nowhere', '/identity']) {
      const request = new Request(`http://here.test${path}`, authorization ? { headers: { authorization } } : {})
      const response = await handler(request)
      expect(response.status).toBe(401)
      expect(response.headers.get('www-authenticate')).toBe('Bearer')
      expect(await response.text()).not.toContain(token)
    }
    expect(await store.list()).toEqual({ sessions: [] })
  })

  test('authorize is asked about every session that a request touches, and only true is yes', async () => {
    const asked: StoreAccess[] = []
    const { ask, store } = serving({
      authorize: (_, access) => {
        asked.push(access)
        return access.sessionId === undefined || access.sessionId.startsWith('mine')
      },
    })
    for (const id of ['mine-1', 'mine-2', 'theirs']) await write(store, id, 1)
    expect((await ask('/sessions')).body.sessions?.map(({ id }) => id)).toEqual(['mine-2', 'mine-1'])
    const refused = await ask('/sessions/theirs/entries')
    expect(refused).toMatchObject({ status: 403, body: { protocol: 2, error: { code: 'denied' } } })
    await ask('/sessions/mine/lease', lease)
    for (const family of [{ holder: 'theirs' }, { parent: 'theirs' }])
      expect((await ask('/sessions/mine/entries', append([entry(1)], '"4/0"', family))).status).toBe(403)
    expect((await ask('/sessions/mine/entries', append([entry(1)], '"4/0"'))).status).toBe(200)
    expect(asked).toContainEqual({ method: 'append', sessionId: 'mine' })
    expect(asked).toContainEqual({ method: 'lease', sessionId: 'mine' })
    const vague = serving({ authorize: (() => 'yes') as never })
    expect((await vague.ask('/sessions')).status).toBe(403)
  })

  test('a failing authorize refuses the request and is reported', async () => {
    const errors: unknown[] = []
    const failure = new Error('directory down')
    const { ask } = serving({ authorize: () => Promise.reject(failure), onError: (error) => errors.push(error) })
    const { status, body } = await ask('/sessions')
    expect({ status, code: body.error?.code }).toEqual({ status: 500, code: 'internal' })
    expect(JSON.stringify(body)).not.toContain('directory')
    expect(errors).toEqual([failure])
  })
})

describe('what is asked wrongly', () => {
  const cases: Record<string, [path: string, asking: Asking, status: number, code: string]> = {
    'no route': ['/', {}, 404, 'no_route'],
    'another route': ['/sessions/s/nothing', {}, 404, 'no_route'],
    'a route that every object has': ['/sessions/s/constructor', {}, 404, 'no_route'],
    'a longer path': ['/sessions/s/blobs/a/b', {}, 404, 'no_route'],
    'a name where none belongs': ['/sessions/s/entries/a', {}, 404, 'no_route'],
    'a session elsewhere': ['/others/s/entries', {}, 404, 'no_route'],
    'another method': ['/sessions/s/entries', { method: 'PATCH' }, 405, 'no_method'],
    'a method of another route': ['/sessions', { method: 'DELETE' }, 405, 'no_method'],
    'a path that is no UTF-8': ['/sessions/%ff/entries', {}, 400, 'bad_request'],
    'after that is no number': ['/sessions/s/entries?after=x', {}, 400, 'bad_request'],
    'after that is negative': ['/sessions/s/watch?after=-1', {}, 400, 'bad_request'],
    'no query': ['/sessions?query=x', {}, 400, 'bad_request'],
    'a query of nothing': ['/sessions?query=%7B%22limit%22%3A0%7D', {}, 400, 'bad_request'],
    'a limit that is no number': ['/sessions/s/entries?limit=', {}, 400, 'bad_request'],
    'an end that is no truth': ['/sessions/s/entries?limit=1&fromEnd=yes', {}, 400, 'bad_request'],
    'a session that is not there': ['/sessions/s', {}, 404, 'no_session'],
    'a path of JSON that is none': ['/sessions/~!x', {}, 400, 'bad_request'],
    'no JSON': ['/sessions/s/lease', { method: 'POST', body: '{"protocol":2,' }, 400, 'bad_request'],
    'no object': ['/sessions/s/lease', { method: 'POST', body: '[]' }, 400, 'bad_request'],
    'no UTF-8': ['/sessions/s/lease', { method: 'POST', body: Uint8Array.of(0x22, 0xff) }, 400, 'bad_request'],
    'no protocol': ['/sessions/s/lease', { method: 'POST', body: { owner: 'a', ttlMs: 1 } }, 400, 'bad_request'],
    'a newer protocol': ['/sessions/s/lease', { ...lease, body: { ...lease.body, protocol: 3 } }, 400, 'bad_request'],
    'a form': ['/sessions/s/lease', { ...lease, headers: { 'content-type': 'text/plain' } }, 415, 'bad_request'],
    'no owner': ['/sessions/s/lease', { method: 'POST', body: { protocol: 2, ttlMs: 1 } }, 400, 'bad_request'],
    'no time': ['/sessions/s/lease', { method: 'POST', body: { protocol: 2, owner: 'a' } }, 400, 'bad_request'],
    'a negative time': [
      '/sessions/s/lease',
      { method: 'POST', body: { protocol: 2, owner: 'a', ttlMs: -1 } },
      400,
      'bad_request',
    ],
    'a time without end': [
      '/sessions/s/lease',
      { method: 'POST', body: '{"protocol":2,"owner":"a","ttlMs":1e999}' },
      400,
      'bad_request',
    ],
    'a lease that is taken and renewed': [
      '/sessions/s/lease',
      { ...lease, body: { ...lease.body, epoch: 1 } },
      400,
      'bad_request',
    ],
    'a renewal without an epoch': ['/sessions/s/lease', { ...lease, method: 'PUT' }, 400, 'bad_request'],
    'no fence': ['/sessions/s/entries', { ...append([entry(1)]), headers: {} }, 428, 'bad_request'],
    'a fence that is none': ['/sessions/s/entries', append([entry(1)], '"1"'), 428, 'bad_request'],
    'any fence': ['/sessions/s/entries', append([entry(1)], '*'), 428, 'bad_request'],
    'no entries': ['/sessions/s/entries', append(undefined), 400, 'bad_request'],
    'entries that do not follow the head': ['/sessions/s/entries', append([entry(2)]), 400, 'bad_request'],
    'entries with a gap': ['/sessions/s/entries', append([entry(1), entry(3)]), 400, 'bad_request'],
    'an entry that is none': ['/sessions/s/entries', append(['x']), 400, 'bad_request'],
    'an entry without an id': ['/sessions/s/entries', append([entry(1, { id: 1 })]), 400, 'bad_request'],
    'an entry without a type': ['/sessions/s/entries', append([entry(1, { type: null })]), 400, 'bad_request'],
    'an entry without a time': ['/sessions/s/entries', append([entry(1, { at: '1' })]), 400, 'bad_request'],
    'an entry of no time that JSON knows': [
      '/sessions/s/entries',
      { ...append([]), body: '{"protocol":2,"entries":[{"seq":1,"id":"a","type":"x","at":1e999}]}' },
      400,
      'bad_request',
    ],
    'a parent that is no id': ['/sessions/s/entries', append([entry(1)], '"1/0"', { parent: 7 }), 400, 'bad_request'],
    'a message that is none': ['/sessions/s/inbox', { method: 'POST', body: { protocol: 2 } }, 400, 'bad_request'],
    'a blob under a wrong name': ['/sessions/s/blobs/abc', { method: 'PUT', body: 'bytes' }, 400, 'bad_request'],
    'a blob that is not there': ['/sessions/s/blobs/abc', {}, 404, 'no_blob'],
    'too much': ['/sessions/s/blobs/abc', { method: 'PUT', body: 'x'.repeat(5000) }, 413, 'too_large'],
  }

  test.each(Object.entries(cases))('%s', async (_, [path, asking, status, code]) => {
    const { ask, store } = serving({ maxBytes: 4000 })
    const answer = await ask(path, asking)
    expect(answer).toMatchObject({ status, body: { protocol: 2, error: { code, message: expect.any(String) } } })
    expect(await store.list()).toEqual({ sessions: [] })
  })

  test('an entry that no stack can walk', async () => {
    const { ask, store } = serving()
    await ask('/sessions/s/lease', lease)
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
    const body = `{"protocol":2,"entries":[{"seq":1,"id":"a","at":1,"type":"x","deep":${deep}}]}`
    expect((await ask('/sessions/s/entries', { ...append([]), body })).status).toBe(400)
    expect(await store.read('s')).toEqual([])
  })

  test('a method that is not there is answered with those that are', async () => {
    const { headers } = await serving().ask('/sessions/s/lease', { method: 'PATCH' })
    expect(headers.get('allow')).toBe('POST, PUT, DELETE')
  })

  test('a body without an announced length is read no further than it may be', async () => {
    let taken = 0
    const pull = (controller: ReadableStreamDefaultController): void => {
      taken += 1000
      controller.enqueue(new Uint8Array(1000))
    }
    const init = {
      method: 'PUT',
      body: new ReadableStream({ pull }),
      duplex: 'half',
      headers: { authorization: `Bearer ${token}` },
    }
    const { handler } = serving({ maxBytes: 10_000 })
    const response = await handler(new Request('http://here.test/sessions/s/blobs/a', init as RequestInit))
    expect(response.status).toBe(413)
    expect(taken).toBeLessThan(20_000)
  })
})

describe('what is answered', () => {
  test('a lease that is held: 423 with the owner and since when', async () => {
    const { ask } = serving()
    await ask('/sessions/s/lease', lease)
    const other = { ...lease, body: { ...lease.body, owner: 'bob' } }
    expect(await ask('/sessions/s/lease', other)).toMatchObject({
      status: 423,
      body: { error: { code: 'session_busy', owner: 'ann', since: expect.any(Number) } },
    })
  })

  test('a head that moved: 409, a lease that is lost: 412, with the owner', async () => {
    const { ask } = serving()
    await ask('/sessions/s/lease', lease)
    const first = await ask('/sessions/s/entries', append([entry(1)]))
    expect(first).toMatchObject({ status: 200, body: { protocol: 2, session: 's', head: 1 } })
    expect(await ask('/sessions/s/entries', append([entry(1)]))).toMatchObject({ status: 200, body: { head: 1 } })
    const moved = await ask('/sessions/s/entries', append([entry(1, { id: 'other' })]))
    expect(moved).toMatchObject({ status: 409, body: { error: { code: 'head_moved', head: 1 } } })
    const ahead = await ask('/sessions/s/entries', append([entry(6)], '"1/5"'))
    expect(ahead).toMatchObject({ status: 409, body: { error: { code: 'head_moved' } } })
    await ask('/sessions/s/lease', { ...lease, body: { ...lease.body, owner: 'bob', takeOver: true } })
    const lost = await ask('/sessions/s/entries', append([entry(2)], '"1/1"'))
    expect(lost).toMatchObject({ status: 412, body: { error: { code: 'lease_lost', owner: 'bob' } } })
  })

  test.each([
    ['full', 507],
    ['busy', 503],
    ['unavailable', 503],
    ['corrupt', 500],
    ['denied', 502],
  ] as const)('a store that fails with %s: %d', async (code, status) => {
    const read = () => Promise.reject(new StoreError(code, 'in its own words'))
    const { ask } = serving({ store: { ...createMemoryStore(), read } })
    const error = { code: `store_${code}`, message: 'in its own words' }
    expect(await ask('/sessions/s/entries')).toMatchObject({ status, body: { protocol: 2, error } })
  })

  test('a store that fails otherwise: 500, in no words but ours, and the host is told', async () => {
    const errors: unknown[] = []
    const read = () => Promise.reject(new Error('password hunter2 is wrong'))
    const onError = (error: unknown): void => {
      errors.push(error)
      throw new Error('a listener that fails')
    }
    const { ask } = serving({ store: { ...createMemoryStore(), read }, onError })
    const { status, body } = await ask('/sessions/s/entries')
    expect({ status, body: JSON.stringify(body) }).toEqual({
      status: 500,
      body: expect.not.stringContaining('hunter2'),
    })
    expect(errors).toHaveLength(1)
  })

  test('a listener that fails later does no harm either', async () => {
    const unhandled: unknown[] = []
    const note = (error: unknown): void => void unhandled.push(error)
    process.on('unhandledRejection', note)
    const read = () => Promise.reject(new Error('broken'))
    const { ask } = serving({
      store: { ...createMemoryStore(), read },
      onError: () => Promise.reject(new Error('late')),
    })
    expect((await ask('/sessions/s/entries')).status).toBe(500)
    await new Promise((resolve) => setImmediate(resolve))
    process.off('unhandledRejection', note)
    expect(unhandled).toEqual([])
  })

  test('a client that disconnected gets no lease, because it may have asked again and have one', async () => {
    let go: (isAllowed: boolean) => void = () => {}
    const late = new Promise<boolean>((resolve) => (go = resolve))
    const { handler, ask, store } = serving({ authorize: (request) => (request.headers.has('x-late') ? late : true) })
    const gone = new AbortController()
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'x-late': '1' }
    const init = { method: 'POST', headers, body: JSON.stringify(lease.body), signal: gone.signal }
    const first = handler(new Request('http://here.test/sessions/s/lease', init))
    gone.abort()
    expect(await ask('/sessions/s/lease', lease)).toMatchObject({ status: 200, body: { epoch: 1 } })
    go(true)
    await first
    await store.append('s', [entry(1) as never], { epoch: 1, head: 0 })
    expect(await store.read('s')).toHaveLength(1)
  })

  test('entries and messages that are too much for one answer come one after the other', async () => {
    const { ask, store } = serving()
    const text = 'x'.repeat(5_000_000)
    const { epoch } = await store.lease('s', { owner: 'ann', ttlMs: 60_000, create: true })
    await store.append('s', [entry(1, { text }) as never], { epoch, head: 0 })
    await store.send('s', { clientKey: 'k', mode: 'steer', content: [{ type: 'text', text }] })
    const first = (await ask('/sessions/s/watch?after=0')).body
    expect([first.entries?.length, first.inbox?.length]).toEqual([1, 0])
    const second = (await ask('/sessions/s/watch?after=1')).body
    expect([second.entries?.length, second.inbox?.length]).toEqual([0, 1])
  })

  test('nothing may be kept by a cache', async () => {
    expect((await serving().ask('/sessions')).headers.get('cache-control')).toBe('no-store')
  })

  test.each(['/', '/store', 'store/', '/a/b/'])('under the base path %s and nowhere else', async (basePath) => {
    const { ask } = serving({ basePath })
    const base = `/${basePath}`.replace(/\/+/g, '/').replace(/\/$/, '')
    expect((await ask(`${base}/sessions`)).status).toBe(200)
    expect((await ask('/other/sessions')).status).toBe(404)
    if (base) expect((await ask('/sessions')).status).toBe(404)
    if (base) expect((await ask(`${base}x/sessions`)).status).toBe(404)
  })
})
