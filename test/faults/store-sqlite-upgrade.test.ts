import { copyFileSync, readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { expect } from 'vitest'
import { thisProcess } from '../../src/platform/process-identity.ts'
import { createSqliteStore, rescueSqlite } from '../../src/sessions/sqlite-store.ts'
import { entry, item, lease } from '../../src/testing/store-contract-kit.ts'
import { testInTurns } from '../soak.ts'
import { checkOlderSessions, olderStore } from './older-stores-kit.ts'
import { databaseFolder, runChild } from './store-sqlite-kit.ts'

const test = testInTurns(2)

const at = databaseFolder()

function olderFile(name: string): string {
  copyFileSync(olderStore('sqlite-format-2.db'), at(name))
  return at(name)
}

test('ST22 a file of the version before is upgraded in place, with all that is in it', async () => {
  const path = olderFile('old.db')
  const store = createSqliteStore({ path })
  await checkOlderSessions(store)
  const { epoch, head } = await lease(store, 'plain')
  await store.append('plain', [entry(head + 1)], { epoch, head })
  await store.close()
  const again = createSqliteStore({ path })
  expect(await again.find('plain')).toMatchObject({ head: head + 1, title: 'Look at the sky', calls: 1, tokens: 45 })
  expect((await again.list({ folder: '/projects/shop' })).sessions.map(({ id }) => id)).toEqual(['folder'])
  await again.close()
})

test('ST22 a process killed anywhere in the upgrade leaves the old file, and the next one upgrades it', async () => {
  const counted = runChild(
    'let n = 0; onFailpoint(() => n++); await createSqliteStore({ path }).list(); say(String(n))',
    olderFile('counted.db'),
  )
  const points = Number((await counted.ended).out)
  expect(points).toBeGreaterThan(50)
  for (let kill = 1; kill <= points; kill += 11) {
    const path = olderFile(`killed-${kill}.db`)
    const child = runChild(
      `let n = 0
       onFailpoint(() => { if (++n === Number(rest[0])) process.kill(process.pid, 'SIGKILL') })
       await createSqliteStore({ path }).list()`,
      path,
      String(kill),
    )
    expect((await child.ended).signal).toBe('SIGKILL')
    const store = createSqliteStore({ path })
    await checkOlderSessions(store)
    await store.close()
  }
})

test('ST22 a file that a process of the version before has open is not upgraded', async () => {
  const path = olderFile('in-use.db')
  const child = runChild(`say('here'); await toldToGoOn()`, path)
  await child.said('here')
  const database = new DatabaseSync(path)
  const process = JSON.stringify({ ...thisProcess(), pid: child.process.pid, started: '' })
  database.prepare('INSERT INTO openers VALUES (?, ?)').run('x', process)
  database.close()
  const before = readFileSync(path)
  const store = createSqliteStore({ path })
  const message = expect.stringContaining(`process ${child.process.pid} uses it with an older version`)
  await expect(store.list()).rejects.toMatchObject({ code: 'busy', message })
  expect(readFileSync(path).equals(before)).toBe(true)
  child.goOn()
  await child.ended
  await checkOlderSessions(store)
  await store.close()
})

test('ST22 a session whose log is damaged is listed, and the others are upgraded', async () => {
  const path = olderFile('damaged.db')
  const database = new DatabaseSync(path)
  database.exec(
    `UPDATE entries SET body = replace(body, 'sky', 'sea') WHERE session = (SELECT key FROM sessions WHERE id = 'plain')`,
  )
  database.close()
  const store = createSqliteStore({ path })
  expect(await store.find('plain')).toMatchObject({ head: 15, status: 'failed', title: '(cannot be read)' })
  expect((await store.find('plain'))?.updatedAt).toBeGreaterThan(0)
  await expect(store.read('plain')).rejects.toMatchObject({ code: 'corrupt' })
  expect(await store.find('fork')).toMatchObject({ status: 'idle', title: 'Look at the sky' })
  await store.close()
})

test('ST22 a file of the version before can be rescued', async () => {
  const report = await rescueSqlite({ from: olderFile('to-rescue.db'), to: at('rescued.db') })
  expect(report.lost).toEqual([])
  const store = createSqliteStore({ path: at('rescued.db') })
  await checkOlderSessions(store)
  await store.close()
})

test('ST22 ids and keys that were kept as JSON are found by their new form', async () => {
  const path = olderFile('odd.db')
  const odd = ['\ud800', '"\\ud800"', '"', 'a\0b c']
  const asJson = (text: string): string => JSON.stringify(text)
  const database = new DatabaseSync(path)
  for (const [i, id] of odd.entries()) {
    database.prepare('INSERT INTO sessions (key, id) VALUES (?, ?)').run(1000 + i, asJson(id))
    for (const key of odd)
      database.prepare('INSERT INTO inbox (session, client_key) VALUES (?, ?)').run(1000 + i, asJson(key))
  }
  database.close()
  const store = createSqliteStore({ path })
  for (const id of odd) {
    await store.lease(id, { owner: 'a', ttlMs: 1000 })
    for (const key of odd) await store.send(id, item(key, 'was delivered'))
    expect((await lease(store, id, 'a')).inbox).toEqual([])
  }
  await store.close()
})
