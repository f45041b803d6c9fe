import { readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test } from 'vitest'
import type { LogEntry } from '../../src/core/log.ts'
import { onFailpoint } from '../../src/core/log.ts'
import { applicationId, migrations } from '../../src/sessions/sqlite/schema.ts'
import { checksumOf, entryKey } from '../../src/sessions/sqlite/stored-values.ts'
import { createSqliteStore } from '../../src/sessions/sqlite-store.ts'
import { entry, item, lease, write } from '../../src/testing/store-contract-kit.ts'
import { databaseFolder, runChild } from './store-sqlite-kit.ts'

const at = databaseFolder()

test('FD-21 a process killed at any statement of a migration leaves the old or the new tables', async () => {
  const places = countSteps(at('counted.db'))
  const first = await places(0)
  const second = await places(1)
  expect(first).toBeGreaterThan(second)
  expect(second).toBeGreaterThan(3)
  // Every fourth: every one is a process.
  const pointsOf = (count: number): number[] => Array.from({ length: Math.ceil(count / 4) }, (_, i) => 4 * i + 1)
  const kills = [
    ...pointsOf(first).map((kill) => ({ from: 0, kill })),
    ...pointsOf(second).map((kill) => ({ from: 1, kill })),
  ]
  const found: number[] = []
  for (let i = 0; i < kills.length; i += 4) {
    await Promise.all(
      kills.slice(i, i + 4).map(async ({ from, kill }) => {
        const path = at(`killed-${from}-${kill}.db`)
        if (from === 1) makeVersion1(path)
        const child = runChild(
          `let n = 0
           onFailpoint(() => { if (++n === Number(rest[0])) process.kill(process.pid, 'SIGKILL') })
           await createSqliteStore({ path }).list()`,
          path,
          String(kill),
        )
        expect((await child.ended).signal, `killed at ${kill}`).toBe('SIGKILL')
        const version = versionOf(path)
        found.push(version)
        expect(version).toBe(from)
        const store = createSqliteStore({ path })
        expect((await store.list()).sessions.map(({ id }) => id)).toEqual(from === 1 ? ['old'] : [])
        await write(store, 's', 1)
        await store.close()
        expect(versionOf(path)).toBe(migrations.length)
      }),
    )
  }
  expect(new Set(found)).toEqual(new Set([0, 1]))
}, 60_000)

test('FD-21 a migration that fails leaves the old tables, and the next attempt succeeds', async () => {
  const path = at('failed.db')
  makeVersion1(path)
  let left = 2
  onFailpoint(() => {
    if (left-- === 0) throw new Error('a failure in between')
  })
  onTestFinished(() => onFailpoint(undefined))
  const store = createSqliteStore({ path })
  await expect(store.list()).rejects.toThrow('a failure in between')
  expect(versionOf(path)).toBe(1)
  onFailpoint(undefined)
  expect((await store.list()).sessions).toMatchObject([{ id: 'old', head: 1 }])
  await store.close()
})

test('FD-22 what a newer version wrote can be read but not written', async () => {
  const path = at('newer.db')
  const before = createSqliteStore({ path })
  await write(before, 's', 2)
  const blob = await before.blobs('s').put(Uint8Array.of(1, 2, 3))
  await before.close()
  const newer = new DatabaseSync(path)
  newer.exec('ALTER TABLE sessions ADD COLUMN mood TEXT; CREATE TABLE dreams (x)')
  newer.exec('PRAGMA user_version = 99; PRAGMA wal_checkpoint(TRUNCATE)')
  newer.close()
  const bytes = readFileSync(path)

  const store = createSqliteStore({ path })
  expect(await store.read('s')).toEqual([entry(1), entry(2)])
  expect((await store.list()).sessions).toMatchObject([{ id: 's', head: 2 }])
  expect(await store.blobs('s').get(blob)).toEqual(Uint8Array.of(1, 2, 3))
  expect(await store.read('unknown')).toEqual([])
  const refused = { code: 'newer', message: expect.stringContaining('update Libero') }
  await expect(lease(store)).rejects.toMatchObject(refused)
  await expect(store.append('s', [entry(3)], { epoch: 1, head: 2 })).rejects.toMatchObject(refused)
  await expect(store.send('s', item('k', 'x'))).rejects.toMatchObject(refused)
  await expect(store.delete('s')).rejects.toMatchObject(refused)
  await expect(store.blobs('s').put(Uint8Array.of(1))).rejects.toMatchObject(refused)
  await store.backup(at('newer-copy.db'))
  await expect(store.delete('s')).rejects.toMatchObject(refused)
  await store.close()
  expect(readFileSync(path).equals(bytes)).toBe(true)
  expect(versionOf(at('newer-copy.db'))).toBe(99)
})

test('FD-22 where a newer version changed what we would read, it says so', async () => {
  const path = at('much-newer.db')
  const newer = new DatabaseSync(path)
  newer.exec(`CREATE TABLE log (x); PRAGMA user_version = 99; PRAGMA application_id = ${applicationId}`)
  newer.close()
  const store = createSqliteStore({ path })
  await expect(store.read('s')).rejects.toMatchObject({ code: 'newer' })
  await store.close()
})

test('FD-22 fields and types that we do not know survive', async () => {
  const path = at('unknown.db')
  const store = createSqliteStore({ path })
  const { epoch } = await lease(store)
  const odd = { ...entry(1), type: 'invented_later', shade: { deep: [null, 1.5] } } as unknown as LogEntry
  await store.append('s', [odd], { epoch, head: 0 })
  await store.close()
  const again = createSqliteStore({ path })
  expect(await again.read('s')).toEqual([odd])
  await again.close()
})

test('the first version is brought up to date, with what is in it', async () => {
  const path = at('first.db')
  makeVersion1(path)
  const store = createSqliteStore({ path })
  const time = entry(1).at
  expect((await store.list()).sessions).toMatchObject([{ id: 'old', head: 1, createdAt: time, updatedAt: time }])
  const { epoch } = await lease(store, 'old')
  await store.append('old', [entry(2)], { epoch, head: 1 })
  expect((await store.list()).sessions).toMatchObject([{ id: 'old', head: 2, createdAt: time, updatedAt: time + 1 }])
  expect(await store.read('old')).toEqual([entry(1), entry(2)])
  await store.close()
  expect(versionOf(path)).toBe(migrations.length)
})

/** A database as the first version of the tables would have left it. */
function makeVersion1(path: string): void {
  const database = new DatabaseSync(path)
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA application_id = ${applicationId}; ${migrations[0]};`)
  database.exec(`INSERT INTO sessions (key, id, head) VALUES (1, 'old', 1); PRAGMA user_version = 1`)
  const body = JSON.stringify(entry(1))
  const insert = 'INSERT INTO entries (place, at, sum, body) VALUES (?, ?, ?, ?)'
  database.prepare(insert).run(entryKey(1, 1), entry(1).at, checksumOf(body, 1), body)
  database.close()
}

function versionOf(path: string): number {
  const database = new DatabaseSync(path)
  const { user_version: version } = database.prepare('PRAGMA user_version').get() as { user_version: number }
  database.close()
  return version
}

/** How many failpoints a migration passes. */
function countSteps(path: string): (from: number) => Promise<number> {
  return async (from) => {
    const mine = `${path}-${from}`
    if (from === 1) makeVersion1(mine)
    const child = runChild(
      `let n = 0; onFailpoint(() => n++); const store = createSqliteStore({ path }); await store.list(); say(String(n))`,
      mine,
    )
    return Number((await child.ended).out)
  }
}

test('ST22 a session to which an older version appended after the upgrade is listed as it is from the next append on', async () => {
  const path = at('older-writer.db')
  const before = createSqliteStore({ path })
  await write(before, 's', 1)
  await before.close()
  // Such a version knows no summaries: the column of the head is all that it changes, and a new session gets nothing else.
  const database = new DatabaseSync(path)
  database.exec('UPDATE sessions SET record = NULL, record_sum = NULL, created = NULL, updated = NULL, status = NULL')
  database.close()
  const store = createSqliteStore({ path })
  const { epoch, head } = await lease(store)
  await store.append('s', [entry(2)], { epoch, head })
  expect((await store.list()).sessions).toMatchObject([{ id: 's', head: 2, status: 'idle' }])
  await store.close()
})
