import postgres from 'postgres'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { SessionBusyError, StoreError } from '../../src/core/errors.ts'
import { onFailpoint } from '../../src/core/log.ts'
import type { SessionStore } from '../../src/core/store.ts'
import { createPostgresStore, type PostgresStoreOptions } from '../../src/sessions/postgres-store.ts'
import { entry, hour, input, item, lease, Watcher } from '../../src/testing/store-contract-kit.ts'
import { noPostgres, type PostgresServer, startPostgres } from '../postgres-server.ts'
import { type Cut, type PostgresProxy, startProxy } from './postgres-proxy.ts'

if (noPostgres) test.skip(`the faults of the Postgres store are NOT tested here: ${noPostgres}`, () => {})
else describe('the Postgres store', suite)

function suite(): void {
  let server: PostgresServer
  let proxy: PostgresProxy
  let admin: postgres.Sql
  let schemas = 0
  const opened: SessionStore[] = []
  /** Why statements were done again, in the test that runs. */
  const again: string[] = []

  beforeAll(async () => {
    server = await startPostgres()
    proxy = await startProxy(server.port)
    admin = postgres(server.url(), { max: 3, backoff: () => 0, onnotice: () => {} })
  }, 60_000)
  beforeEach(() => {
    again.length = 0
    onFailpoint((name) => {
      if (name.startsWith('postgres.again.')) again.push(name.slice('postgres.again.'.length))
    })
  })
  afterEach(async () => {
    onFailpoint(undefined)
    await Promise.all(opened.splice(0).map((store) => store.close?.()))
  })
  afterAll(async () => {
    await admin?.end({ timeout: 1 })
    await proxy?.close()
    await server?.stop()
  }, 60_000)

  const place = (): string => `place_${schemas}`

  function open(options: Partial<PostgresStoreOptions> = {}): SessionStore {
    const store = createPostgresStore({ url: server.url(), schema: place(), ...options })
    opened.push(store)
    return store
  }

  function openNew(options: Partial<PostgresStoreOptions> = {}): SessionStore {
    schemas++
    return open(options)
  }

  const proxied = (): { url: string } => ({ url: server.url({ port: proxy.port }) })

  describe('FD-24 a connection that is cut during an append', () => {
    const cuts = (['before', 'during', 'after'] as const satisfies Cut[]).flatMap((where) =>
      [1, 2, 4].map((n) => [where, n] as const),
    )
    test.each(cuts)('%s it is done, at append %i: each entry is there once', async (where, n) => {
      const store = openNew(proxied())
      await store.send('s', item('k1', 'first'))
      const { epoch } = await lease(store)
      const before = proxy.cuts
      proxy.cut('append_1', n, where)
      await store.append('s', [entry(1), input(2, 'k1', 'first')], { epoch, head: 0 })
      for (let seq = 3; seq <= 6; seq++) await store.append('s', [entry(seq)], { epoch, head: seq - 1 })
      expect(proxy.cuts - before).toBe(1)
      expect(await store.read('s')).toEqual([entry(1), input(2, 'k1', 'first'), ...[3, 4, 5, 6].map((i) => entry(i))])
      expect((await store.lease('s', { owner: 'ann', ttlMs: hour, epoch })).inbox).toEqual([])
    })

    test('without a second try it fails as unavailable, and may be repeated', async () => {
      const store = openNew({ ...proxied(), retryMs: 0 })
      const { epoch } = await lease(store)
      proxy.cut('append_1', 1, 'after')
      const failed = await store.append('s', [entry(1)], { epoch, head: 0 }).catch((error) => error)
      expect(failed).toBeInstanceOf(StoreError)
      expect(failed.code).toBe('unavailable')
      expect(await store.read('s')).toEqual([entry(1)])
      await store.append('s', [entry(1)], { epoch, head: 0 })
      expect(await store.read('s')).toEqual([entry(1)])
    })

    test.each(['lease_1', 'send_1', 'delete_1', 'insert into', 'do $setup$'])(
      'or during %s: it is done once',
      async (text) => {
        const before = proxy.cuts
        proxy.cut(text, 1, 'after')
        const store = openNew(proxied())
        await store.send('s', item('k1', 'first'))
        const { epoch, inbox } = await lease(store)
        expect(inbox).toEqual([item('k1', 'first')])
        await store.append('s', [entry(1)], { epoch, head: 0 })
        const name = await store.blobs('s').put(Uint8Array.of(1, 2))
        expect(await store.blobs('s').get(name)).toEqual(Uint8Array.of(1, 2))
        await store.delete('s')
        expect(await store.list()).toEqual({ sessions: [] })
        expect(proxy.cuts - before).toBe(1)
      },
    )

    test('who stops watching does not wait for a server that is not there', async () => {
      const store = openNew(proxied())
      proxy.refuse(true)
      const watcher = new Watcher(store, 's')
      await watcher.stop()
      proxy.refuse(false)
      expect(watcher.entries).toEqual([])
    })

    test('a server behind a door that closes at once is waited for', async () => {
      const store = openNew(proxied())
      proxy.refuse(true)
      const listed = store.list()
      await new Promise((resolve) => setTimeout(resolve, 200)) // some connections are refused meanwhile
      proxy.refuse(false)
      expect(await listed).toEqual([])
    })
  })

  test('FD-25 a server that restarts twice under three writers loses nothing and doubles nothing', async () => {
    const stores = [openNew(), open(), open()]
    const written = [0, 0, 0]
    const writers = stores.map(async (store, i) => {
      const { epoch } = await lease(store, `s${i}`)
      for (let seq = 1; seq <= 20; seq++) {
        await store.append(`s${i}`, [entry(seq, `${i}: ${seq}`)], { epoch, head: seq - 1 })
        written[i] = seq
        await new Promise((resolve) => setTimeout(resolve, 20)) // so that the restarts fall in between
      }
    })
    const restarts = (async () => {
      for (const isCrash of [false, true]) {
        const until = Math.min(...written) + 3
        while (Math.min(...written) < until) await new Promise((resolve) => setTimeout(resolve, 5))
        await server.restart({ isCrash })
        expect(Math.min(...written)).toBeLessThan(20)
      }
    })()
    await Promise.all([...writers, restarts])
    expect(again.length).toBeGreaterThan(1)
    for (const [i, store] of stores.entries())
      expect(await store.read(`s${i}`)).toEqual(Array.from({ length: 20 }, (_, n) => entry(n + 1, `${i}: ${n + 1}`)))
  }, 40_000)

  describe('FD-26 statements that get into each other’s way', () => {
    test('writers of one family, at any level, never wait for each other in a circle', async () => {
      const stores = [openNew({ retryMs: 0 }), open({ retryMs: 0 })]
      const { epoch } = await lease(stores[0]!, 'p')
      const names = ['p', 'p/a', 'p/a/x', 'p/b']
      await Promise.all(
        names.map(async (id, i) => {
          const parent = id.length > 1 ? { parent: id.slice(0, -2), holder: 'p' } : {}
          for (let seq = 1; seq <= 40; seq++) {
            const store = stores[(i + seq) % 2]!
            await Promise.all([
              store.append(id, [input(seq, `k${seq}`, 'text')], { epoch, head: seq - 1, ...parent }),
              stores[seq % 2]!.send(id, item(`k${seq}`, 'text')),
              stores[0]!.lease('p', { owner: 'ann', ttlMs: hour, epoch }),
            ])
          }
        }),
      )
      for (const id of names) expect((await stores[0]!.read(id)).length).toBe(40)
      const deletes = names.toReversed().map((id, i) => stores[i % 2]!.delete(id))
      await Promise.all(deletes)
      expect(await stores[0]!.list()).toEqual([])
    })

    test('the victim of a deadlock with a foreign transaction is retried', async () => {
      const store = openNew()
      const { epoch } = await lease(store, 'p')
      await store.append('p/c', [entry(1)], { epoch, head: 0, holder: 'p', parent: 'p' })
      let appended: Promise<void> | undefined
      await admin.begin(async (sql) => {
        await sql`set local deadlock_timeout = '1min'` // so that it is the other one who is the victim
        await sql`select 1 from ${sql(place())}.session where id = 'p/c' for update`
        appended = store.append('p/c', [entry(2)], { epoch, head: 1, holder: 'p', parent: 'p' })
        await waiting(1)
        await sql`select 1 from ${sql(place())}.session where id = 'p' for update`
      })
      await appended
      expect(again).toEqual(['40P01'])
      expect(await store.read('p/c')).toEqual([entry(1), entry(2)])
    })

    test('a takeover waits for a child that is just being written, and what comes later is refused', async () => {
      const store = openNew()
      const { epoch } = await lease(store, 'p')
      const fence = { epoch, holder: 'p', parent: 'p' }
      await store.append('p/c', [entry(1)], { ...fence, head: 0 })
      let both: Promise<unknown> | undefined
      await admin.begin(async (sql) => {
        await sql`select 1 from ${sql(place())}.session where id = 'p/c' for update`
        const appended = store.append('p/c', [entry(2)], { ...fence, head: 1 })
        await waiting(1)
        both = Promise.all([appended, store.lease('p', { owner: 'bob', ttlMs: hour, takeOver: true, create: true })])
        await waiting(2)
      })
      await both
      await expect(store.append('p/c', [entry(3)], { ...fence, head: 2 })).rejects.toMatchObject({ owner: 'bob' })
      expect(await store.read('p/c')).toEqual([entry(1), entry(2)])
    })

    test('a child that is being made while its parent is deleted goes too', async () => {
      const store = openNew()
      const { epoch } = await lease(store, 'p')
      let both: Promise<unknown> | undefined
      await admin
        .begin(async (sql) => {
          await sql`insert into ${sql(place())}.session (id) values ('p/c')`
          const appended = store.append('p/c', [entry(1)], { epoch, head: 0, holder: 'p', parent: 'p' })
          await waiting(1)
          both = Promise.all([appended, store.delete('p')])
          await waiting(2)
          throw new Error('changed my mind')
        })
        .catch(() => {})
      await both
      expect(await store.list()).toEqual({ sessions: [] })
      expect(await store.read('p/c')).toEqual([])
    })

    test('a statement that timed out is done again', async () => {
      const store = openNew({ url: `${server.url()}?statement_timeout=100` })
      const { epoch } = await lease(store)
      let appended: Promise<void> | undefined
      await admin.begin(async (sql) => {
        await sql`select 1 from ${sql(place())}.session where id = 's' for update`
        appended = store.append('s', [entry(1)], { epoch, head: 0 })
        await waiting(1)
        await waiting(0)
      })
      await appended
      expect(new Set(again)).toEqual(new Set(['57014']))
      expect(await store.read('s')).toEqual([entry(1)])
    })

    test('serialization failures are retried', async () => {
      const url = `${server.url()}?default_transaction_isolation=serializable`
      const stores = [openNew({ url }), open({ url })]
      const { epoch } = await lease(stores[0]!)
      const keys = Array.from({ length: 30 }, (_, i) => `k${i}`)
      await Promise.all([
        ...keys.map((key, i) => stores[i % 2]!.send('s', item(key, key))),
        ...keys.map((_, i) => stores[i % 2]!.lease('s', { owner: 'ann', ttlMs: hour, epoch })),
      ])
      const { inbox } = await lease(stores[1]!)
      expect(inbox.map(({ clientKey }) => clientKey).sort()).toEqual(keys.toSorted())
      expect(new Set(again)).toEqual(new Set(['40001']))
    })

    /** Until so many statements of stores wait for a lock. */
    async function waiting(count: number): Promise<void> {
      for (let tries = 0; tries < 1000; tries++) {
        const rows = await admin`select pid from pg_stat_activity where wait_event_type = 'Lock'`
        if (rows.length === count) return
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
      throw new Error(`there never were ${count} statements that waited`)
    }
  })

  test('of eight stores that race for one lease exactly one gets it, 25 times', async () => {
    const stores = [openNew(), ...Array.from({ length: 7 }, () => open())]
    for (let round = 1; round <= 25; round++) {
      const outcomes = await Promise.allSettled(stores.map((store, i) => lease(store, 's', `owner ${i}`)))
      const won = outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
      const winner = outcomes.findIndex(({ status }) => status === 'fulfilled')
      expect(won).toHaveLength(1)
      for (const one of outcomes)
        if (one.status === 'rejected')
          expect(one.reason).toMatchObject({ name: SessionBusyError.name, owner: `owner ${winner}` })
      await stores[winner]!.lease('s', { owner: `owner ${winner}`, ttlMs: 0, epoch: won[0]!.epoch })
    }
  })

  describe('says what is wrong and what to do', () => {
    const failureOf = async (options: Partial<PostgresStoreOptions>): Promise<StoreError> => {
      const error = await openNew({ retryMs: 100, ...options })
        .lease('s', { owner: 'ann', ttlMs: 1000, create: true })
        .catch((error) => error)
      expect(error).toBeInstanceOf(StoreError)
      return error as StoreError
    }

    test('a wrong password: denied, and no word of it or of the url is said', async () => {
      const password = 'not the/right one%'
      const url = server.url({ password })
      const error = await failureOf({ url })
      expect(error.code).toBe('denied')
      expect(error.message).toContain('check the user and the password')
      const { inspect } = await import('node:util')
      const said = inspect(error, { depth: 9, showHidden: true })
      for (const secret of [password, encodeURIComponent(password), url]) expect(said).not.toContain(secret)
    })

    test('a url that cannot be read: its password is not said', async () => {
      const store = openNew({ url: 'postgres://me:se%cret words@@:x/y' })
      const error = await store.list().catch((error) => error)
      expect(error).toBeInstanceOf(TypeError)
      const { inspect } = await import('node:util')
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('cret')
    })

    test('no server: unavailable', async () => {
      const closed = await startProxy(server.port)
      await closed.close()
      const error = await failureOf({ url: server.url({ port: closed.port }) })
      expect(error.code).toBe('unavailable')
      expect(error.message).toContain('check that the server runs')
    })

    test('no such database: unavailable', async () => {
      const error = await failureOf({ url: `${server.url()}_of_nobody` })
      expect(error).toMatchObject({ code: 'unavailable', message: expect.stringContaining('create the database') })
    })

    test('a server that may only be read: read_only, and reading goes on', async () => {
      await openNew().list()
      const store = open({ url: `${server.url()}?default_transaction_read_only=on` })
      expect(await store.list()).toEqual({ sessions: [] })
      const written = store.send('s', item('k1', 'text'))
      await expect(written).rejects.toMatchObject({ name: 'StoreError', code: 'read_only' })
    })

    test('a user without rights: denied', async () => {
      await openNew().list()
      await admin`create role guest login password 'guest of honour'`
      const url = server.url().replace(/libero:[^@]*/, 'guest:guest%20of%20honour')
      await expect(open({ url }).list()).rejects.toMatchObject({ name: 'StoreError', code: 'denied' })
    })

    test('no connection left: busy', async () => {
      await admin`create role other login password 'one at a time' connection limit 0`
      const error = await failureOf({ url: server.url().replace(/libero:[^@]*/, 'other:one%20at%20a%20time') })
      expect(error).toMatchObject({ code: 'busy', message: expect.stringContaining('max_connections') })
    })

    test('a schema of a newer version: newer, and reading goes on', async () => {
      const store = openNew()
      const { epoch } = await lease(store)
      await store.append('s', [entry(1)], { epoch, head: 0 })
      await admin`update ${admin(place())}.meta set value = '2' where key = 'format'`
      const older = open()
      expect(await older.read('s')).toEqual([entry(1)])
      expect(await older.list()).toMatchObject([{ id: 's', head: 1 }])
      const writes = [
        older.append('s', [entry(2)], { epoch, head: 1 }),
        lease(older),
        older.send('s', item('k1', 'text')),
        older.delete('s'),
        older.blobs('s').put(Uint8Array.of(1)),
      ]
      for (const write of writes)
        await expect(write).rejects.toMatchObject({
          name: 'StoreError',
          code: 'newer',
          message: expect.stringContaining('update Libero'),
        })
      expect(await older.read('s')).toEqual([entry(1)])
    })

    test('tables that are gone: corrupt, and they are not quietly made anew', async () => {
      const store = openNew()
      await lease(store)
      await admin`drop schema ${admin(place())} cascade`
      await expect(store.read('s')).rejects.toMatchObject({ name: 'StoreError', code: 'corrupt' })
      await expect(store.send('s', item('k1', 'text'))).rejects.toMatchObject({ name: 'StoreError', code: 'corrupt' })
    })
  })
}
