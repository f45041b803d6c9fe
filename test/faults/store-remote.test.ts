import { describe, expect, test } from 'vitest'
import { LeaseLostError, SessionBusyError, StoreError } from '../../src/core/errors.ts'
import type { SessionStore } from '../../src/core/store.ts'
import { createMemoryStore } from '../../src/sessions/memory-store.ts'
import { createRemoteStore } from '../../src/sessions/remote-store.ts'
import { allSessions } from '../../src/sessions/session-query.ts'
import { nowhere, type Tap } from '../store-server.ts'
import { failureOf, inTime, json, label, openTo, remoteWorld } from './store-remote-kit.ts'

const hour = 3_600_000

describe('FD-27 the server applies an append, and the answer is lost', () => {
  const losses: Record<string, Tap> = {
    'before a byte of it came': async (incoming, _, serve) => {
      await serve(nowhere)
      incoming.socket.destroy()
    },
    'in the middle of it': async (incoming, outgoing, serve) => {
      await serve(nowhere)
      outgoing.writeHead(200, { 'content-type': 'application/json', 'content-length': '60' })
      outgoing.write('{"protocol":2,', () => incoming.socket.destroy())
    },
    'and it never comes': async (_incoming, _outgoing, serve) => serve(nowhere),
    'behind a proxy that says 504': async (_, outgoing, serve) => {
      await serve(nowhere)
      outgoing.writeHead(504, { 'content-type': 'text/html' }).end('<h1>Gateway Timeout</h1>')
    },
  }

  test.each(Object.entries(losses))('%s: it is repeated under the same key and stored once', async (_, lose) => {
    const { server, clock, inner, open } = await remoteWorld()
    const store = open()
    const { epoch } = await store.lease('s', { owner: 'ann', ttlMs: hour, create: true })
    const keys: unknown[] = []
    server.tap = (incoming, outgoing, serve) => {
      keys.push(incoming.headers['idempotency-key'])
      return keys.length === 1 ? lose(incoming, outgoing, serve) : serve()
    }
    await inTime(clock, store.append('s', [label(1), label(2)], { epoch, head: 0 }))
    expect(await inner.read('s')).toEqual([label(1), label(2)])
    expect(keys).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/), keys[0]])
    await store.append('s', [label(3)], { epoch, head: 2 })
    expect((await inner.read('s')).length).toBe(3)
    expect(clock.pending).toBe(0)
  })

  test('and another writer took over before it was repeated: it succeeded, the next one does not', async () => {
    const { server, clock, inner, open } = await remoteWorld()
    const store = open()
    const { epoch } = await store.lease('s', { owner: 'ann', ttlMs: hour, create: true })
    server.tap = async (incoming, _, serve) => {
      server.tap = undefined
      await serve(nowhere)
      const { epoch: theirs } = await inner.lease('s', { owner: 'bob', ttlMs: hour, takeOver: true, create: true })
      await inner.append('s', [label(2, 'by bob')], { epoch: theirs, head: 1 })
      incoming.socket.destroy()
    }
    await inTime(clock, store.append('s', [label(1)], { epoch, head: 0 }))
    const late = await failureOf(store.append('s', [label(2)], { epoch, head: 1 }))
    expect(late).toBeInstanceOf(LeaseLostError)
    expect(await inner.read('s')).toEqual([label(1), label(2, 'by bob')])
  })

  test('of a message: it is sent again and waits once', async () => {
    const { server, clock, inner, open } = await remoteWorld()
    server.tap = async (incoming, _, serve) => {
      server.tap = undefined
      await serve(nowhere)
      incoming.socket.destroy()
    }
    const item = { clientKey: 'k', mode: 'steer', content: [] } as const
    await inner.lease('s', { owner: 'ann', ttlMs: hour, create: true })
    await inTime(clock, open().send('s', item))
    expect((await inner.lease('s', { owner: 'ann', ttlMs: hour, create: true })).inbox).toEqual([item])
  })
})

describe('FD-28 the log has moved on', () => {
  test('because another writer took over: the old one learns by whom, and nothing is overwritten', async () => {
    const { open } = await remoteWorld()
    const [ann, bob] = [open(), open()]
    const { epoch } = await ann.lease('s', { owner: 'ann', ttlMs: hour, create: true })
    await ann.append('s', [label(1)], { epoch, head: 0 })
    const theirs = await bob.lease('s', { owner: 'bob', ttlMs: hour, takeOver: true, create: true })
    await bob.append('s', [label(2, 'by bob'), label(3, 'by bob')], { epoch: theirs.epoch, head: 1 })
    const error = await failureOf(ann.append('s', [label(2)], { epoch, head: 1 }))
    expect(error).toBeInstanceOf(LeaseLostError)
    expect(error).toMatchObject({ owner: 'bob', message: expect.stringMatching(/moved on to entry 3.*bob/) })
    expect(await ann.read('s', { after: 1 })).toEqual([label(2, 'by bob'), label(3, 'by bob')])
  })

  const moved = { protocol: 2, error: { code: 'head_moved', message: 'moved', head: 2 } }
  const conflict = (there: unknown[]): SessionStore =>
    openTo((_, { method }) =>
      method === 'POST' ? json(moved, 409) : json({ protocol: 2, session: 's', entries: there }),
    )

  test('by our own entries: then it has succeeded', async () => {
    const store = conflict([label(1), label(2)])
    await store.append('s', [label(1), label(2)], { epoch: 1, head: 0 })
  })

  test.each([
    ['others', [label(1, 'other'), label(2)]],
    ['a part of ours', [label(1)]],
    ['nothing', []],
  ])('by %s: then it has not', async (_, there) => {
    const error = await failureOf(conflict(there).append('s', [label(1), label(2)], { epoch: 1, head: 0 }))
    expect(error).toBeInstanceOf(LeaseLostError)
  })

  test('a lease that is held is refused with the name of its owner and the time', async () => {
    const { clock, open } = await remoteWorld()
    await open().lease('s', { owner: 'ann', ttlMs: hour, create: true })
    const error = await failureOf(open().lease('s', { owner: 'bob', ttlMs: hour, create: true }))
    expect(error).toBeInstanceOf(SessionBusyError)
    expect(error).toMatchObject({ owner: 'ann', since: clock.now(), message: expect.stringContaining('ann') })
  })
})

describe('FD-29 the server is down', () => {
  test('and comes back in time: the append is stored, once', async () => {
    const { server, clock, inner, open } = await remoteWorld()
    const store = open()
    const { epoch } = await store.lease('s', { owner: 'ann', ttlMs: hour, create: true })
    await server.stop()
    const append = store.append('s', [label(1)], { epoch, head: 0 })
    await clock.advance(1000)
    await server.start()
    await inTime(clock, append)
    expect(await inner.read('s')).toEqual([label(1)])
    expect(clock.pending).toBe(0)
  })

  test('and stays down: a typed error that names the server and says what to do, without a timer left', async () => {
    const { server, clock, open } = await remoteWorld()
    const store = open()
    await server.stop()
    const error = await failureOf(inTime(clock, store.append('s', [label(1)], { epoch: 1, head: 0 })))
    expect(error).toBeInstanceOf(StoreError)
    expect(error).toMatchObject({ code: 'unavailable', message: expect.stringContaining(server.url) })
    expect(error.message).toMatch(/ECONNREFUSED.*tried 7 times.*check that the server runs/)
    expect(clock.pending).toBe(0)
    await server.start()
    expect(await store.read('s')).toEqual([])
  })

  test('a watcher goes on when it is back, and misses nothing', async () => {
    const { server, clock, inner, open } = await remoteWorld()
    const abort = new AbortController()
    const texts: string[] = []
    const watching = (async () => {
      for await (const { entries } of open().watch('s', { signal: abort.signal }))
        for (const entry of entries) texts.push(entry.id)
    })()
    const { epoch } = await inner.lease('s', { owner: 'ann', ttlMs: hour, create: true })
    await inner.append('s', [label(1)], { epoch, head: 0 })
    for (let i = 0; i < 200 && texts.length < 1; i++) await clock.advance(50)
    await server.stop()
    await clock.advance(60_000)
    await inner.append('s', [label(2)], { epoch, head: 1 })
    await server.start()
    for (let i = 0; i < 200 && texts.length < 2; i++) await clock.advance(250)
    expect(texts).toEqual([label(1).id, label(2).id])
    abort.abort()
    await watching
    for (let i = 0; i < 200 && clock.pending > 0; i++) await clock.advance(0)
    expect(clock.pending).toBe(0)
  })

  test.each([
    [429, '2'],
    [503, '2'],
    [408, undefined],
    [500, undefined],
  ])('a %d is waited out, as long as Retry-After says', async (status, after) => {
    const { server, clock, open } = await remoteWorld()
    let refusals = 2
    const times: number[] = []
    server.tap = (_, outgoing, serve) => {
      times.push(clock.now())
      if (refusals-- <= 0) return serve()
      outgoing.writeHead(status, after ? { 'retry-after': after } : {}).end('busy')
    }
    expect(await inTime(clock, open().list(), 50)).toEqual({ sessions: [] })
    expect(times).toHaveLength(3)
    if (after) expect(times[1]! - times[0]!).toBeGreaterThanOrEqual(2000)
  })

  test('a Retry-After beyond the limit ends it at once', async () => {
    const { server, clock, open } = await remoteWorld()
    server.tap = (_, outgoing) => outgoing.writeHead(503, { 'retry-after': '86400' }).end()
    expect(await failureOf(open().list())).toMatchObject({ code: 'unavailable' })
    expect(clock.pending).toBe(0)
    expect(server.asked).toHaveLength(1)
  })

  test('a failure of the store behind the server arrives as what it is, and only those that may pass are repeated', async () => {
    for (const [code, tries] of [
      ['full', 1],
      ['read_only', 1],
      ['corrupt', 1],
      ['newer', 1],
      ['denied', 1],
      ['network_fs', 1],
      ['busy', 7],
      ['unavailable', 7],
    ] as const) {
      const list = async (): Promise<never> => {
        throw new StoreError(code, `the disk says ${code}`)
      }
      const { server, clock, open } = await remoteWorld({ store: { ...createMemoryStore(), list } })
      const error = await failureOf(inTime(clock, open().list()))
      expect(error).toBeInstanceOf(StoreError)
      expect(error).toMatchObject({ code, message: expect.stringContaining(`the disk says ${code}`) })
      expect(server.asked).toHaveLength(tries)
    }
  })
})

describe('time limits', () => {
  const slow: Record<string, Tap> = {
    'no answer at all': () => {},
    'an answer that trickles': (_, outgoing) => {
      outgoing.writeHead(200, { 'content-type': 'application/json' }).write('{"protocol"')
    },
  }

  test.each(Object.entries(slow))('%s is given up on, and its connection closed', async (_, tap) => {
    const { server, clock, open } = await remoteWorld()
    let closed = 0
    server.tap = (incoming, outgoing, serve) => {
      incoming.socket.on('close', () => closed++)
      return tap(incoming, outgoing, serve)
    }
    const read = failureOf(open({ retries: 1, timeoutMs: 5000 }).read('s'))
    for (let i = 0; i < 200 && server.asked.length < 1; i++) await clock.advance(0)
    const error = await inTime(clock, read)
    expect(error).toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/within \d+ ms \(tried 2 times\)/),
    })
    for (let i = 0; i < 200 && closed < server.asked.length; i++) await clock.advance(0)
    expect(closed).toBe(server.asked.length)
    expect(clock.pending).toBe(0)
  })

  test('a fetch that ignores its signal is given up too', async () => {
    const { clock } = await remoteWorld()
    const store = openTo(() => new Promise(() => {}), { clock })
    expect(await failureOf(inTime(clock, store.list(), 10_000))).toMatchObject({ code: 'unavailable' })
  })

  test('a renewal does not wait longer than its lease is worth', async () => {
    const { clock } = await remoteWorld()
    const store = openTo(() => new Promise(() => {}), { clock })
    const started = clock.now()
    await failureOf(inTime(clock, store.lease('s', { owner: 'ann', ttlMs: 9000, epoch: 1 }), 100))
    expect(clock.now() - started).toBeLessThanOrEqual(3100)
  })
})

describe('closing', () => {
  test('ends what is under way, watchers too; doing it twice is harmless', async () => {
    const { server, clock, open } = await remoteWorld()
    const store = open()
    const watcher = store.watch('s', { signal: new AbortController().signal })[Symbol.asyncIterator]()
    const watching = failureOf(watcher.next())
    server.tap = (incoming, _, serve) => (incoming.url === '/identity' ? undefined : serve())
    const asking = failureOf(store.identity!())
    for (let i = 0; i < 200 && server.asked.length < 2; i++) await clock.advance(0)
    await store.close!()
    await store.close!()
    for (const error of [await watching, await asking, await failureOf(store.read('s'))])
      expect(error).toMatchObject({ code: 'unavailable', message: expect.stringContaining('was closed') })
    for (let i = 0; i < 200 && clock.pending > 0; i++) await clock.advance(0)
    expect(clock.pending).toBe(0)
  })

  test('a watcher that hangs up lets the server go as well', async () => {
    const signals: AbortSignal[] = []
    const inner = createMemoryStore()
    const watch: SessionStore['watch'] = (id, options) => {
      signals.push(options.signal)
      return inner.watch(id, options)
    }
    const { clock, open } = await remoteWorld({ store: { ...inner, watch } })
    const abort = new AbortController()
    const next = open().watch('s', { signal: abort.signal })[Symbol.asyncIterator]().next()
    for (let i = 0; i < 200 && signals.length < 1; i++) await clock.advance(0)
    abort.abort()
    expect(await next).toEqual({ done: true, value: undefined })
    for (let i = 0; i < 200 && clock.pending > 0; i++) await clock.advance(0)
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
    expect(clock.pending).toBe(0)
  })
})

describe('watching', () => {
  test('a server that cannot hold requests is asked again after pollMs, not at once', async () => {
    const { server, clock, open } = await remoteWorld({ holdMs: 1 })
    const abort = new AbortController()
    const next = open({ pollMs: 5000 }).watch('s', { signal: abort.signal })[Symbol.asyncIterator]().next()
    for (let i = 0; i < 200; i++) await clock.advance(100)
    expect(server.asked.length).toBeGreaterThanOrEqual(3)
    expect(server.asked.length).toBeLessThanOrEqual(6)
    abort.abort()
    await next
  })

  test('a message that waits unread is told once, and the server is not asked again and again because of it', async () => {
    const { server, clock, inner, open } = await remoteWorld()
    await inner.lease('s', { owner: 'ann', ttlMs: hour, create: true })
    await inner.send('s', { clientKey: 'k&=ä', mode: 'steer', content: [] })
    const abort = new AbortController()
    let told = 0
    const watching = (async () => {
      for await (const { inbox } of open().watch('s', { signal: abort.signal })) told += inbox.length
    })()
    for (let i = 0; i < 200; i++) await clock.advance(100)
    expect(told).toBe(1)
    expect(server.asked).toHaveLength(2)
    abort.abort()
    await watching
  })

  test('more messages than an address can name are each given once', async () => {
    const { clock, inner, open } = await remoteWorld()
    await inner.lease('s', { owner: 'ann', ttlMs: hour, create: true })
    const keys = Array.from({ length: 300 }, (_, i) => `${i}-${'k'.repeat(50)}`)
    for (const clientKey of keys) await inner.send('s', { clientKey, mode: 'steer', content: [] })
    const abort = new AbortController()
    const got: string[] = []
    const watching = (async () => {
      for await (const { inbox } of open().watch('s', { signal: abort.signal }))
        got.push(...inbox.map((item) => item.clientKey))
    })()
    for (let i = 0; i < 200 && got.length < 300; i++) await clock.advance(250)
    for (let i = 0; i < 20; i++) await clock.advance(1000)
    await inner.send('s', { clientKey: 'last', mode: 'steer', content: [] })
    for (let i = 0; i < 200 && got.length < 301; i++) await clock.advance(250)
    expect(got).toEqual([...keys, 'last'])
    abort.abort()
    await watching
  })

  test('who is not let in is told so, and does not ask for ever', async () => {
    const { clock, open } = await remoteWorld()
    const watcher = open({ token: 'wrong-token' }).watch('s', { signal: new AbortController().signal })
    const first = watcher[Symbol.asyncIterator]().next()
    expect(await failureOf(inTime(clock, first))).toMatchObject({ code: 'denied' })
  })
})

test('a session that needs many pages is read whole, in order', async () => {
  const { server, inner, open } = await remoteWorld()
  const { epoch } = await inner.lease('s', { owner: 'ann', ttlMs: hour, create: true })
  const entries = Array.from({ length: 25_000 }, (_, i) => label(i + 1))
  await inner.append('s', entries, { epoch, head: 0 })
  const read = await open().read('s')
  expect(read.length).toBe(25_000)
  expect(read.every(({ seq }, i) => seq === i + 1)).toBe(true)
  expect(server.asked).toEqual([0, 10_000, 20_000].map((after) => `GET /sessions/s/entries?after=${after}`))
})

test('ST06 a range of a long session is read in as many pages as it needs, from the end too', async () => {
  const { server, inner, open } = await remoteWorld()
  const { epoch } = await inner.lease('s', { owner: 'ann', ttlMs: hour, create: true })
  const entries = Array.from({ length: 25_000 }, (_, i) => label(i + 1))
  await inner.append('s', entries, { epoch, head: 0 })
  const last = await open().read('s', { limit: 15_000, fromEnd: true, before: 24_001 })
  expect([last.length, last[0]?.seq, last.at(-1)?.seq]).toEqual([15_000, 9001, 24_000])
  expect(server.asked).toEqual([
    'GET /sessions/s/entries?after=0&before=24001&limit=15000&fromEnd=true',
    'GET /sessions/s/entries?after=19000&before=24001&limit=5000',
  ])
  expect(await open().read('s', { after: 3, limit: 2 })).toEqual([label(4), label(5)])
  expect(server.asked).toHaveLength(3)
})

test('a list that needs many pages is read whole', async () => {
  const { server, inner, open } = await remoteWorld()
  for (let i = 0; i < 2500; i++) {
    const { epoch } = await inner.lease(`s/${i}`, { owner: 'ann', ttlMs: hour, create: true })
    await inner.append(`s/${i}`, [label(1)], { epoch, head: 0 })
  }
  const ids = (await allSessions(open())).map(({ id }) => id)
  expect(new Set(ids).size).toBe(2500)
  expect(ids.length).toBe(2500)
  expect(server.asked.length).toBe(3)
})

test('without a name of its own the place is named by its address', async () => {
  const { server, open } = await remoteWorld()
  expect(await open().identity!()).toBe(server.url)
  const named = await remoteWorld({ store: { ...createMemoryStore(), identity: async () => 'place 7' } })
  expect(await named.open().identity!()).toBe('place 7')
  expect(createRemoteStore({ url: 'https://store.test' }).isOneProcess).toBe(undefined)
})
