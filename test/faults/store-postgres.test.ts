import { afterEach, beforeEach, describe, expect } from 'vitest'
import { SessionBusyError, StoreError } from '../../src/core/errors.ts'
import { onFailpoint } from '../../src/core/log.ts'
import { entry, hour, input, item, lease, Watcher } from '../../src/testing/store-contract-kit.ts'
import { withPostgres } from '../postgres-kit.ts'
import { testInTurns } from '../soak.ts'
import type { Cut } from './postgres-proxy.ts'

// Each of them has a database of its own.
const test = testInTurns(2)

withPostgres('the Postgres store', (kit) => {
  /** Why statements were done again, in the test that runs. */
  const again: string[] = []

  beforeEach(() => {
    again.length = 0
    onFailpoint((name) => {
      if (name.startsWith('postgres.again.')) again.push(name.slice('postgres.again.'.length))
    })
  })
  afterEach(() => onFailpoint(undefined))

  describe('FD-24 a connection that is cut during an append', () => {
    const cuts = (['before', 'during', 'after'] as const satisfies Cut[]).flatMap((where) =>
      [1, 2, 4].map((n) => [where, n] as const),
    )
    test.each(cuts)('%s it is done, at append %i: each entry is there once', async (where, n) => {
      const store = kit.openNew(kit.proxied())
      const { epoch } = await lease(store)
      await store.send('s', item('k1', 'first'))
      const before = kit.proxy.cuts
      kit.proxy.cut('append_2', n, where)
      await store.append('s', [entry(1), input(2, 'k1', 'first')], { epoch, head: 0 })
      for (let seq = 3; seq <= 6; seq++) await store.append('s', [entry(seq)], { epoch, head: seq - 1 })
      expect(kit.proxy.cuts - before).toBe(1)
      expect(await store.read('s')).toEqual([entry(1), input(2, 'k1', 'first'), ...[3, 4, 5, 6].map((i) => entry(i))])
      expect((await store.lease('s', { owner: 'ann', ttlMs: hour, epoch })).inbox).toEqual([])
    })

    test('without a second try it fails as unavailable, and may be repeated', async () => {
      const store = kit.openNew({ ...kit.proxied(), retryMs: 0 })
      const { epoch } = await lease(store)
      kit.proxy.cut('append_2', 1, 'after')
      const failed = await store.append('s', [entry(1)], { epoch, head: 0 }).catch((error) => error)
      expect(failed).toBeInstanceOf(StoreError)
      expect(failed.code).toBe('unavailable')
      expect(await store.read('s')).toEqual([entry(1)])
      await store.append('s', [entry(1)], { epoch, head: 0 })
      expect(await store.read('s')).toEqual([entry(1)])
    })

    test.each(['lease_2', 'send_2', 'delete_2', 'insert into', 'do $setup$'])(
      'or during %s: it is done once',
      async (text) => {
        const before = kit.proxy.cuts
        kit.proxy.cut(text, 1, 'after')
        const store = kit.openNew(kit.proxied())
        await lease(store)
        await store.send('s', item('k1', 'first'))
        const { epoch, inbox } = await lease(store)
        expect(inbox).toEqual([item('k1', 'first')])
        await store.append('s', [entry(1)], { epoch, head: 0 })
        const name = await store.blobs('s').put(Uint8Array.of(1, 2))
        expect(await store.blobs('s').get(name)).toEqual(Uint8Array.of(1, 2))
        await store.lease('s', { owner: 'ann', ttlMs: 0, epoch })
        await store.delete('s')
        expect(await store.list()).toEqual({ sessions: [] })
        expect(kit.proxy.cuts - before).toBe(1)
      },
    )

    test('who stops watching does not wait for a server that is not there', async () => {
      const store = kit.openNew(kit.proxied())
      kit.proxy.refuse(true)
      const watcher = new Watcher(store, 's')
      await watcher.stop()
      kit.proxy.refuse(false)
      expect(watcher.entries).toEqual([])
    })

    test('a server behind a door that closes at once is waited for', async () => {
      const store = kit.openNew(kit.proxied())
      kit.proxy.refuse(true)
      const listed = store.list()
      await new Promise((resolve) => setTimeout(resolve, 200)) // some connections are refused meanwhile
      kit.proxy.refuse(false)
      expect(await listed).toEqual({ sessions: [] })
    })
  })

  test('FD-25 a server that restarts twice under three writers loses nothing and doubles nothing', async () => {
    const stores = [kit.openNew(), kit.open(), kit.open()]
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
        await kit.server.restart({ isCrash })
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
      const stores = [kit.openNew({ retryMs: 0 }), kit.open({ retryMs: 0 })]
      const { epoch } = await lease(stores[0]!, 'p')
      const names = ['p', 'p/a', 'p/a/x', 'p/b']
      const family = (id: string) => (id.length > 1 ? { parent: id.slice(0, -2), holder: 'p' } : {})
      for (const id of names) await stores[0]!.append(id, [entry(1)], { epoch, head: 0, ...family(id) })
      await Promise.all(
        names.map(async (id, i) => {
          for (let seq = 2; seq <= 41; seq++) {
            const store = stores[(i + seq) % 2]!
            await Promise.all([
              store.append(id, [input(seq, `k${seq}`, 'text')], { epoch, head: seq - 1, ...family(id) }),
              stores[seq % 2]!.send(id, item(`k${seq}`, 'text')),
              stores[0]!.lease('p', { owner: 'ann', ttlMs: hour, epoch }),
            ])
          }
        }),
      )
      for (const id of names) expect((await stores[0]!.read(id)).length).toBe(41)
      const deletes = names.toReversed().map((id, i) => stores[i % 2]!.delete(id))
      await Promise.all(deletes)
      expect(await stores[0]!.list()).toEqual({ sessions: [] })
    })

    test('the victim of a deadlock with a foreign transaction is retried', async () => {
      const store = kit.openNew()
      const { epoch } = await lease(store, 'p')
      await store.append('p/c', [entry(1)], { epoch, head: 0, holder: 'p', parent: 'p' })
      let appended: Promise<void> | undefined
      await kit.admin.begin(async (sql) => {
        await sql`set local deadlock_timeout = '1min'` // so that it is the other one who is the victim
        await sql`select 1 from ${sql(kit.schema)}.session where id = 'p/c' for update`
        appended = store.append('p/c', [entry(2)], { epoch, head: 1, holder: 'p', parent: 'p' })
        await waiting(1)
        await sql`select 1 from ${sql(kit.schema)}.lease for update`
      })
      await appended
      expect(again).toEqual(['40P01'])
      expect(await store.read('p/c')).toEqual([entry(1), entry(2)])
    })

    test('a takeover waits for a child that is just being written, and what comes later is refused', async () => {
      const store = kit.openNew()
      const { epoch } = await lease(store, 'p')
      const fence = { epoch, holder: 'p', parent: 'p' }
      await store.append('p/c', [entry(1)], { ...fence, head: 0 })
      let both: Promise<unknown> | undefined
      await kit.admin.begin(async (sql) => {
        await sql`select 1 from ${sql(kit.schema)}.session where id = 'p/c' for update`
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
      const store = kit.openNew()
      const { epoch } = await lease(store, 'p')
      let both: Promise<unknown> | undefined
      await kit.admin
        .begin(async (sql) => {
          await sql`insert into ${sql(kit.schema)}.session (id) values ('p/c')`
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

    test('a lease that is taken while the session is deleted is that of a new session, not of what a fork keeps', async () => {
      const store = kit.openNew()
      const { epoch } = await lease(store, 'o')
      await store.append('o', [entry(1), entry(2)], { epoch, head: 0 })
      await store.lease('o', { owner: 'ann', ttlMs: 0, epoch })
      const fork = await lease(store, 'f')
      await store.append('f', [entry(3)], { epoch: fork.epoch, head: 2, base: 'o' })
      await store.send('o', item('k1', 'text'))
      let both: Promise<[unknown, { head: number }]> | undefined
      await kit.admin.begin(async (sql) => {
        await sql`select 1 from ${sql(kit.schema)}.inbox for update`
        const deleted = store.delete('o')
        await waiting(1)
        both = Promise.all([deleted, lease(store, 'o', 'bob')])
        await waiting(2)
      })
      expect((await both!)[1].head).toBe(0)
      expect(await store.read('f')).toEqual([entry(1), entry(2), entry(3)])
      const leased = await kit.admin`select id from ${kit.admin(kit.schema)}.lease
        left join ${kit.admin(kit.schema)}.session on key = session order by id`
      expect(leased).toMatchObject([{ id: 'f' }, { id: 'o' }])
    })

    test('a message that is being sent while the only lease of its session is given back is kept', async () => {
      const store = kit.openNew()
      const { epoch } = await lease(store)
      let released: Promise<unknown> | undefined
      await kit.admin.begin(async (sql) => {
        await store.send('s', item('k1', 'text'), { transaction: sql })
        released = store.lease('s', { owner: 'ann', ttlMs: 0, epoch })
        await waiting(1)
      })
      await released
      expect((await store.lease('s', { owner: 'bob', ttlMs: hour })).inbox).toEqual([item('k1', 'text')])
    })

    test('a statement that timed out is done again', async () => {
      await kit.openNew().list() // making the tables may take longer
      const store = kit.open({ url: `${kit.server.url()}?statement_timeout=100` })
      const { epoch } = await lease(store)
      let appended: Promise<void> | undefined
      await kit.admin.begin(async (sql) => {
        await sql`select 1 from ${sql(kit.schema)}.session where id = 's' for update`
        appended = store.append('s', [entry(1)], { epoch, head: 0 })
        await waiting(1)
        await waiting(0)
      })
      await appended
      expect(new Set(again)).toEqual(new Set(['57014']))
      expect(await store.read('s')).toEqual([entry(1)])
    })

    test('serialization failures are retried', async () => {
      const url = `${kit.server.url()}?default_transaction_isolation=serializable`
      const stores = [kit.openNew({ url }), ...Array.from({ length: 5 }, () => kit.open({ url }))]
      const { epoch } = await lease(stores[0]!)
      const keys: string[] = []
      // Statements that never meet need no retry.
      for (let round = 0; round < 20 && again.length === 0; round++) {
        const added = Array.from({ length: 30 }, (_, i) => `k${round}.${i}`)
        await Promise.all([
          ...added.map((key, i) => stores[i % 6]!.send('s', item(key, key))),
          ...added.map((_, i) => stores[i % 6]!.lease('s', { owner: 'ann', ttlMs: hour, epoch })),
        ])
        keys.push(...added)
      }
      const { inbox } = await lease(stores[1]!)
      expect(inbox.map(({ clientKey }) => clientKey).sort()).toEqual(keys.toSorted())
      expect(new Set(again)).toEqual(new Set(['40001']))
    })

    /** Until so many statements of stores wait for a lock. */
    async function waiting(count: number): Promise<void> {
      for (let tries = 0; tries < 1000; tries++) {
        const rows = await kit.admin`select pid from pg_stat_activity where wait_event_type = 'Lock'`
        if (rows.length === count) return
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
      throw new Error(`there never were ${count} statements that waited`)
    }
  })

  test('of eight stores that race for one lease exactly one gets it, 25 times', async () => {
    const stores = [kit.openNew(), ...Array.from({ length: 7 }, () => kit.open())]
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
})
