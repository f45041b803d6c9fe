import postgres from 'postgres'
import { expect, onTestFinished, test } from 'vitest'
import { eventually, withPostgres } from '../../../test/postgres-kit.ts'
import { StoreError } from '../../core/errors.ts'
import type { SessionStore } from '../../core/store.ts'
import { fakeClock } from '../../testing/index.ts'
import { entry, hour, input, item, lease, Watcher, write } from '../../testing/store-contract-kit.ts'
import { afterCommit } from './after-commit.ts'

withPostgres('messages and notifications in Postgres', (kit) => {
  /** Collects what is notified on the channels of the schema and of all processes that have a lease. */
  async function notifications(): Promise<string[]> {
    const client = postgres(kit.server.url(), { max: 1 })
    onTestFinished(() => client.end({ timeout: 1 }))
    const heard: string[] = []
    const holders = await kit.admin`select distinct process from ${kit.admin(kit.schema)}.lease`
    for (const channel of [kit.schema, ...holders.map(({ process }) => `libero_${process}`)])
      await client.listen(channel, (payload) => heard.push(`${channel} ${payload}`))
    return heard
  }

  /** What was heard so far. Notifications are in order: when this one is there, all before it are. */
  async function settle(heard: string[]): Promise<string[]> {
    const last = crypto.randomUUID()
    await kit.admin.notify(kit.schema, last)
    await eventually(() => heard.includes(`${kit.schema} ${last}`))
    return heard.splice(0, heard.indexOf(`${kit.schema} ${last}`) + 1).slice(0, -1)
  }

  test('ST14 an append sends no notification; a process tells which sessions it changed, once in 100 ms', async () => {
    const clock = fakeClock()
    const store = kit.openNew({ clock })
    const epochs = [await write(store, 's', 1), await write(store, 't', 1)]
    const heard = await notifications()
    for (let seq = 2; seq <= 40; seq++)
      for (const [i, id] of ['s', 't'].entries())
        await store.append(id, [entry(seq)], { epoch: epochs[i]!, head: seq - 1 })
    expect(await settle(heard)).toEqual([])
    await clock.advance(200)
    await eventually(() => heard.length > 0)
    expect(await settle(heard)).toEqual([`${kit.schema} ["s","t"]`])
    await clock.advance(60_000)
    expect(await settle(heard)).toEqual([])
  })

  test('VE04 a store that is closed tells of its last entries first', async () => {
    const store = kit.openNew({ clock: fakeClock() })
    await store.list() // makes the tables
    const heard = await notifications()
    await write(store, 's', 1)
    await store.close?.()
    await eventually(() => heard.length > 0)
    expect(await settle(heard)).toEqual([`${kit.schema} ["s"]`])
  })

  test('ST14 many and long ids are told in several notifications of one statement', async () => {
    const clock = fakeClock()
    const store = kit.openNew({ ...kit.proxied(), clock })
    const ids = Array.from({ length: 30 }, (_, i) => `${'ä\0'.repeat(150)}${i}`)
    for (const id of ids) await write(store, id, 1)
    const heard = await notifications()
    const before = kit.proxy.statements
    await clock.advance(200)
    await eventually(() => heard.length > 1)
    const payloads = (await settle(heard)).map((line) => line.slice(kit.schema.length + 1))
    expect(payloads.flatMap((payload) => JSON.parse(payload)).sort()).toEqual(ids.toSorted())
    expect(kit.proxy.statements - before).toBe(1)
  })

  test('ST14 a message is told only to the process that holds the lease, of the root for a child', async () => {
    const clock = fakeClock(Date.now())
    const [ann, bob] = [kit.openNew({ clock }), kit.open({ clock })]
    const epoch = await write(ann, 'p', 1)
    await ann.append('p/c', [entry(1)], { epoch, head: 0, holder: 'p', parent: 'p' })
    await write(bob, 'q', 1, 'text', 'bob')
    await clock.advance(200)
    const heard = await notifications()
    const channelOf = async (id: string): Promise<string> => {
      const schema = kit.admin(kit.schema)
      const [row] =
        await kit.admin`select process from ${schema}.lease join ${schema}.session on key = session where id = ${id}`
      return `libero_${row!.process} `
    }
    const sender = kit.open()
    await sender.send('p', item('k1', 'to ann'))
    await sender.send('p', item('k1', 'to ann'))
    await sender.send('p/c', item('k2', 'to her child'))
    await sender.send('q', item('k3', 'to bob'))
    const told = (await settle(heard)).filter((line) => line.startsWith('libero_'))
    expect(told).toEqual([await channelOf('p'), await channelOf('p'), await channelOf('q')])
  })

  test('ST15 however many messages come, one look finds those of all sessions of a process', async () => {
    const clock = fakeClock(Date.now())
    const store = kit.openNew({ ...kit.proxied(), clock, pollMs: hour })
    const start = kit.proxy.executionsOf(`'seen' as kind`)
    const looks = (): number => kit.proxy.executionsOf(`'seen' as kind`) - start
    const ids = Array.from({ length: 50 }, (_, i) => `s${i}`)
    for (const id of ids) await lease(store, id)
    const watchers = ids.map((id) => new Watcher(store, id))
    await eventually(async () => (await listening()) === 1)
    await eventually(() => looks() === 1) // after it began to listen
    const sender = kit.open()
    await kit.admin.begin(async (sql) => {
      for (const id of ids) await sender.send(id, item('k', id), { transaction: sql })
    })
    await eventually(() => watchers.every(({ inbox }) => inbox.length === 1))
    expect(looks()).toBe(2)
    await Promise.all(watchers.map((watcher) => watcher.stop()))
  })

  test('ST16 a message is sent with the transaction of the caller', async () => {
    const store = kit.openNew()
    const epoch = await write(store, 's', 1)
    const watcher = new Watcher(store, 's', 1)
    const heard = await notifications()
    await kit.admin.unsafe('create table if not exists orders (id text)')
    await kit.admin.begin(async (sql) => {
      await sql`insert into orders values ('o1')`
      await store.send('s', item('k1', 'order o1'), { transaction: sql })
      // The transaction is open: no process sees the message, and the writer does not wait for it.
      await store.append('s', [entry(2)], { epoch, head: 1 })
      expect(await inboxOf(store)).toEqual([])
      expect((await settle(heard)).filter((line) => line.startsWith('libero_'))).toEqual([])
    })
    await eventually(() => watcher.inbox.length === 1)
    expect(watcher.inbox).toEqual([item('k1', 'order o1')])
    expect((await settle(heard)).filter((line) => line.startsWith('libero_'))).toHaveLength(1)
    await store.append('s', [input(3, 'k1', 'order o1')], { epoch, head: 2 })
    expect(await inboxOf(store)).toEqual([])
    await watcher.stop()
  })

  test('ST16 if the transaction is rolled back, nothing was sent and no process is notified', async () => {
    const store = kit.openNew()
    await write(store, 's', 1)
    const heard = await notifications()
    const failed = kit.admin.begin(async (sql) => {
      await store.send('s', item('k1', 'never'), { transaction: sql })
      throw new Error('the order is wrong')
    })
    await expect(failed).rejects.toThrow('the order is wrong')
    expect(await inboxOf(store)).toEqual([])
    expect((await settle(heard)).filter((line) => line.startsWith('libero_'))).toEqual([])
    await store.send('s', item('k1', 'now'))
    expect(await inboxOf(store)).toEqual([item('k1', 'now')])
  })

  test('ST16 for a session that is not there the transaction of the caller stays usable', async () => {
    const store = kit.openNew()
    await write(store, 's', 1)
    await kit.admin.begin(async (sql) => {
      await expect(store.send('none', item('k', 'x'), { transaction: sql })).rejects.toThrow('no session "none"')
      await store.send('s', item('k', 'to another'), { transaction: sql })
    })
    expect(await inboxOf(store)).toEqual([item('k', 'to another')])
  })

  test('ST16 a transaction in another database is an error of the store', async () => {
    const store = kit.openNew()
    await write(store, 's', 1)
    await kit.admin.unsafe('create database elsewhere')
    const client = postgres(kit.server.url().replace(/postgres$/, 'elsewhere'), { max: 1 })
    onTestFinished(() => client.end({ timeout: 1 }))
    const sent = client.begin((sql) => store.send('s', item('k', 'x'), { transaction: sql }))
    await expect(sent).rejects.toMatchObject({ name: 'StoreError', code: 'corrupt' })
  })

  const listening = async (): Promise<number> =>
    (await kit.admin`select pid from pg_stat_activity where query ilike 'listen %' and application_name = 'libero'`)
      .length

  /** The messages that wait for the session `s`, as a renewal of its lease gives them. */
  async function inboxOf(store: SessionStore): Promise<unknown> {
    return (await store.lease('s', { owner: 'ann', ttlMs: hour, epoch: await epochOf('s') })).inbox
  }

  async function epochOf(id: string): Promise<number> {
    const schema = kit.admin(kit.schema)
    const [row] =
      await kit.admin`select epoch from ${schema}.lease join ${schema}.session on key = session where id = ${id}`
    return Number(row!.epoch)
  }

  test('FL30 a message and a row of the caller are written together or not at all', async () => {
    const store = kit.openNew()
    await write(store, 's', 1)
    await store.transaction((sql) => Promise.resolve(sql.unsafe(`create table ${store.schema}.orders (id text)`)))
    const add = `insert into ${store.schema}.orders values ($1)`
    const answer = await store.transaction(async (sql) => {
      await store.send('s', item('k1', 'kept'), { transaction: sql })
      await sql.unsafe(add, ['o1'])
      return 'done'
    })
    expect(answer).toBe('done')
    const failure = new Error('the caller changed its mind')
    const failed = store.transaction(async (sql) => {
      await store.send('s', item('k2', 'never'), { transaction: sql })
      await sql.unsafe(add, ['o2'])
      throw failure
    })
    await expect(failed).rejects.toBe(failure)
    const orders = await store.transaction(async (sql) => sql.unsafe(`select id from ${store.schema}.orders`))
    expect(orders.map(({ id }) => id)).toEqual(['o1'])
    const watcher = new Watcher(store, 's')
    await eventually(() => watcher.inbox.length > 0)
    expect(watcher.inbox.map(({ clientKey }) => clientKey)).toEqual(['k1'])
    await watcher.stop()
  })

  test('FL30 a transaction whose connection is lost is done again, and what failed is a StoreError', async () => {
    const store = kit.openNew({ ...kit.proxied(), max: 1 })
    await write(store, 's', 1)
    let attempts = 0
    let commits = 0
    kit.proxy.cut('send_2', 1, 'after')
    await store.transaction(async (sql) => {
      attempts++
      afterCommit(sql, () => commits++)
      await store.send('s', item('k1', 'once'), { transaction: sql })
    })
    expect({ attempts, commits }).toEqual({ attempts: 2, commits: 1 })
    const failed = store.transaction(async (sql) => sql.unsafe('select * from nothing'))
    await expect(failed).rejects.toThrow(StoreError)
    await kit.admin.begin(async (sql) => expect(afterCommit(sql, () => commits++)).toBe(false))
  })
})
