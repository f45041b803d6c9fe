import { expect, test } from 'vitest'
import { withPostgres } from '../../../test/postgres-kit.ts'
import type { LogEntry } from '../../core/log.ts'
import type { SessionStore } from '../../core/store.ts'
import { bytes, entry, lease, write } from '../../testing/store-contract-kit.ts'

withPostgres('forks in Postgres', (kit) => {
  /** A fork with one entry of its own. */
  async function fork(store: SessionStore, id: string, base: string, head: number): Promise<number> {
    const { epoch } = await lease(store, id)
    await store.append(id, [entry(head + 1, `of ${id}`)], { epoch, head, base })
    return epoch
  }

  const read = async (store: SessionStore, id: string): Promise<string[]> =>
    (await store.read(id)).map(({ id }: LogEntry) => id)

  const rows = async (table: string): Promise<number> =>
    Number((await kit.admin.unsafe(`select count(*) from ${kit.schema}.${table}`))[0]!.count)

  const ids = (count: number, ...own: string[]): string[] => [
    ...Array.from({ length: count }, (_, i) => entry(i + 1).id),
    ...own.map((name, i) => entry(count + 1 + i, `of ${name}`).id),
  ]

  test('ST10 a fork, and a fork of it, share entries and copy none', async () => {
    const store = kit.openNew()
    await write(store, 'a', 10)
    await fork(store, 'b', 'a', 7)
    await fork(store, 'c', 'b', 8)
    await fork(store, 'd', 'c', 3)
    expect(await rows('entry')).toBe(13)
    expect(await read(store, 'b')).toEqual(ids(7, 'b'))
    expect(await read(store, 'c')).toEqual(ids(7, 'b', 'c'))
    expect(await read(store, 'd')).toEqual(ids(3, 'd'))
    expect(await store.find('c')).toMatchObject({ head: 9, createdAt: entry(1).at, updatedAt: entry(9).at })
    expect((await store.read('c', { after: 6, limit: 2 })).map(({ seq }) => seq)).toEqual([7, 8])
  })

  test('ST10 the first append of a fork may be repeated, and one of entries that are not there is refused', async () => {
    const store = kit.openNew()
    await write(store, 'a', 5)
    const epoch = await fork(store, 'b', 'a', 5)
    await store.append('b', [entry(6, 'of b')], { epoch, head: 5, base: 'a' })
    expect(await read(store, 'b')).toEqual(ids(5, 'b'))
    for (const [base, head] of [
      ['a', 6],
      ['none', 1],
    ] as const)
      await expect(fork(store, 'c', base, head)).rejects.toMatchObject({ name: 'LeaseLostError' })
    expect(await store.find('c')).toBeUndefined()
  })

  test('ST10 ST21 an original that is deleted keeps what its forks need, until the last one is deleted', async () => {
    const store = kit.openNew()
    await write(store, 'a', 10)
    const blob = await store.blobs('a').put(bytes)
    await fork(store, 'b', 'a', 9)
    await fork(store, 'c', 'b', 10)
    await fork(store, 'early', 'a', 4)
    await store.delete('a')
    await store.delete('b')
    expect((await store.list({ order: 'id' })).sessions.map(({ id }) => id)).toEqual(['c', 'early'])
    expect(await read(store, 'c')).toEqual(ids(9, 'b', 'c'))
    expect(await rows('entry')).toBe(12) // nine shared ones, and one of each fork
    await write(store, 'a', 1, 'another a')
    expect(await store.read('a')).toEqual([entry(1, 'another a')])
    expect(await read(store, 'c')).toEqual(ids(9, 'b', 'c'))
    await store.delete('a')
    await store.delete('c')
    expect(await rows('entry')).toBe(5) // four shared ones and one of its own
    expect(await store.blobs('early').get(blob)).toEqual(bytes)
    expect(await read(store, 'early')).toEqual(ids(4, 'early'))
    await store.delete('early')
    for (const table of ['session', 'entry', 'blob', 'inbox', 'lease', 'listed', 'recent'])
      expect([table, await rows(table)]).toEqual([table, 0])
  })

  test('ST10 a fork that is made while its original is deleted has its entries, or is refused', async () => {
    const stores = [kit.openNew(), kit.open()]
    for (let round = 0; round < 20; round++) {
      await write(stores[0]!, 'a', 5)
      const [made] = await Promise.allSettled([fork(stores[0]!, `f${round}`, 'a', 5), stores[1]!.delete('a')])
      if (made.status === 'fulfilled') expect((await read(stores[0]!, `f${round}`)).length).toBe(6)
      else expect(await stores[0]!.find(`f${round}`)).toBeUndefined()
    }
  })
})
