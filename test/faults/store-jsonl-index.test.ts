import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { SessionSummary } from '../../src/core/store.ts'
import { createJsonlStore } from '../../src/sessions/jsonl-store.ts'
import { allSessions } from '../../src/sessions/session-query.ts'
import { entry, hour, item, lease, write } from '../../src/testing/store-contract-kit.ts'
import { sampleOf, testInTurns } from '../soak.ts'
import { checkOlderSessions, olderStore } from './older-stores-kit.ts'
import { isStopped, runChild, storeFolders } from './store-jsonl-kit.ts'

const test = testInTurns(2)

const newFolder = storeFolders()

/** The sessions that `change` of the other process changes. */
async function makeSessions(dir: string): Promise<void> {
  const store = createJsonlStore({ dir, sync: false })
  await write(store, 's', 2)
  const epoch = await write(store, 't', 1)
  await store.append('t/c', [entry(1)], { epoch, head: 0, holder: 't', parent: 't' })
  await write(store, 'u', 1)
  await store.send('u', item('k', 'hello'))
  await store.list()
  await store.close?.()
}

/** By id, because sessions that were changed at the same time may be listed in any order. */
async function listed(dir: string): Promise<SessionSummary[]> {
  const store = createJsonlStore({ dir })
  const late = await allSessions(store, { tags: ['late'] })
  const summaries = await allSessions(store, { order: 'id' })
  expect(late.map(({ id }) => id)).toEqual(summaries.flatMap(({ id, tags }) => (tags.includes('late') ? [id] : [])))
  for (const summary of summaries) expect(await store.find(summary.id)).toEqual(summary)
  for (const attention of await allSessions(store, { attention: true, order: 'id' }))
    expect(summaries).toContainEqual(attention)
  await store.close?.()
  return summaries
}

test('ST01 whenever a process is killed, the next list is that of an index made from the folders', async () => {
  const counted = newFolder()
  await makeSessions(counted)
  const points = Number((await runChild([counted, 'change', '0']).said)[0])
  expect(points).toBeGreaterThan(25)
  const kills = Array.from({ length: points + 1 }, (_, i) => i + 1)
  for (const kill of sampleOf(kills, 8)) {
    const dir = newFolder()
    await makeSessions(dir)
    await runChild([dir, 'change', String(kill)]).said
    const before = fs.readdirSync(join(dir, '.index')).filter((name) => name.endsWith('.changes'))
    expect(before, `killed at failpoint ${kill}`).toHaveLength(1)
    const summaries = await listed(dir)
    expect(fs.readdirSync(join(dir, '.index')).filter((name) => name.endsWith('.changes'))).toEqual([])
    fs.rmSync(join(dir, '.index'), { recursive: true })
    expect(summaries, `killed at failpoint ${kill}`).toEqual(await listed(dir))
  }
}, 180_000)

test('ST03 a session whose process was killed needs attention at once, and none while it lives', async () => {
  const dir = newFolder()
  const store = createJsonlStore({ dir })
  const epoch = await write(store, 'u', 1)
  await store.send('u', item('k', 'hello'))
  await store.lease('u', { owner: 'ann', ttlMs: 0, epoch })
  const child = runChild([dir, 'stopped', 'jsonl.append.beforeWrite', String(hour)])
  await child.says('at jsonl.append.beforeWrite')
  await isStopped(child)
  expect((await store.find('s'))?.isHeld).toBe(true)
  expect((await store.list()).sessions.filter(({ isHeld }) => isHeld)).toMatchObject([{ id: 's' }])
  child.process.kill('SIGKILL')
  await child.said
  expect((await store.find('s'))?.isHeld).toBeUndefined()
  expect((await store.list({ attention: true })).sessions).toMatchObject([{ id: 'u', attention: 'mail' }])
  expect((await lease(store, 's', 'bob')).died).toMatchObject({ sessions: 1 })
  await store.close?.()
})

test('ST22 a folder of the version before is migrated by its first write, with all that is in it', async () => {
  const dir = newFolder()
  fs.cpSync(olderStore('jsonl-format-1'), dir, { recursive: true })
  const store = createJsonlStore({ dir })
  await checkOlderSessions(store)
  expect(JSON.parse(fs.readFileSync(join(dir, 'store.json'), 'utf8'))).toMatchObject({ format: 2 })
  await checkOlderSessions(createJsonlStore({ dir }))
  expect(fs.existsSync(join(dir, '.migration'))).toBe(false)
  await store.close?.()
})

test.each(['jsonl.migrate.beforeRename', 'jsonl.migrate.afterRename'])(
  'ST22 a process killed at %s leaves a folder that the next one migrates',
  async (failpoint) => {
    const dir = newFolder()
    fs.cpSync(olderStore('jsonl-format-1'), dir, { recursive: true })
    expect(await runChild([dir, 'dieTaking', failpoint]).said).toEqual([`at ${failpoint}`])
    const store = createJsonlStore({ dir })
    await checkOlderSessions(store)
    await store.close?.()
  },
)

test('ST22 a folder to which a process of the version before writes is not migrated', async () => {
  const dir = newFolder()
  fs.cpSync(olderStore('jsonl-format-1'), dir, { recursive: true })
  const holder = runChild([newFolder(), 'hold'])
  await holder.says('holding')
  const path = join(dir, 'plain/lease.json')
  const identity = JSON.parse(fs.readFileSync(join(holder.process.spawnargs.at(-2)!, 's/lease.json'), 'utf8')) as {
    process: object
  }
  const held = { ...(JSON.parse(fs.readFileSync(path, 'utf8')) as object), expires: 1, process: identity.process }
  fs.writeFileSync(path, JSON.stringify(held))
  const store = createJsonlStore({ dir })
  await expect(lease(store, 'fork')).rejects.toMatchObject({ name: 'StoreError', code: 'busy' })
  expect(JSON.parse(fs.readFileSync(join(dir, 'store.json'), 'utf8'))).toMatchObject({ format: 1 })
  expect(await store.find('plain')).toMatchObject({ isHeld: true })
  holder.process.kill('SIGKILL')
  await holder.said
  await checkOlderSessions(store)
  await store.close?.()
})
