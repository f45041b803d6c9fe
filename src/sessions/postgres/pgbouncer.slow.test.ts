import { afterAll, beforeAll, describe, expect } from 'vitest'
import { noPgbouncer, type Pgbouncer, startPgbouncer } from '../../../test/pgbouncer.ts'
import { eventually, withPostgres } from '../../../test/postgres-kit.ts'
import { sampleOf, testInTurns } from '../../../test/soak.ts'
import { fakeClock, storeContract } from '../../testing/index.ts'
import { entry, hour, item, lease, Watcher, write } from '../../testing/store-contract-kit.ts'

const test = testInTurns(2)

if (noPgbouncer) test.skip(`ST17 PgBouncer: NOT tested here: ${noPgbouncer}`, () => {})
else
  withPostgres('ST17 through PgBouncer in transaction mode', (kit) => {
    let bouncer: Pgbouncer
    beforeAll(async () => {
      bouncer = await startPgbouncer(kit.server)
    }, 60_000)
    afterAll(() => bouncer?.stop())

    const bounced = () => ({ url: kit.server.url({ port: bouncer.port }), prepare: false })

    describe('the store keeps the contract', () => {
      let turned = fakeClock()
      const clock = {
        async advance(ms: number) {
          await turned.advance(ms)
          await new Promise((resolve) => setTimeout(resolve, 5)) // a server does not answer within a turn of a fake clock
        },
      }
      const cases = storeContract(
        (clock) => {
          turned = clock as typeof turned
          return kit.openNew({ ...bounced(), listen: false, clock })
        },
        { clock, again: (clock) => kit.open({ ...bounced(), listen: kit.server.url(), clock }) },
      )
      for (const { name, run } of sampleOf(cases, 10)) test(name, run)
    })

    test('ST17 thirty processes share six connections to the server', async () => {
      const stores = [kit.openNew({ ...bounced(), listen: false })]
      await stores[0]!.list()
      while (stores.length < 30) stores.push(kit.open({ ...bounced(), listen: false }))
      const pids = new Set<number>()
      let isOver = false
      const counting = (async () => {
        while (!isOver)
          for (const { pid } of await kit.admin`select pid from pg_stat_activity where application_name = 'libero'`)
            pids.add(pid)
      })()
      await Promise.all(
        stores.map(async (store, i) => {
          const { epoch } = await store.lease(`s${i}`, { owner: 'ann', ttlMs: hour, create: true, ofProcess: true })
          for (let seq = 1; seq <= 5; seq++) await store.append(`s${i}`, [entry(seq)], { epoch, head: seq - 1 })
        }),
      )
      isOver = true
      await counting
      expect((await stores[0]!.list()).sessions.map(({ head }) => head)).toEqual(Array(30).fill(5))
      expect(pids.size).toBeLessThanOrEqual(bouncer.poolSize)
    })

    test('ST17 with an address past the pooler a watcher is told, and nothing listens in the pool', async () => {
      const clock = fakeClock(Date.now()) // never turned: nothing is found by looking again
      const store = kit.openNew({ ...bounced(), listen: kit.server.url(), clock })
      await write(store, 's', 1)
      const watcher = new Watcher(store, 's', 1)
      await eventually(async () => (await listening()) === 1)
      await kit.open(bounced()).send('s', item('k', 'hello'))
      await eventually(() => watcher.inbox.length === 1)
      expect(await listening()).toBe(1)
      await watcher.stop()
      await eventually(async () => (await listening()) === 0)
    })

    test('ST17 without listening a watcher looks by itself', async () => {
      const store = kit.openNew({ ...bounced(), listen: false, pollMs: 20 })
      await lease(store, 's')
      const watcher = new Watcher(store, 's')
      await kit.open({ ...bounced(), listen: false }).send('s', item('k', 'hello'))
      await eventually(() => watcher.inbox.length === 1)
      expect(await listening()).toBe(0)
      await watcher.stop()
    })

    test('ST17 "?prepare=false" in the url means the same, and a schema is made through the pooler', async () => {
      const url = `${kit.server.url({ port: bouncer.port })}?prepare=false`
      const stores = [kit.openNew({ url, listen: false }), kit.open({ url, listen: false })]
      const epoch = await write(stores[0]!, 's', 1)
      for (let seq = 2; seq <= 40; seq++)
        await stores[0]!.append('s', [entry(seq)], { epoch, head: seq - 1 }).then(() => stores[1]!.find('s'))
      expect(await stores[1]!.find('s')).toMatchObject({ head: 40 })
    })

    const listening = async (): Promise<number> =>
      (await kit.admin`select pid from pg_stat_activity where query ilike 'listen %' and application_name = 'libero'`)
        .length
  })
