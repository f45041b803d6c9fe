import { expect, test } from 'vitest'
import { withPostgres } from '../../../test/postgres-kit.ts'
import { entry, item, lease, write } from '../../testing/store-contract-kit.ts'
import type { Query } from './database.ts'
import { groupedStatement } from './grouped-statement.ts'

withPostgres('groups in Postgres', (kit) => {
  test('ST12 appends of many sessions share statements, and so commits', async () => {
    const store = kit.openNew(kit.proxied())
    const ids = Array.from({ length: 30 }, (_, i) => `s${i}`)
    const epochs = await Promise.all(ids.map((id) => write(store, id, 1)))
    const before = kit.proxy.statements
    for (let head = 1; head <= 4; head++)
      await Promise.all(ids.map((id, i) => store.append(id, [entry(head + 1)], { epoch: epochs[i]!, head })))
    expect(kit.proxy.statements - before).toBeLessThan(20)
    const kept = await Promise.all(ids.map((id) => store.read(id)))
    expect(kept.map(({ length }) => length)).toEqual(ids.map(() => 5))
  })

  test('ST12 of a group, those that are refused fail and the others are written', async () => {
    const store = kit.openNew(kit.proxied())
    const [a, b] = [await write(store, 'a', 1), await write(store, 'b', 1)]
    const texts = ['"{}\\', '', 'NULL', '\u0000 \ud800'].map((text) => item(text || 'empty', text))
    const note = { ...entry(2), text: texts.map(({ content }) => JSON.stringify(content)).join() }
    const outcomes = await Promise.allSettled([
      store.append('a', [note], { epoch: a, head: 1 }),
      store.append('a', [entry(9)], { epoch: a, head: 8 }),
      store.append('b', [entry(2)], { epoch: b + 99, head: 1 }),
      store.append('c', [entry(2)], { epoch: 1.5, head: 1 }), // the server refuses the whole group
      store.append('b', [entry(2)], { epoch: b, head: 1 }),
      store.lease('b', { owner: 'rival', ttlMs: 1000 }),
      store.lease('not there', { owner: 'rival', ttlMs: 1000 }),
    ])
    const names = outcomes.map((outcome) => outcome.status === 'rejected' && (outcome.reason as Error).name)
    const refused = ['LeaseLostError', 'LeaseLostError', 'StoreError']
    expect(names).toEqual([false, ...refused, false, 'SessionBusyError', 'SessionNotFoundError'])
    expect(await Promise.all(['a', 'b'].map((id) => store.read(id)))).toEqual([
      [entry(1), note],
      [entry(1), entry(2)],
    ])
    expect((await lease(store, 'b')).inbox).toEqual([])
  })

  test('ST12 messages that are sent to a session at the same time stay in their order', async () => {
    const store = kit.openNew()
    const ids = ['b', 'a', 'c']
    for (const id of ids) await write(store, id, 1)
    const keys = Array.from({ length: 60 }, (_, i) => `k${i + 100}`)
    await store.transaction(async (transaction) => {
      await Promise.all(keys.map((key, i) => store.send(ids[i % 3]!, item(key, key), { transaction })))
    })
    for (const [i, id] of ids.entries()) {
      const { inbox } = await lease(store, id)
      expect(inbox.map(({ clientKey }) => clientKey)).toEqual(keys.filter((_, key) => key % 3 === i))
    }
  })

  test('ST12 a lease that others have locked holds up neither the leases beside it nor the beat of the process', async () => {
    const store = kit.openNew()
    for (const id of ['held', 'a', 'b', 'c']) await write(store, id, 1)
    const take = (id: string) => store.lease(id, { owner: 'one', ttlMs: 800, takeOver: true, ofProcess: true })
    const { lost } = await take('held')
    const [locked, free] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const other = kit.admin.begin(async (sql) => {
      await sql.unsafe(`select from ${kit.schema}.lease join ${kit.schema}.session on key = session
        where id = 'b' for update of lease`)
      locked.resolve()
      await free.promise
    })
    await locked.promise
    // The beat is old enough for a lease to renew it, and too young for the next look.
    await new Promise((resolve) => setTimeout(resolve, 215))
    const [a, b, c] = ['a', 'b', 'c'].map(take)
    await Promise.all([a, c])
    await new Promise((resolve) => setTimeout(resolve, 1500))
    await expect(kit.open().lease('held', { owner: 'rival', ttlMs: 800 })).rejects.toThrow('is being written')
    free.resolve()
    await Promise.all([b, other])
    expect(lost?.aborted).toBe(false)
  })

  test('ST12 a group that is held up is not tried again as a group', async () => {
    const asked: string[] = []
    const query: Query = async (statement, values, isGivenUp) => {
      const isGroup = statement.includes('unnest')
      asked.push(isGroup ? 'group' : String(values))
      const busy = Object.assign(new Error('lock timeout'), { code: '55P03' })
      if (isGroup && isGivenUp?.(busy)) throw busy
      return [{ call: 1, n: 1 }]
    }
    const call = groupedStatement('select $1::bigint as n')(query)
    await Promise.all(['1', '2'].map((n) => call(n)))
    expect(asked).toEqual(['group', '1', '2'])
  })

  test('ST12 a group has a bounded number of calls', async () => {
    const sizes: number[] = []
    const call = groupedStatement('select $1::bigint as n')(async (_, [list] = []) => {
      sizes.push(String(list).split(',').length)
      return []
    })
    await Promise.all(Array.from({ length: 1000 }, (_, i) => call(i)))
    expect(sizes.reduce((sum, size) => sum + size)).toBe(1000)
    expect(Math.max(...sizes)).toBeLessThanOrEqual(200)
  })
})
