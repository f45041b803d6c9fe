import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createAgent } from '../../src/create-agent.ts'
import { createFleet } from '../../src/durable/create-fleet.ts'
import type { Dispatcher } from '../../src/durable/dispatcher.ts'
import { pgBossDispatcher } from '../../src/durable/dispatchers/pg-boss.ts'
import { sendAndWake } from '../../src/durable/send-and-wake.ts'
import { inboxOf } from '../../src/sessions/pending.ts'
import { type ContractCase, dispatcherContract, fakeClock, scripted } from '../../src/testing/index.ts'
import { item, write } from '../../src/testing/store-contract-kit.ts'
import { startProxy } from '../faults/postgres-proxy.ts'
import { noPgbouncer, type Pgbouncer, startPgbouncer } from '../pgbouncer.ts'
import { eventually, type PostgresKit } from '../postgres-kit.ts'
import { sampleOf } from '../soak.ts'
import { postgresClock } from './postgres-clock.ts'

/** The dispatcher on pg-boss. */
export function pgBossTests(kit: PostgresKit): void {
  const schema = 'jobs_1'
  const options = { kinds: ['coder', 'planner'], tenantLimits: { default: 5 } }
  const create = (options: Partial<Parameters<typeof pgBossDispatcher>[0]> = {}): Dispatcher =>
    pgBossDispatcher({ url: kit.server.url(), schema, ...options })

  /** A dispatcher without jobs, whose tables are there. */
  async function open(options: Partial<Parameters<typeof pgBossDispatcher>[0]> = {}): Promise<Dispatcher> {
    const dispatcher = create(options)
    onTestFinished(() => dispatcher.close())
    await dispatcher.claim(1, { kinds: ['coder', 'planner'], tenantLimits: {} })
    await empty()
    return dispatcher
  }

  /** Removes all jobs: to create the tables anew for each case would take most of the time. */
  async function empty(): Promise<void> {
    const [row] = await kit.admin`select to_regclass(${`${schema}.job`}) as found`
    if (row?.found) await kit.admin.unsafe(`delete from ${schema}.job`)
  }

  function contract(where: () => Partial<Parameters<typeof pgBossDispatcher>[0]>): ContractCase[] {
    const older = (ms: string): readonly string[] => [
      `update ${schema}.job set start_after = start_after - ${ms}, heartbeat_on = heartbeat_on - ${ms},
        created_on = created_on - ${ms}`,
      `update ${schema}.queue set monitor_on = monitor_on - ${ms}, monitor_claim_on = monitor_claim_on - ${ms}`,
    ]
    return dispatcherContract(
      async (clock) => {
        await empty()
        return create({ ...where(), clock })
      },
      {
        clock: () => postgresClock(older, kit.admin),
        again: (clock) => create({ ...where(), clock }),
        transaction: (work) => kit.admin.begin(work) as Promise<unknown>,
      },
    )
  }

  describe('keeps the contract', () => {
    for (const { name, run } of contract(() => ({}))) test(name, run)
  })

  test('FL20 a job that a transaction of others has locked does not hold up messages to other sessions', async () => {
    const store = kit.openNew()
    const ids = ['c', 'b', 'a']
    for (const id of ids) await write(store, id, 1)
    const dispatcher = await open()
    const asked: string[] = []
    const wake: Dispatcher['wake'] = (id, options) => {
      asked.push(id)
      return dispatcher.wake(id, options)
    }
    const send = sendAndWake(store, { ...dispatcher, wake }, () => {})
    await dispatcher.wake('b', { kind: 'coder' })
    const [locked, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const other = store.transaction(async (transaction) => {
      await dispatcher.wake('b', { kind: 'coder', transaction })
      locked.resolve()
      await free.promise
    })
    await locked.promise
    const [c, b, a] = ids.map((id) => send({ id, item: item('late', 'Hi'), wake: { kind: 'coder' } }))
    await Promise.all([a, c])
    expect(asked.slice(0, 3)).toEqual(['a', 'b', 'c']) // the same order in all processes: else their groups wait for each other
    free.resolve()
    await Promise.all([b, other])
    for (const id of ids) expect(await inboxOf(store, id)).toHaveLength(1)
  })

  test('FL20 nor does it hold up wakes of other sessions', async () => {
    const store = kit.openNew()
    const dispatcher = await open()
    const [locked, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const other = store.transaction(async (transaction) => {
      await dispatcher.wake('b', { kind: 'coder', transaction })
      locked.resolve()
      await free.promise
    })
    await locked.promise
    const [a, b, c] = ['a', 'b', 'c'].map((id) => dispatcher.wake(id, { kind: 'coder' }))
    await Promise.all([a, c])
    free.resolve()
    await Promise.all([b, other])
    expect((await dispatcher.stats!()).waiting).toBe(3)
  })

  test('FL44 wakes of the same time are one statement', async () => {
    const dispatcher = await open(kit.proxied())
    await dispatcher.wake('a', { kind: 'coder' })
    const statements = (): number => kit.proxy.statements - kit.proxy.executionsOf('pg_notify')
    const before = statements()
    await Promise.all(['b', 'c', 'd', "e'"].map((id) => dispatcher.wake(id, { kind: 'coder' })))
    expect(statements() - before).toBe(1)
    expect((await dispatcher.stats!()).waiting).toBe(5)
  })

  test('FL92 wakes of sessions whose jobs wait already change nothing, in two statements; urgent ones are claimed first', async () => {
    const dispatcher = await open(kit.proxied())
    const ids = Array.from({ length: 30 }, (_, i) => `s${i}`)
    for (const id of ids) await dispatcher.wake(id, { kind: 'coder' })
    await dispatcher.wake('other', { kind: 'planner' })
    const rows = () => kit.admin.unsafe(`select * from ${schema}.job order by id`)
    const before = await rows()
    const statements = kit.proxy.statements
    await Promise.all(ids.map((id) => dispatcher.wake(id, { kind: 'coder' })))
    expect(kit.proxy.statements - kit.proxy.executionsOf('pg_notify') - statements).toBeLessThanOrEqual(2)
    expect(await rows()).toEqual(before)
    await dispatcher.wake('other', { kind: 'planner', isUrgent: true })
    await dispatcher.wake('s7', { kind: 'coder', isUrgent: true })
    const first = await dispatcher.claim(1, options)
    const second = await dispatcher.claim(1, options)
    expect([...first, ...second].map(({ sessionId }) => sessionId).toSorted()).toEqual(['other', 's7'])
  })

  test('FL44 an idle worker, a wake, a claim and a beat cost a few statements', async () => {
    const counted = await open(kit.proxied())
    const statements = (): number => kit.proxy.statements - kit.proxy.executionsOf('pg_notify')
    /** Without notices, which are sent apart, at most one in 50 ms. */
    async function cost(work: () => Promise<unknown>): Promise<number> {
      const before = statements()
      await work()
      return statements() - before
    }
    const idle = await cost(async () => {
      for (let i = 0; i < 10; i++) await counted.claim(20, options)
    })
    expect(idle).toBeLessThanOrEqual(12) // one look each, and now and then one for silent workers
    const wakes = await cost(async () => {
      for (let i = 0; i < 20; i++) await counted.wake(`s${i}`, { kind: 'coder', tenant: `t${i % 5}` })
    })
    expect(wakes).toBe(20)
    let jobs = await counted.claim(20, options)
    await counted.settle(jobs)
    for (let i = 0; i < 20; i++) await counted.wake(`s${i}`, { kind: 'coder', tenant: `t${i % 5}` })
    const claim = await cost(async () => {
      jobs = await counted.claim(20, options)
    })
    expect(jobs).toHaveLength(20)
    expect(claim).toBeLessThanOrEqual(4)
    expect(await cost(() => counted.extend(jobs))).toBe(1)
    expect(await cost(() => counted.settle(jobs))).toBe(1)
    if (process.env.LIBERO_SOAK) console.log({ idle: idle / 10, wake: wakes / 20, claim })
  })

  test('FL44 a commit of the store tells other processes of a wake, in no statement of the transaction', async () => {
    const [counted, other] = [await open(kit.proxied()), await open()]
    const store = kit.openNew()
    let calls = 0
    const stop = other.onWake!(() => calls++)
    await eventually(() => calls > 0) // it listens
    const notices = (): number => kit.proxy.executionsOf('pg_notify')
    const first = notices()
    await store.transaction((sql) => counted.wake('warm', { kind: 'coder', transaction: sql }))
    await eventually(() => notices() > first)
    const before = notices()
    calls = 0
    await store.transaction(async (sql) => {
      await counted.wake('s', { kind: 'coder', transaction: sql })
      expect(notices()).toBe(before)
    })
    await eventually(() => notices() > before && calls > 0)
    stop()
    const jobs = await other.claim(5, options)
    expect(jobs.map(({ sessionId }) => sessionId)).toContain('s')
  })

  test('FL45 jobs survive the server: statements wait for it, and notifications come again', async () => {
    const dispatcher = await open(kit.proxied())
    let calls = 0
    onTestFinished(dispatcher.onWake!(() => calls++))
    await dispatcher.wake('s', { kind: 'coder' })
    const jobs = await dispatcher.claim(5, options)
    kit.proxy.refuse(true)
    await kit.admin`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'libero'`
    const waking = dispatcher.wake('t', { kind: 'coder' })
    const keeping = dispatcher.extend(jobs)
    setTimeout(() => kit.proxy.refuse(false), 300)
    await Promise.all([waking, keeping])
    expect((await dispatcher.claim(5, options)).map(({ sessionId }) => sessionId)).toEqual(['t'])
    calls = 0
    await eventually(async () => {
      await dispatcher.claim(0, options) // a worker calls it anyway, and it listens again
      await dispatcher.wake(`u${calls}`, { kind: 'planner' })
      return calls > 0
    })
  })

  test('FL94 a wake in a transaction of another database counts right after its commit', async () => {
    const dispatcher = await open()
    await kit.admin.unsafe('create database elsewhere')
    const other = kit.openNew({ url: kit.server.url().replace(/\/[^/]*$/, '/elsewhere') })
    await other.transaction(async (sql) => {
      await dispatcher.wake('s', { kind: 'coder', transaction: sql })
      expect(await dispatcher.claim(5, options)).toEqual([])
    })
    await eventually(async () => (await dispatcher.claim(5, options)).length === 1)
  })

  test('FL99 messages are accepted while the server of the queue is away, also by a process that never reached it', async () => {
    await kit.admin.unsafe('create database queue_alone')
    let proxy = await startProxy(kit.server.port)
    onTestFinished(() => proxy.close())
    const clock = fakeClock(Date.now())
    const errors: string[] = []
    const store = kit.openNew()
    const fleetOf = () => {
      const url = kit.server.url({ port: proxy.port }).replace(/\/[^/]*$/, '/queue_alone')
      const fleet = createFleet({
        ...{ store: kit.open(), dispatcher: create({ url, retryMs: 200 }), clock },
        kinds: { coder: ({ session }) => createAgent({ provider: scripted('Hello.'), session }) },
        onError: ({ message }) => errors.push(message),
      })
      onTestFinished(() => fleet.close())
      return fleet
    }
    const message = { kind: 'coder', prompt: 'Hi' }
    const before = fleetOf()
    await before.send('before', message)
    await eventually(async () => (await before.status()).jobs?.waiting === 1) // its wake follows the commit
    await proxy.close()
    await before.send('known', message)
    await fleetOf().send('new', message)
    await eventually(() => errors.length === 2)
    expect(errors).toEqual(
      expect.arrayContaining(
        ['known', 'new'].map((id) => `Session "${id}" could not be woken; the reconciler finds it`),
      ),
    )
    proxy = await startProxy(kit.server.port, proxy.port)
    const worker = fleetOf().work()
    await eventually(async () => {
      await clock.advance(1000)
      const all = await Promise.all(['before', 'known', 'new'].map((id) => store.find(id)))
      return all.every((summary) => summary?.turns === 2)
    })
    const closing = worker.close()
    await eventually(async () => {
      await clock.advance(1000)
      return worker.status().state === 'closed'
    })
    await closing
  })

  test('FL45 wrong options and limits are named', async () => {
    expect(() => create({ schema: 'No Schema' })).toThrow('cannot use the schema "No Schema"; use lower-case letters')
    const dispatcher = await open()
    await dispatcher.wake('s', { kind: 'coder' })
    const claim = dispatcher.claim(1, { kinds: ['coder'], tenantLimits: { default: 0 } })
    await expect(claim).rejects.toThrow('The limit of the tenant "default" is 0')
  })

  if (noPgbouncer) test.skip(`FL46 PgBouncer: NOT tested here: ${noPgbouncer}`, () => {})
  else
    describe('through PgBouncer in transaction mode', () => {
      let bouncer: Pgbouncer
      beforeAll(async () => {
        bouncer = await startPgbouncer(kit.server)
      }, 60_000)
      afterAll(() => bouncer?.stop())
      const bounced = () => ({
        url: `${kit.server.url({ port: bouncer.port })}?prepare=false`,
        listen: kit.server.url(),
      })

      for (const { name, run } of sampleOf(contract(bounced), 4)) test(`FL46 ${name}`, run)
      test('FL46 jobs go through it', async () => {
        const dispatcher = await open(bounced())
        await dispatcher.wake('s', { kind: 'coder' })
        await dispatcher.settle(await dispatcher.claim(5, options))
        expect(await dispatcher.stats!()).toEqual({ waiting: 0, claimed: 0, later: 0 })
      })
    })
}
