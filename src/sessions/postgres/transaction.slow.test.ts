import { expect, test } from 'vitest'
import { eventually, withPostgres } from '../../../test/postgres-kit.ts'
import { StoreError } from '../../core/errors.ts'
import { item, Watcher, write } from '../../testing/store-contract-kit.ts'
import { afterCommit } from './after-commit.ts'

withPostgres('a transaction of a Postgres store', (kit) => {
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
