import postgres from 'postgres'
import { afterEach, expect, onTestFinished, test } from 'vitest'
import { createAgent } from '../../src/create-agent.ts'
import { createFleet } from '../../src/durable/create-fleet.ts'
import type { Dispatcher } from '../../src/durable/dispatcher.ts'
import { inProcessDispatcher } from '../../src/durable/dispatchers/in-process.ts'
import type { Fleet, FleetOptions } from '../../src/durable/fleet.ts'
import { inboxOf } from '../../src/sessions/pending.ts'
import type { PostgresSql, PostgresTransaction } from '../../src/sessions/postgres/driver.ts'
import { type FakeClock, fakeClock, scripted } from '../../src/testing/index.ts'
import { eventually, withPostgres } from '../postgres-kit.ts'
import { rounds } from '../soak.ts'

withPostgres('a fleet on Postgres', (kit) => {
  const fleets: Fleet[] = []
  // Before the stores of the test are closed.
  afterEach(async () => {
    await Promise.all(fleets.splice(0).map((fleet) => fleet.close()))
  })

  function open(options: Partial<FleetOptions> = {}): Fleet {
    const fleet = createFleet({
      ...{ store: options.store ?? kit.open(), dispatcher: inProcessDispatcher() },
      kinds: { coder: ({ session }) => createAgent({ provider: scripted('Hello.'), session }) },
      ...options,
    })
    fleets.push(fleet)
    return fleet
  }

  /** A queue that is a table beside the sessions. */
  function tableDispatcher(fails?: () => Promise<void>): Dispatcher {
    return {
      ...inProcessDispatcher(),
      async wake(id, { transaction }) {
        await transaction!.unsafe(`insert into ${kit.schema}.jobs values ($1)`, [id])
        await fails?.()
      },
    }
  }

  test('FL20 a message and its wake are stored together or not at all, also if the sender dies between them', async () => {
    const store = kit.openNew()
    await store.identity!()
    await kit.admin.unsafe(`create table ${kit.schema}.jobs (id text)`)
    const jobs = async (): Promise<number> => (await kit.admin.unsafe(`select id from ${kit.schema}.jobs`)).length
    const message = { kind: 'coder', prompt: 'Hi' }

    const fails = async (): Promise<void> => {
      throw new Error('the queue refuses')
    }
    await expect(open({ dispatcher: tableDispatcher(fails) }).send('s', message)).rejects.toThrow('the queue refuses')
    expect([await inboxOf(kit.open(), 's'), await jobs()]).toEqual([[], 0])

    // The connection of the sender ends in the middle, as when its process is killed.
    const dying = createFleet({
      ...{ store: kit.open({ max: 1, retryMs: 0 }), kinds: {} },
      dispatcher: tableDispatcher(async () => {
        await kit.admin`select pg_terminate_backend(pid) from pg_stat_activity where state = 'idle in transaction'`
      }),
    })
    await expect(dying.send('s', message)).rejects.toThrow()
    await dying.close()
    expect([await inboxOf(kit.open(), 's'), await jobs()]).toEqual([[], 0])

    await open({ store: kit.open(), dispatcher: tableDispatcher() }).send('s', message)
    expect([(await inboxOf(kit.open(), 's')).length, await jobs()]).toEqual([1, 1])
  })

  test('FL94 an idle worker of this process gets a message at once, without waiting for its next look', async () => {
    const clock = fakeClock(Date.now()) // which never advances: no look, no poll
    const inner = kit.openNew()
    const transaction: typeof inner.transaction = (work) =>
      inner.transaction(async (sql) => {
        const result = await work(sql)
        await new Promise((resolve) => setTimeout(resolve, 100)) // a commit that takes its time
        return result
      })
    const store = { ...inner, transaction }
    const fleet = open({ store, clock, dispatcher: inProcessDispatcher({ clock }) })
    const worker = fleet.work()
    await fleet.send('s', { kind: 'coder', prompt: 'Hi' })
    await eventually(async () => {
      await clock.advance(0)
      return worker.status().runs === 1 && worker.status().running === 0
    })
  })

  test('FL21 workers of several processes see each other, and one that was never closed is forgotten', async () => {
    kit.openNew()
    const [first, second] = [open({ store: kit.open() }), open({ store: kit.open() })]
    const worker = first.work({ concurrency: 7, address: 'http://10.0.0.1:1' })
    await eventually(async () => (await second.status()).workers.length === 1)
    expect((await second.status()).workers).toMatchObject([{ id: worker.id, slots: 7, address: 'http://10.0.0.1:1' }])
    await kit.admin.unsafe(`update ${kit.schema}.worker set beat = beat - 20000`)
    expect((await second.status()).workers).toEqual([])
  })

  test('FL22 an idle worker, and one with many sessions that think, make few statements, whatever their number', async () => {
    const sql = postgres(kit.server.url(), { max: 5, onnotice: () => {} })
    onTestFinished(() => sql.end({ timeout: 1 }))
    const counter = counting(sql as unknown as PostgresSql)
    const clock = fakeClock(Date.now())
    const store = kit.openNew({ sql: counter.sql, clock, listen: false })
    const count = rounds(100, 1000)
    const fleet = open({
      ...{ store, clock, dispatcher: inProcessDispatcher({ clock }) },
      kinds: {
        coder: ({ session }) =>
          createAgent({ provider: scripted(() => new Promise<string>(() => {})), session, clock }),
      },
    })
    for (let i = 0; i < count; i++) await fleet.send(`s${i}`, { kind: 'coder', prompt: 'Think' })
    const worker = fleet.work({ concurrency: count })
    await eventually(async () => {
      await clock.advance(0)
      return worker.status().runs === count && counter.inFlight() === 0
    })
    const made = await counter.during(clock, 20)
    expect(made).toBeLessThan(20 * 3)
    expect(made).toBeGreaterThan(5) // it beats and looks

    const closing = worker.close()
    await eventually(async () => {
      await clock.advance(0)
      return worker.status().state === 'closed'
    })
    await closing
    const another = kit.open({ sql: counter.sql, clock, listen: false })
    const idle = open({ store: another, clock, kinds: { other: () => createAgent({ provider: scripted() }) } })
    idle.work({ concurrency: 10 })
    await counter.during(clock, 10)
    expect(await counter.during(clock, 20)).toBeLessThan(20 * 3)
  })
})

/** Counts the statements of a client. */
function counting(inner: PostgresSql) {
  let count = 0
  let inFlight = 0
  const counted = (sql: PostgresTransaction): PostgresTransaction['unsafe'] => {
    return (statement, values, options) => {
      count++
      inFlight++
      const answer = Promise.resolve(sql.unsafe(statement, values, options))
      return answer.finally(() => inFlight--)
    }
  }
  const sql: PostgresSql = {
    unsafe: counted(inner),
    begin(work) {
      count += 2
      return inner.begin((transaction) => work({ unsafe: counted(transaction) }))
    },
    listen: (channel, onMessage) => inner.listen(channel, onMessage),
  }
  return {
    sql,
    inFlight: () => inFlight,
    /** How many statements are made in so many seconds of the clock. */
    async during(clock: FakeClock, seconds: number): Promise<number> {
      const before = count
      for (let i = 0; i < seconds * 4; i++) {
        await clock.advance(250)
        await eventually(() => inFlight === 0)
      }
      return count - before
    },
  }
}
