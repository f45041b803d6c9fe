import * as fs from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect } from 'vitest'
import { thisProcess } from '../../src/platform/process-identity.ts'
import { withFolderLock } from '../../src/sessions/jsonl/folder-lock.ts'
import { createJsonlStore } from '../../src/sessions/jsonl-store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { entry, hour, item, lease, write } from '../../src/testing/store-contract-kit.ts'
import { sampleOf, testInTurns } from '../soak.ts'
import { isStopped, runChild, storeFolders } from './store-jsonl-kit.ts'

const test = testInTurns(2)

const newFolder = storeFolders()
const lost = { name: 'LeaseLostError', owner: 'bob' }

describe('a writer that is stopped between looking and writing', () => {
  const places = [
    ['s', 'jsonl.append.beforeWrite'],
    ['s/c', 'jsonl.append.beforeWrite'],
    ['s/c', 'jsonl.child.beforeOpen'],
    ['s/c', 'jsonl.child.afterOpen'],
  ] as const

  test.each(places)(
    'FD-14 to %s, at %s, is taken over, and what it writes later is never part of the log',
    async (id, failpoint) => {
      const dir = newFolder()
      const child = runChild([dir, 'stopped', failpoint, String(hour), ...(id === 's' ? [] : [id])])
      await child.says(`at ${failpoint}`)
      await isStopped(child)
      const store = createJsonlStore({ dir })
      await expect(lease(store, 's', 'bob')).rejects.toMatchObject({ name: 'SessionBusyError', owner: 'ann' })
      const { epoch, head } = await store.lease('s', { owner: 'bob', ttlMs: hour, takeOver: true, create: true })
      expect(head).toBe(1)
      await store.append('s', [entry(2, 'by bob')], { epoch, head: 1 })
      const theirs = { epoch, head: 0, holder: 's', parent: 's' }
      if (id !== 's') await store.append(id, [entry(1, 'by bob')], theirs)
      child.process.kill('SIGCONT')
      expect(await child.said).toEqual([expect.anything(), lost, lost, lost])
      await store.append('s', [entry(3, 'by bob')], { epoch, head: 2 })
      for (const reader of [store, createJsonlStore({ dir })]) {
        expect(await reader.read('s')).toEqual([entry(1), entry(2, 'by bob'), entry(3, 'by bob')])
        if (id !== 's') expect(await reader.read(id)).toEqual([entry(1, 'by bob')])
      }
    },
  )

  test('R14 FD-05 for longer than its lease keeps the lease, until another takes it over on purpose', async () => {
    const dir = newFolder()
    const child = runChild([dir, 'stopped', 'jsonl.append.beforeWrite', '50'])
    await child.says('at jsonl.append.beforeWrite')
    await isStopped(child)
    const store = createJsonlStore({ dir, clock: fakeClock(Date.now() + hour) })
    await expect(lease(store, 's', 'bob')).rejects.toMatchObject({ name: 'SessionBusyError', owner: 'ann' })
    const { epoch } = await store.lease('s', { owner: 'bob', ttlMs: hour, takeOver: true })
    child.process.kill('SIGCONT')
    expect((await child.said).slice(1)).toEqual([lost, lost, lost])
    await store.append('s', [entry(2)], { epoch, head: 1 })
    expect(await store.read('s')).toEqual([entry(1), entry(2)])
  })
})

test('FD-14 what was written before a takeover is seen by the new writer, though the old one is told that it lost', async () => {
  const dir = newFolder()
  const child = runChild([dir, 'stopped', 'jsonl.append.afterWrite', String(hour)])
  await child.says('at jsonl.append.afterWrite')
  await isStopped(child)
  const store = createJsonlStore({ dir })
  const { epoch, head } = await store.lease('s', { owner: 'bob', ttlMs: hour, takeOver: true, create: true })
  expect(head).toBe(2)
  await store.append('s', [entry(3)], { epoch, head })
  child.process.kill('SIGCONT')
  expect((await child.said)[1]).toEqual(lost)
  expect(await store.read('s')).toEqual([entry(1), entry(2, 'late'), entry(3)])
})

test('FD-13 the lease and the lock of a dead process are free at once, also when its number was given to another', async () => {
  const dir = newFolder()
  const child = runChild([dir, 'hold'])
  await child.says('holding')
  const store = createJsonlStore({ dir })
  await expect(lease(store, 's', 'bob')).rejects.toMatchObject({ name: 'SessionBusyError', owner: 'ann' })
  child.process.kill('SIGKILL')
  await child.said
  const { ino } = fs.statSync(join(dir, 's/log.jsonl'))
  const { epoch } = await lease(store, 's', 'bob')
  expect(fs.statSync(join(dir, 's/log.jsonl')).ino).toBe(ino) // no process is left that could write to it

  await store.lease('s', { owner: 'bob', ttlMs: 0, epoch })
  const path = join(dir, 's/lease.json')
  const given = JSON.parse(fs.readFileSync(path, 'utf8')) as object
  const earlier = { ...thisProcess(), started: '1' }
  const held = { ...given, owner: 'eve', expires: Date.now() + hour, opener: 'another' }
  fs.writeFileSync(path, JSON.stringify({ ...held, process: earlier }))
  for (const name of fs.readdirSync(join(dir, 's/lock'))) fs.rmSync(join(dir, 's/lock', name))
  fs.writeFileSync(join(dir, 's/lock/7'), JSON.stringify(earlier))
  await lease(store, 's', 'bob')
  expect(fs.readdirSync(join(dir, 's/lock'))).toEqual(['8'])

  fs.writeFileSync(path, JSON.stringify({ ...held, process: thisProcess() }))
  await expect(lease(store, 's', 'bob')).rejects.toMatchObject({ name: 'SessionBusyError', owner: 'eve' })
})

test('FD-15 a clock that jumps forward lets others take over safely, one that jumps back does not take a lease away', async () => {
  const dir = newFolder()
  const start = 1_700_000_000_000
  const ann = createJsonlStore({ dir, clock: fakeClock(start) })
  const { epoch } = await ann.lease('s', { owner: 'ann', ttlMs: 30_000, create: true })
  await ann.append('s', [entry(1)], { epoch, head: 0 })
  const past = createJsonlStore({ dir, clock: fakeClock(start - hour) })
  await expect(lease(past, 's', 'bob')).rejects.toMatchObject({ name: 'SessionBusyError' })
  await ann.append('s', [entry(2)], { epoch, head: 1 })
  const future = createJsonlStore({ dir, clock: fakeClock(start + hour) })
  const { epoch: theirs } = await lease(future, 's', 'bob')
  await expect(ann.append('s', [entry(3, 'late')], { epoch, head: 2 })).rejects.toMatchObject(lost)
  await future.append('s', [entry(3)], { epoch: theirs, head: 2 })
  expect(await past.read('s')).toEqual([entry(1), entry(2), entry(3)])
})

test('FD-15 a clock that went back keeps a living owner its lease for no longer than it asked for', async () => {
  const dir = newFolder()
  const start = 1_700_000_000_000
  await createJsonlStore({ dir, clock: fakeClock(start) }).lease('s', { owner: 'ann', ttlMs: 1000, create: true })
  const clock = fakeClock(start - hour)
  const store = createJsonlStore({ dir, clock })
  for (const ms of [0, 999]) {
    await clock.advance(ms)
    await expect(lease(store, 's', 'bob')).rejects.toMatchObject({ name: 'SessionBusyError', owner: 'ann' })
  }
  await clock.advance(2)
  await lease(store, 's', 'bob')
})

test('FD-13 the lock of a process that may or may not live expires after a minute', async () => {
  const dir = newFolder()
  const store = createJsonlStore({ dir })
  await write(store, 's', 1)
  const path = join(dir, 's/lock/700')
  fs.writeFileSync(path, JSON.stringify({ ...thisProcess(), host: 'another' }))
  await expect(withFolderLock(join(dir, 's'), () => 'held', 50)).rejects.toMatchObject({ code: 'busy' })
  const before = (Date.now() - 61_000) / 1000
  fs.utimesSync(path, before, before)
  expect(await withFolderLock(join(dir, 's'), () => 'held', 50)).toBe('held')
  fs.writeFileSync(join(dir, 's/lock/702'), JSON.stringify(thisProcess()))
  fs.utimesSync(join(dir, 's/lock/702'), before, before)
  await expect(withFolderLock(join(dir, 's'), () => 'held', 50)).rejects.toMatchObject({ code: 'busy' })
})

/** As if the machine had been started again since, after a power failure. */
function bootAgain(dir: string): void {
  const database = new DatabaseSync(join(dir, '.index/index.db'))
  database.exec(`UPDATE facts SET value = 'before' WHERE name = 'boot'`)
  database.close()
}

describe('FD-07 a log that was cut off', () => {
  const first = [entry(1), entry(2)]
  const lasts = { 'in an entry': [entry(3, 'größer 🎈')], 'in a batch': [entry(3), entry(4), entry(5)] }

  test.each(Object.entries(lasts))(
    '%s, at any byte, ends with the batch before, and can be gone on with',
    async (_, last) => {
      const dir = newFolder()
      const store = createJsonlStore({ dir, sync: false })
      const epoch = await write(store, 's', 2)
      const path = join(dir, 's/log.jsonl')
      const whole = fs.statSync(path).size
      await store.append('s', last, { epoch, head: 2 })
      await store.close?.()
      const bytes = fs.readFileSync(path)
      const tails = [...bytes.subarray(whole).keys()].map((length) => bytes.subarray(0, whole + length))
      for (const cut of [
        ...sampleOf(tails, 40),
        Buffer.concat([bytes, Buffer.alloc(50)]),
        Buffer.concat([bytes, Buffer.from('\0\0\n')]),
      ]) {
        fs.writeFileSync(path, cut)
        bootAgain(dir)
        const there = cut.length > bytes.length ? [...first, ...last] : first
        const again = createJsonlStore({ dir, sync: false })
        expect(await again.read('s')).toEqual(there)
        expect((await again.list()).sessions).toMatchObject([{ id: 's', head: there.length }])
        expect(fs.statSync(path).size).toBe(cut.length) // readers change nothing
        const { epoch: next, head } = await lease(again)
        expect(head).toBe(there.length)
        expect(fs.statSync(path).size).toBe(cut.length > bytes.length ? bytes.length : whole)
        await again.append('s', [entry(head + 1, 'more')], { epoch: next, head })
        expect(await createJsonlStore({ dir }).read('s')).toEqual([...there, entry(head + 1, 'more')])
        await again.close?.()
      }
    },
  )

  test('inside is an error that names file and line, and other sessions stay usable', async () => {
    const dir = newFolder()
    const store = createJsonlStore({ dir })
    for (const id of ['s', 't']) await write(store, id, 3)
    await store.close?.()
    const path = join(dir, 's/log.jsonl')
    const lines = fs.readFileSync(path, 'utf8').split('\n')
    for (const damaged of ['{"seq":2,', '', 'null', lines[0], lines[1]?.replace('entry 2', '\0')]) {
      fs.writeFileSync(path, [lines[0], damaged, lines[2], ''].join('\n'))
      const again = createJsonlStore({ dir })
      const corrupt = { name: 'StoreError', code: 'corrupt', message: expect.stringContaining(`${path}, line 2 `) }
      await expect(again.read('s')).rejects.toMatchObject(corrupt)
      expect(await again.read('t')).toHaveLength(3)
      expect((await again.list()).sessions.map(({ id }) => id).sort()).toEqual(['s', 't'])
    }
    fs.writeFileSync(path, [lines[0], lines[2], ''].join('\n'))
    const missing = { code: 'corrupt', message: expect.stringContaining('line 2 ') }
    await expect(createJsonlStore({ dir }).read('s')).rejects.toMatchObject(missing)
    fs.writeFileSync(path, [lines[0], lines[1], 'null', ''].join('\n'))
    await expect(lease(createJsonlStore({ dir }))).rejects.toMatchObject({
      code: 'corrupt',
      message: expect.stringContaining(`${path}, line 3 `),
    })
  })

  test('is the inbox at any byte: the messages before stay, and the next one is not torn by it', async () => {
    const dir = newFolder()
    const store = createJsonlStore({ dir, sync: false })
    const path = join(dir, 's/inbox.jsonl')
    await lease(store)
    await store.send('s', item('k1', 'first'))
    const whole = fs.statSync(path).size
    await store.send('s', item('k2', 'second'))
    const bytes = fs.readFileSync(path)
    for (let length = whole; length < bytes.length; length++) {
      fs.writeFileSync(path, bytes.subarray(0, length))
      await store.send('s', item('k3', 'third'))
      expect((await lease(store)).inbox).toEqual([item('k1', 'first'), item('k3', 'third')])
    }
  })
})

test('FD-22 a store of a newer version can be read and is not written', async () => {
  const dir = newFolder()
  await write(createJsonlStore({ dir }), 's', 2)
  const path = join(dir, 'store.json')
  fs.writeFileSync(path, JSON.stringify({ ...(JSON.parse(fs.readFileSync(path, 'utf8')) as object), format: 3 }))
  const store = createJsonlStore({ dir })
  const newer = { name: 'StoreError', code: 'newer' }
  await expect(store.lease('s', { owner: 'bob', ttlMs: hour, takeOver: true, create: true })).rejects.toMatchObject(
    newer,
  )
  await expect(store.send('s', item('k', 'hello'))).rejects.toMatchObject(newer)
  await expect(store.blobs('s').put(Uint8Array.of(1))).rejects.toMatchObject(newer)
  await expect(store.delete('s')).rejects.toMatchObject(newer)
  expect(await store.read('s')).toEqual([entry(1), entry(2)])
  expect((await store.list()).sessions).toMatchObject([{ id: 's', head: 2 }])
})

test('FD-22 fields that are not known survive in the log', async () => {
  const dir = newFolder()
  const store = createJsonlStore({ dir })
  const { epoch } = await lease(store)
  const odd = [1, 2, 3].map((seq) => ({ more: true, ...entry(seq), invented: { later: [seq] } }))
  await store.append('s', odd, { epoch, head: 0 })
  expect(await createJsonlStore({ dir }).read('s')).toEqual(odd)
})

test('FD-34 a network file system is refused unless that is allowed', async () => {
  const dir = newFolder()
  const readMountTable = () => `22 1 8:1 / / rw - nfs4 server:/x rw\n`
  const refused = createJsonlStore({ dir, readMountTable })
  await expect(lease(refused)).rejects.toMatchObject({ code: 'network_fs' })
  await write(createJsonlStore({ dir, readMountTable, allowNetworkFileSystem: true }), 's', 1)
  expect(await refused.read('s')).toHaveLength(1)
})
