import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import type { LogEntry } from '../../src/core/log.ts'
import { createSqliteStore, rescueSqlite, type SqliteStore } from '../../src/sessions/sqlite-store.ts'
import { bytes, entry, item, lease, write } from '../../src/testing/store-contract-kit.ts'
import { databaseFolder } from './store-sqlite-kit.ts'

const at = databaseFolder()
const large = (seq: number): LogEntry => entry(seq, `large ${seq} `.repeat(50_000))

/** Forks `base` at an entry and appends one more. */
async function fork(store: SqliteStore, base: string, head: number, id: string): Promise<LogEntry[]> {
  const { epoch } = await lease(store, id)
  const own = entry(head + 1, `of ${id}`)
  await store.append(id, [own], { epoch, head, base })
  return [...(await store.read(base, { before: head + 1 })), own]
}

test('ST10 a fork shares the entries and blobs of its original, and a fork of a fork those of both', async () => {
  const path = at('shared.db')
  const store = createSqliteStore({ path })
  const epoch = await write(store, 'original', 3)
  await store.append('original', [large(4), entry(5)], { epoch, head: 3 })
  const blob = await store.blobs('original').put(bytes)
  const first = await fork(store, 'original', 4, 'fork')
  const second = await fork(store, 'fork', 5, 'fork of fork')
  const whole = await fork(store, 'original', 5, 'whole')
  expect(countOf(path, 'entries')).toBe(5 + 3)
  for (const [id, entries] of [
    ['fork', first],
    ['fork of fork', second],
    ['whole', whole],
  ] as const) {
    expect(await store.read(id)).toEqual(entries)
    expect(await store.read(id, { after: 2, limit: 3 })).toEqual(entries.slice(2, 5))
    expect(await store.read(id, { limit: 2, fromEnd: true })).toEqual(entries.slice(-2))
    expect(await store.blobs(id).get(blob)).toEqual(bytes)
    expect(await store.blobs(id).names()).toEqual([])
    expect(await store.find(id)).toMatchObject({ head: entries.length, createdAt: entry(1).at })
  }
  expect((await store.find('fork'))?.bytes).toBeGreaterThan(400_000)
  await store.close()
})

test('ST10 a fork that its original does not have so many entries for is refused, and a repeated first append succeeds', async () => {
  const store = createSqliteStore({ path: at('short.db') })
  await write(store, 'original', 2)
  const { epoch } = await lease(store, 'fork')
  for (const base of ['original', 'not there']) {
    const tooMany = store.append('fork', [entry(4)], { epoch, head: 3, base })
    await expect(tooMany).rejects.toMatchObject({ name: 'LeaseLostError' })
  }
  for (let i = 0; i < 2; i++) await store.append('fork', [entry(3)], { epoch, head: 2, base: 'original' })
  expect(await store.read('fork')).toEqual([entry(1), entry(2), entry(3)])
  await store.close()
})

test('ST10 a deleted original stays for its forks, is in no list, frees its id, and goes with the last fork', async () => {
  const path = at('deleted.db')
  const store = createSqliteStore({ path })
  const epoch = await write(store, 'original', 3)
  await store.append('original', [large(4), entry(5)], { epoch, head: 3 })
  await store.append('original', [{ ...entry(6), type: 'details', tags: ['t'], tenant: 'x' } as LogEntry], {
    epoch,
    head: 5,
  })
  const blob = await store.blobs('original').put(bytes)
  await store.send('original', item('k', 'x'))
  const first = await fork(store, 'original', 4, 'fork')
  const second = await fork(store, 'fork', 5, 'fork of fork')
  await store.delete('original')
  await store.delete('fork')
  expect((await store.list()).sessions.map(({ id }) => id)).toEqual(['fork of fork'])
  for (const query of [{ tags: ['t'] }, { tenant: 'x' }, { attention: true }, { prefix: '' }, { order: 'id' }] as const)
    expect((await store.list(query)).sessions.filter(({ id }) => id !== 'fork of fork')).toEqual([])
  const late = store.append('original', [entry(7)], { epoch, head: 6 })
  await expect(late).rejects.toMatchObject({ name: 'LeaseLostError' })
  expect(await store.read('fork of fork')).toEqual(second)
  expect(await store.blobs('fork of fork').get(blob)).toEqual(bytes)
  expect(await store.read('original')).toEqual([])
  await write(store, 'original', 1, 'another')
  expect(await store.read('original')).toEqual([entry(1, 'another')])
  await store.delete('original')
  expect(countOf(path, 'sessions')).toBe(3)
  await store.delete('fork of fork')
  for (const table of ['sessions', 'entries', 'blobs', 'inbox', 'tags'])
    expect([table, countOf(path, table)]).toEqual([table, 0])
  expect(first).toHaveLength(5)
  await store.close()
})

test('ST10 a rescued file has its forks, with what is left of the original', async () => {
  const path = at('to-rescue.db')
  const store = createSqliteStore({ path })
  await write(store, 'original', 6)
  const first = await fork(store, 'original', 5, 'fork')
  await fork(store, 'fork', 6, 'fork of fork')
  await store.delete('original')
  await store.close()
  await rescueSqlite({ from: path, to: at('rescued.db') })
  const rescued = createSqliteStore({ path: at('rescued.db') })
  expect((await rescued.list({ order: 'id' })).sessions.map(({ id }) => id)).toEqual(['fork', 'fork of fork'])
  expect(await rescued.read('fork')).toEqual(first)
  await rescued.close()

  const database = new DatabaseSync(path)
  database.exec('DELETE FROM entries WHERE seq IN (3, 5) AND session = (SELECT min(session) FROM entries)')
  database.close()
  const damaged = createSqliteStore({ path })
  await expect(damaged.read('fork of fork')).rejects.toMatchObject({ code: 'corrupt' })
  expect(await damaged.read('fork', { after: 5 })).toEqual(first.slice(5))
  await damaged.close()
  const report = await rescueSqlite({ from: path, to: at('rescued-2.db') })
  expect(report.sessions).toBe(2)
  const again = createSqliteStore({ path: at('rescued-2.db') })
  const kept = await again.read('fork')
  expect(kept.map(({ type }) => type as string)).toEqual(['label', 'label', 'lost', 'label', 'lost', 'label'])
  expect(await again.find('fork')).toMatchObject({ head: 6 })
  await again.close()
})

test('ST10 a changed bit in what a fork shares is noticed', async () => {
  const path = at('flipped.db')
  const store = createSqliteStore({ path })
  await write(store, 'original', 3)
  await write(store, 'another', 3, 'another')
  await fork(store, 'original', 3, 'fork')
  await store.close()
  const database = new DatabaseSync(path)
  database.exec(`UPDATE sessions SET base = (SELECT key FROM sessions WHERE id = 'another') WHERE id = 'fork'`)
  database.close()
  const damaged = createSqliteStore({ path })
  await expect(damaged.read('fork')).rejects.toMatchObject({ code: 'corrupt' })
  await damaged.close()
})

function countOf(path: string, table: string): unknown {
  const database = new DatabaseSync(path, { readOnly: true })
  const { n } = database.prepare(`SELECT count(*) AS n FROM ${table}`).get() ?? {}
  database.close()
  return n
}
