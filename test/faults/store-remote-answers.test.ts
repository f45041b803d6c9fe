import { describe, expect, test } from 'vitest'
import { StoreError } from '../../src/core/errors.ts'
import type { SessionStore } from '../../src/core/store.ts'
import { createRemoteStore } from '../../src/sessions/remote-store.ts'
import { socketFetch } from '../store-server.ts'
import { failureOf, json, label, openTo, remoteWorld, token } from './store-remote-kit.ts'

const ok = (fields: Record<string, unknown>): Response => json({ protocol: 2, session: 's', ...fields })
const text = (body: string, type: string, status = 200): Response =>
  new Response(body, { status, headers: { 'content-type': type } })
const summary = (id: string): object => ({
  ...{ id, head: 1, tags: [], status: 'idle', createdAt: 0, updatedAt: 0 },
  ...{ turns: 0, calls: 0, tokens: 0, cost: 0, bytes: 0 },
})
const problem = (status: number, error: unknown): Response => json({ protocol: 2, error }, status)

/** A body without an end, which counts what is taken of it. */
function endless(type: string): { response: () => Response; taken: () => number; isLeft: () => boolean } {
  let taken = 0
  let isLeft = false
  const pull = (controller: ReadableStreamDefaultController): void => {
    taken += 65_536
    controller.enqueue(new Uint8Array(65_536).fill(32))
  }
  const stream = (): ReadableStream => new ReadableStream({ pull, cancel: () => void (isLeft = true) })
  return {
    response: () => new Response(stream(), { headers: { 'content-type': type } }),
    taken: () => taken,
    isLeft: () => isLeft,
  }
}

describe('FD-30 an answer that is not what it should be', () => {
  const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`
  const reads: Record<string, [answer: () => Response, code: string, says: RegExp]> = {
    'a web page': [() => text('<html><h1>Welcome</h1>', 'text/html'), 'unavailable', /Welcome/],
    'a web page that says it is JSON': [() => json('<html>hi</html>'), 'unavailable', /<html>hi/],
    'JSON that says it is a web page': [
      () => text('{"protocol":2,"session":"s","entries":[]}', 'text/html'),
      'unavailable',
      /text\/html/,
    ],
    'truncated JSON': [() => json('{"protocol":2,"session":"s","entries":[{"seq":1'), 'unavailable', /"seq":1/],
    nothing: [() => json(''), 'unavailable', /with nothing/],
    'no body at all': [() => new Response(null, { status: 200 }), 'unavailable', /with nothing/],
    'a 204': [() => new Response(null, { status: 204 }), 'unavailable', /204/],
    'bytes that are no UTF-8': [
      () => new Response(Uint8Array.of(0x22, 0xff, 0x22), { headers: { 'content-type': 'application/json' } }),
      'unavailable',
      /not the answer/,
    ],
    'bytes where words were expected': [() => text('abc', 'application/octet-stream'), 'corrupt', /bytes/],
    null: [() => json('null'), 'unavailable', /null/],
    'a list': [() => json([1]), 'unavailable', /not the answer/],
    'no protocol': [() => json({ session: 's', entries: [] }), 'unavailable', /not the answer/],
    'a protocol that is no version': [() => ok({ protocol: '1' }), 'unavailable', /not the answer/],
    'a newer protocol': [() => ok({ protocol: 3, entries: [] }), 'newer', /version 3.*update libero here/],
    'a problem of a newer protocol': [() => json({ protocol: 3, error: {} }, 400), 'newer', /version 3/],
    'an older protocol': [() => ok({ protocol: 1, entries: [] }), 'unavailable', /version 1.*update libero there/],
    'no session': [() => json({ protocol: 2, entries: [] }), 'corrupt', /another session/],
    'another session': [() => ok({ session: 't', entries: [] }), 'corrupt', /another session/],
    'no entries': [() => ok({}), 'corrupt', /not a list/],
    'entries that are no list': [() => ok({ entries: { 0: label(1) } }), 'corrupt', /not a list/],
    'an entry that is none': [() => ok({ entries: [null] }), 'corrupt', /not an object/],
    'entries that begin too late': [() => ok({ entries: [label(2)] }), 'corrupt', /number that is 2/],
    'entries with a gap': [() => ok({ entries: [label(1), label(3)] }), 'corrupt', /entry 2 has a number that is 3/],
    'an entry twice': [() => ok({ entries: [label(1), label(1)] }), 'corrupt', /entry 2 has a number that is 1/],
    'a number that is text': [
      () => ok({ entries: [{ ...label(1), seq: '1' }] }),
      'corrupt',
      /number that is of type string/,
    ],
    'an entry without an id': [() => ok({ entries: [{ seq: 1, at: 1, type: 'label' }] }), 'corrupt', /no id/],
    'an entry without a type': [() => ok({ entries: [{ seq: 1, at: 1, id: 'x' }] }), 'corrupt', /no type/],
    'an entry without a time': [() => ok({ entries: [{ seq: 1, id: 'x', type: 'label' }] }), 'corrupt', /no time/],
    'an entry that no stack can walk': [
      () =>
        json(`{"protocol":2,"session":"s","entries":[{"seq":1,"id":"x","at":1,"type":"y","z":${nested(100_000)}}]}`),
      'corrupt',
      /too deeply/,
    ],
    'a page that leads to itself': [() => ok({ entries: [], next: 0 }), 'corrupt', /followed by/],
    'a page that leads elsewhere': [() => ok({ entries: [label(1)], next: 7 }), 'corrupt', /followed by 7/],
    'a problem without an envelope': [() => text('Not here', 'text/plain', 404), 'unavailable', /404.*Not here/],
    'a conflict without an envelope': [() => json({}, 409), 'unavailable', /409/],
    'a problem of no known kind': [() => problem(418, { code: 'teapot', message: 'short' }), 'unavailable', /teapot/],
    'a route that is not there': [() => problem(404, { code: 'no_route', message: 'none' }), 'unavailable', /no_route/],
    'control characters': [() => text('\u001b[31mred\u0007\n\n\nalert', 'text/plain'), 'unavailable', /\[31mred alert/],
  }

  test.each(Object.entries(reads))('%s', async (_, [answer, code, says]) => {
    const error = await failureOf(openTo(answer).read('s'))
    expect(error).toBeInstanceOf(StoreError)
    expect({ code: error.code, message: error.message }).toEqual({ code, message: expect.stringMatching(says) })
    expect(error.message).toMatch(/https:\/\/store\.test(?!\/)/)
    expect(error.message.length).toBeLessThan(600)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what must not be there
    expect(error.message).not.toMatch(/[\u0000-\u001f]/)
  })

  const others: Record<string, [ask: (store: SessionStore) => Promise<unknown>, answer: () => Response]> = {
    'an append that is confirmed with nothing': [append, () => ok({})],
    'an append that is confirmed at another head': [append, () => ok({ head: 9 })],
    'a lease without an epoch': [lease, () => ok({ head: 0, inbox: [] })],
    'a lease with half an epoch': [lease, () => ok({ epoch: 0.5, head: 0, inbox: [] })],
    'a lease with an epoch that is text': [lease, () => ok({ epoch: '1', head: 0, inbox: [] })],
    'a lease with a negative head': [lease, () => ok({ epoch: 1, head: -1, inbox: [] })],
    'a lease without an inbox': [lease, () => ok({ epoch: 1, head: 0 })],
    'a lease with a message that is none': [lease, () => ok({ epoch: 1, head: 0, inbox: [{ mode: 'steer' }] })],
    'a lease on another session': [lease, () => ok({ session: 't', epoch: 1, head: 0, inbox: [] })],
    'a list that is none': [(store) => store.list(), () => ok({ sessions: {} })],
    'a list with a session that is none': [(store) => store.list(), () => ok({ sessions: [{ id: 7, head: 0 }] })],
    'a list without an end': [(store) => store.list(), () => ok({ sessions: [], next: 'x' })],
    'a page that follows itself': [
      (store) => store.list({ cursor: '["updated",0,"s"]' }),
      () => ok({ sessions: [summary('s')], next: '["updated",0,"s"]' }),
    ],
    'a summary of another session': [(store) => store.find('s'), () => ok({ summary: summary('t') })],
    'a summary that is none': [(store) => store.find('s'), () => ok({ summary: { id: 's' } })],
    'more entries than were asked for': [
      (store) => store.read('s', { limit: 1 }),
      () => ok({ entries: [label(1), label(2)] }),
    ],
    'entries beyond the range': [
      (store) => store.read('s', { before: 2 }),
      () => ok({ entries: [label(1), label(2)] }),
    ],
    'last entries that are not after': [
      (store) => store.read('s', { after: 5, limit: 1, fromEnd: true }),
      () => ok({ entries: [label(5)] }),
    ],
    'a message that was sent to another session': [
      (store) => store.send('s', { clientKey: 'k', mode: 'steer', content: [] }),
      () => ok({ session: 't' }),
    ],
    'another session that was deleted': [(store) => store.delete('s'), () => ok({ session: 't' })],
    'a blob without a name': [(store) => store.blobs('s').put(Uint8Array.of(1)), () => ok({})],
    'a blob that is words': [(store) => store.blobs('s').get('b'), () => ok({})],
    'a blob without a session': [(store) => store.blobs('s').get('b'), () => text('abc', 'application/octet-stream')],
    'a blob that is damaged': [
      (store) => store.blobs('s').get('b'),
      () =>
        new Response('abc', {
          headers: {
            'content-type': 'application/octet-stream',
            'libero-session': 's',
            'repr-digest': 'sha-256=:AAAA:',
          },
        }),
    ],
  }

  test.each(Object.entries(others))('%s', async (_, [ask, answer]) => {
    expect(await failureOf(ask(openTo(answer)))).toMatchObject({ name: 'StoreError', code: 'corrupt' })
  })

  test('a blob is only missing when the server says so', async () => {
    const missing = openTo(() => problem(404, { code: 'no_blob', message: 'none' }))
    expect(await missing.blobs('s').get('b')).toBe(undefined)
    const elsewhere = openTo(() => text('<h1>404</h1>', 'text/html', 404))
    expect(await failureOf(elsewhere.blobs('s').get('b'))).toMatchObject({ code: 'unavailable' })
  })

  test.each(['application/json', 'application/octet-stream', 'text/html'])(
    '%s without an end is read up to the limit and left',
    async (type) => {
      const { response, taken, isLeft } = endless(type)
      const error = await failureOf(openTo(response, { maxBytes: 500_000 }).read('s'))
      expect(error).toMatchObject({
        code: 'unavailable',
        message: expect.stringMatching(/more than 500000 bytes.*maxBytes/),
      })
      expect(taken()).toBeLessThan(1_000_000)
      expect(isLeft()).toBe(true)
    },
  )

  test('an answer that announces too much is not read at all', async () => {
    const { response, taken } = endless('application/json')
    const store = openTo(() => new Response(response().body, { headers: { 'content-length': '999999999999' } }))
    expect(await failureOf(store.read('s'))).toMatchObject({ code: 'unavailable' })
    expect(taken()).toBeLessThan(200_000)
  })

  test('pages without an end are read up to the limit in total', async () => {
    let pages = 0
    const store = openTo(
      (url) => {
        if (++pages > 50) return json('asked for ever', 418)
        const after = Number(new URL(url).searchParams.get('after'))
        return ok({ entries: [label(after + 1, 'x'.repeat(10_000))], next: after + 1 })
      },
      { maxBytes: 100_000 },
    )
    expect(await failureOf(store.read('s'))).toMatchObject({ code: 'unavailable' })
    expect(pages).toBeLessThan(12)
  })

  test('entries of unknown types, with unknown fields, beside unknown fields are taken as they are', async () => {
    const odd = JSON.parse('{"seq":1,"id":"a","at":0,"type":"later","__proto__":{"x":1},"more":[null]}')
    expect(await openTo(() => ok({ entries: [odd], mood: 'good' })).read('s')).toEqual([odd])
  })
})

describe('tokens', () => {
  test('no token and a wrong token are refused by a typed error that names neither', async () => {
    const { server, inner, open } = await remoteWorld()
    const anonymous = createRemoteStore({ url: server.url, fetch: socketFetch })
    for (const [store, says] of [
      [anonymous, /wants a token/],
      [open({ token: `${token}x` }), /did not accept the token/],
      [open({ token: token.slice(0, -1) }), /did not accept the token/],
      [open({ token: 'wrong-token' }), /did not accept the token/],
    ] as const) {
      const error = await failureOf(store.lease('s', { owner: 'eve', ttlMs: 1000, create: true }))
      expect(error).toMatchObject({ name: 'StoreError', code: 'denied', message: expect.stringMatching(says) })
      expect(`${error.stack} ${String(error.cause)}`).not.toMatch(/tok-5f|wrong-token/)
    }
    expect(await inner.list()).toEqual({ sessions: [] })
    expect(server.asked).toHaveLength(4)
  })

  test('a function gives a new one for each request, and what it throws is not shown', async () => {
    const sent: unknown[] = []
    let n = 0
    const store = openTo(
      (_, { headers }) => {
        sent.push((headers as Record<string, string>).authorization)
        return ok({ entries: [] })
      },
      { token: async () => `fresh-token-${++n}` },
    )
    await store.read('s')
    await store.read('s')
    expect(sent).toEqual(['Bearer fresh-token-1', 'Bearer fresh-token-2'])

    const failing = openTo(() => ok({}), {
      token: () => {
        throw new Error(`cannot renew ${token}`)
      },
    })
    for (const store of [failing, openTo(() => ok({}), { token: async () => `${token}\nx: y` })]) {
      const error = await failureOf(store.read('s'))
      expect(error).toMatchObject({ code: 'denied' })
      expect(`${error.stack} ${String(error.cause)}`).not.toContain(token)
    }
  })

  test('is in no address, and in no error, even of a server that repeats what it was told', async () => {
    const header = 'other-secret-header'
    const urls: string[] = []
    const echo =
      (status: number, type: string) =>
      (url: string, { headers }: RequestInit) => {
        urls.push(url)
        const all = headers as Record<string, string>
        const said = `you said ${all.authorization} and ${all['x-key']}`
        if (type === 'text/html') return text(said, type, status)
        return problem(status, { code: `store_full ${token}`, message: said, owner: said })
      }
    for (const status of [200, 400, 401, 403, 404, 409, 412, 423, 429, 500, 503])
      for (const type of ['text/html', 'application/json']) {
        const store = openTo(echo(status, type), { headers: { 'X-Key': header } })
        for (const work of [() => store.read('s'), () => lease(store)]) {
          const error = await failureOf(work())
          const shown = `${error.stack} ${String(error.cause)} ${JSON.stringify(error)}`
          expect(shown).not.toContain(token)
          expect(shown).not.toContain(header)
        }
      }
    expect(urls.join()).not.toContain(token)
  })

  test('that is an ordinary word does not change what is understood', async () => {
    for (const word of ['t', 'session_busy', 'head_moved', 'lease_lost']) {
      const { open } = await remoteWorld({ token: word })
      const store = open({ token: word })
      await store.lease('s', { owner: 'ann', ttlMs: 1000, create: true })
      const busy = await failureOf(store.lease('s', { owner: 'bob', ttlMs: 1000, create: true }))
      expect(busy).toMatchObject({ name: 'SessionBusyError', owner: 'ann' })
      await append(store)
    }
  })

  test('what the runtime says about a failed request is not repeated', async () => {
    const store = openTo(() => {
      throw Object.assign(new TypeError(`invalid header: Bearer ${token}`), { cause: { code: 'ECONNRESET' } })
    })
    const error = await failureOf(store.read('s'))
    expect(error.message).toContain('ECONNRESET')
    expect(`${error.stack} ${String(error.cause)}`).not.toContain(token)
  })

  test.each([
    ['http://store.test', false],
    ['http://127.0.0.1.evil.test', false],
    ['http://localhost.test', false],
    ['http://10.0.0.1', false],
    ['http://localhost:8080', true],
    ['http://127.0.0.1:8080/x', true],
    ['http://[::1]:8080', true],
    ['https://store.test', true],
  ])('to %s a token may be sent: %s', (url, may) => {
    const make = (more: object) => () => createRemoteStore({ url, ...more })
    for (const keys of [
      { token },
      { token: () => token },
      { headers: { Authorization: `Basic ${token}` } },
      { headers: { 'X-Auth-Token': token } },
    ]) {
      if (may) make(keys)()
      else expect(make(keys)).toThrow(/plain http.*https.*allowInsecure/)
      make({ ...keys, allowInsecure: true })()
    }
    make({})()
  })

  test('options that cannot work are refused at once, without showing what may be a secret', () => {
    const url = 'https://store.test'
    for (const options of [
      { url: `https://user:${token}@store.test` },
      { url: `${url}/?key=${token}` },
      { url: `ftp://store.test/${token}` },
      { url: token },
      { url, token: '' },
      { url, token: `${token} with a space` },
      { url, headers: { a: `${token}\r\nb: c` } },
      { url, timeoutMs: 0 },
      { url, retries: -1 },
      { url, maxBytes: Number.NaN },
    ]) {
      const make = (): unknown => createRemoteStore(options)
      expect(make).toThrow(TypeError)
      expect(make).not.toThrow(token)
    }
  })
})

describe('redirects are not followed', () => {
  test.each([301, 302, 303, 307, 308])('a %d', async (status) => {
    const { server, open } = await remoteWorld()
    const other = await remoteWorld()
    server.tap = (_, outgoing) => outgoing.writeHead(status, { location: `${other.server.url}/path?secret=1` }).end()
    const error = await failureOf(open().list())
    expect(error).toMatchObject({ code: 'unavailable', message: expect.stringContaining(other.server.url) })
    expect(error.message).not.toContain('secret=1')
    expect(other.server.asked).toEqual([])
    expect(server.asked).toHaveLength(1)
  })
})

function append(store: SessionStore): Promise<void> {
  return store.append('s', [label(1)], { epoch: 1, head: 0 })
}

function lease(store: SessionStore): Promise<unknown> {
  return store.lease('s', { owner: 'ann', ttlMs: 1000, create: true })
}
