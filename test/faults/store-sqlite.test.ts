import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { expect, onTestFinished, test, vi } from 'vitest'
import { StoreError } from '../../src/core/errors.ts'
import { appendEntries } from '../../src/sessions/sqlite/append.ts'
import { openDatabase } from '../../src/sessions/sqlite/open-database.ts'
import { SessionRows } from '../../src/sessions/sqlite/session-rows.ts'
import { createSqliteStore } from '../../src/sessions/sqlite-store.ts'
import { entry, hour, item, lease, write } from '../../src/testing/store-contract-kit.ts'
import { databaseFolder, runChild, writeMany } from './store-sqlite-kit.ts'

const at = databaseFolder()
const isRoot = process.getuid?.() === 0
const mayMount = process.platform === 'linux' && isRoot && Boolean(process.env.CI)
if (!mayMount) console.warn('SQLite on a full and on a read-only disk: not tried; run as root on Linux with CI set')

test('FD-08 without room an append is refused as a whole, what was there is readable, and with room it goes on', async () => {
  const path = at('limited.db')
  const { connection, close } = await openDatabase({
    path,
    synchronous: 'FULL',
    busyTimeoutMs: 100,
    allowNetworkFileSystem: false,
  })
  const store = createSqliteStore({ path })
  const epoch = await write(store, 's', 1)
  const rows = new SessionRows(connection)
  const big = [entry(2), entry(3, 'x'.repeat(100_000))]
  const append = () => {
    const bodies = big.map((one) => JSON.stringify(one))
    const content = { originalEntries: big, blobs: [] }
    return connection.write(() =>
      appendEntries(connection, rows, { id: 's', entries: big, bodies, content, fence: { epoch, head: 1 } }),
    )
  }
  const { page_count: pages } = connection.statement('PRAGMA page_count').get() as { page_count: number }
  connection.statement(`PRAGMA max_page_count = ${pages + 2}`).get()
  await expect(append()).rejects.toMatchObject({ code: 'full', message: expect.stringContaining('free some space') })
  expect(await store.read('s')).toEqual([entry(1)])
  connection.statement('PRAGMA max_page_count = 100000').get()
  await append()
  expect(await store.read('s')).toEqual([entry(1), ...big])
  await close()
  await store.close()
})

test.runIf(mayMount)(
  'FD-08 on a full disk nothing is acknowledged, the session is readable, and room helps',
  async () => {
    const folder = mount('full', 'size=1m')
    const store = createSqliteStore({ path: `${folder}/s.db` })
    const epoch = await writeMany(store, 10, 1)
    writeFileSync(`${folder}/filler`, new Uint8Array(64 * 1024))
    let head = 10
    let failure: unknown
    while (!failure && head < 1000) {
      try {
        await store.append('s', [entry(head + 1, 'x'.repeat(20_000))], { epoch, head })
        head++
      } catch (error) {
        failure = error
      }
    }
    expect(failure).toMatchObject({ name: 'StoreError', code: 'full' })
    expect(await store.read('s')).toHaveLength(head)
    rmSync(`${folder}/filler`)
    await store.append('s', [entry(head + 1, 'x'.repeat(20_000))], { epoch, head })
    expect(await store.read('s')).toHaveLength(head + 1)
    await store.close()
  },
)

test.runIf(mayMount)('FD-09 on a read-only disk the first write says so, before anything was done', async () => {
  const folder = mount('read-only', 'size=4m')
  const path = `${folder}/s.db`
  const before = createSqliteStore({ path })
  await write(before, 's', 1)
  await before.close()
  execFileSync('mount', ['-o', 'remount,ro', folder])
  const store = createSqliteStore({ path })
  await expect(lease(store)).rejects.toMatchObject({ code: 'read_only', message: expect.stringContaining(path) })
  const made = createSqliteStore({ path: `${folder}/new/s.db` })
  await expect(lease(made)).rejects.toMatchObject({ code: 'read_only' })
  await Promise.all([store.close(), made.close()])
})

test.skipIf(isRoot)('FD-09 in a folder that may not be written the first use says so', async () => {
  const folder = at('closed')
  mkdirSync(folder, { mode: 0o500 })
  const store = createSqliteStore({ path: `${folder}/s.db` })
  await expect(lease(store)).rejects.toMatchObject({ code: 'read_only' })
  chmodSync(folder, 0o700)
  await lease(store) // once it may be written
  await store.close()
})

const holdLock = `
  const database = new DatabaseSync(path)
  database.exec('BEGIN IMMEDIATE')
  say('locked')
  await toldToGoOn()
  database.exec('COMMIT')
`

test('FD-10 while another process holds the lock, others are read, a write waits and then gives up', async () => {
  const path = at('busy.db')
  const store = createSqliteStore({ path, busyTimeoutMs: 150 })
  const epoch = await write(store, 's', 1)
  const child = runChild(holdLock, path)
  await child.said('locked')
  let ticks = 0
  const timer = setInterval(() => ticks++, 5)
  await expect(store.append('s', [entry(2)], { epoch, head: 1 })).rejects.toMatchObject({
    code: 'busy',
    message: expect.stringContaining('try again'),
  })
  clearInterval(timer)
  expect(ticks).toBeGreaterThan(0) // nothing else stood still meanwhile
  expect(await store.read('s')).toEqual([entry(1)])
  child.goOn()
  expect((await child.ended).code).toBe(0)
  await store.append('s', [entry(2)], { epoch, head: 1 })
  await store.close()
})

test('FD-10 who asks while another write waits for the lock comes after it', async () => {
  const path = at('line.db')
  const store = createSqliteStore({ path })
  const epoch = await write(store, 's', 1)
  const holder = new DatabaseSync(path)
  holder.exec('BEGIN IMMEDIATE')
  const first = store.append('s', [entry(2)], { epoch, head: 1 })
  holder.exec('COMMIT')
  const second = store.append('s', [entry(3)], { epoch, head: 2 })
  await Promise.all([first, second])
  expect(await store.read('s')).toEqual([entry(1), entry(2), entry(3)])
  holder.close()
  await store.close()
})

test('FD-34 a network file system is refused, or used without a write-ahead log', async () => {
  const path = at('network/s.db')
  mkdirSync(at('network'))
  const readMountTable = () =>
    `22 1 8:1 / / rw - ext4 /dev/sda1 rw\n36 22 0:50 / ${at('network').replaceAll(' ', '\\040')} rw shared:1 - nfs4 server:/x rw\n`
  const refused = createSqliteStore({ path, readMountTable })
  const message = expect.stringContaining('allowNetworkFileSystem')
  await expect(lease(refused)).rejects.toMatchObject({ code: 'network_fs', message })
  expect(existsSync(path)).toBe(false)
  const store = createSqliteStore({ path, readMountTable, allowNetworkFileSystem: true })
  await write(store, 's', 2)
  expect(await store.read('s')).toHaveLength(2)
  expect(existsSync(`${path}-wal`)).toBe(false)
  await store.close()
})

test('FD-35 a backup made while another process writes is consistent; one by copying the file is not', async () => {
  const path = at('original.db')
  const store = createSqliteStore({ path })
  await writeMany(store, 3, 2)
  copyFileSync(path, at('by-hand.db'))
  const byHand = createSqliteStore({ path: at('by-hand.db') })
  expect(await byHand.read('s')).toEqual([]) // all of it was in the log beside the file
  const child = runChild(
    `const store = createSqliteStore({ path, synchronous: 'NORMAL' })
     const { epoch } = await lease(store, 'other')
     for (let head = 0; head < 4000; head += 2) {
       if (head === 20) say('writing')
       await store.append('other', [entry(head + 1), entry(head + 2)], { epoch, head })
     }
     await store.close()`,
    path,
  )
  await child.said('writing')
  await store.backup(at('copies/backup.db'))
  expect(modeOf(at('copies/backup.db'))).toBe(0o600)
  expect(modeOf(at('copies'))).toBe(0o700)
  await expect(store.backup(at('copies/backup.db'))).rejects.toThrow('not overwritten')
  await expect(store.backup(path)).rejects.toThrow('not overwritten')
  expect((await child.ended).err).toBe('')
  const backup = createSqliteStore({ path: at('copies/backup.db') })
  expect(await backup.read('s')).toEqual(await store.read('s'))
  const other = await backup.read('other')
  expect(other.length).toBeGreaterThan(0)
  expect(other.length % 2).toBe(0)
  expect(await backup.identity()).toBe(await store.identity())
  await Promise.all([store.close(), backup.close(), byHand.close()])
})

test('FD-14 a file that was moved away or replaced while it is open takes no more writes', async () => {
  const path = at('moved/s.db')
  const store = createSqliteStore({ path })
  const epoch = await write(store, 's', 1)
  for (const suffix of ['', '-wal', '-shm']) renameSync(path + suffix, `${at('moved/old.db')}${suffix}`)
  const moved = { name: 'StoreError', code: 'unavailable', message: expect.stringContaining('moved') }
  await expect(store.append('s', [entry(2, 'lost')], { epoch, head: 1 })).rejects.toMatchObject(moved)
  const other = createSqliteStore({ path })
  await write(other, 's', 2, 'new', 'bob')
  await expect(store.send('s', item('k', 'hello'))).rejects.toMatchObject(moved)
  await expect(store.lease('s', { owner: 'ann', ttlMs: hour, epoch })).rejects.toMatchObject(moved)
  expect(await other.read('s')).toEqual([entry(1, 'new'), entry(2, 'new')])
  await Promise.all([store.close(), other.close()])
})

test('FS-19 all files are for their owner alone, whatever the umask', async () => {
  const path = at('modes/deep/s.db')
  const child = runChild(
    `process.umask(0)
     const store = createSqliteStore({ path })
     await write(store, 's', 1)
     say('written'); await toldToGoOn(); await store.close()`,
    path,
  )
  await child.said('written')
  for (const file of [path, `${path}-wal`, `${path}-shm`]) expect(modeOf(file), file).toBe(0o600)
  for (const folder of [at('modes'), at('modes/deep')]) expect(modeOf(folder), folder).toBe(0o700)
  child.goOn()
  const { code, err } = await child.ended
  expect({ code, err }).toEqual({ code: 0, err: '' }) // no warning that SQLite is experimental either
})

test('FS-19 a file that others may read is closed to them; a link and a folder are refused', async () => {
  const path = at('open.db')
  const before = createSqliteStore({ path })
  await write(before, 's', 1)
  await before.close()
  chmodSync(path, 0o644)
  const store = createSqliteStore({ path })
  expect(await store.read('s')).toHaveLength(1)
  expect(modeOf(path)).toBe(0o600)
  await store.close()
  symlinkSync(path, at('link.db'))
  await expect(createSqliteStore({ path: at('link.db') }).read('s')).rejects.toThrow('a symbolic link')
  mkdirSync(at('folder.db'))
  await expect(createSqliteStore({ path: at('folder.db') }).read('s')).rejects.toThrow('not a file')
  expect(lstatSync(at('link.db')).isSymbolicLink()).toBe(true)
})

test('processes that open a new file at once all succeed', async () => {
  const path = at('together/s.db')
  const code = `
    say('ready')
    await toldToGoOn()
    const store = createSqliteStore({ path })
    await write(store, rest[0], 3)
    await store.close()`
  const children = Array.from({ length: 6 }, (_, i) => runChild(code, path, `session ${i}`))
  await Promise.all(children.map((child) => child.said('ready')))
  for (const child of children) child.goOn()
  for (const { ended } of children) expect(await ended).toMatchObject({ code: 0, err: '' })
  const store = createSqliteStore({ path })
  expect((await store.list()).sessions.map(({ id, head }) => `${id}: ${head}`).sort()).toEqual(
    Array.from({ length: 6 }, (_, i) => `session ${i}: 3`),
  )
  await store.close()
})

test('ids, keys and owners of any characters survive', async () => {
  const path = at('odd.db')
  const store = createSqliteStore({ path })
  const odd = ['\ud800', '\udfff', '\ufffd', 'a\0b', 'a', '"\\ud800"', '"', '', '\u{1F469}']
  await lease(store, 'inbox')
  for (const id of odd) {
    await write(store, id, 1, `of ${id}`, `owner ${id}`)
    await store.send('inbox', item(id, `text ${id}`))
    await store.send('inbox', item(id, 'again'))
  }
  const other = createSqliteStore({ path })
  for (const id of odd) {
    expect(await other.read(id)).toEqual([entry(1, `of ${id}`)])
    await expect(lease(other, id, 'bob')).rejects.toMatchObject({ owner: `owner ${id}` })
  }
  expect((await other.list({ order: 'id' })).sessions.map(({ id }) => id)).toEqual(odd.toSorted())
  expect((await lease(other, 'inbox')).inbox).toEqual(odd.map((key) => item(key, `text ${key}`)))
  await Promise.all([store.close(), other.close()])
})

test('a closed store says so, closing twice is harmless, and its watchers end', async () => {
  const store = createSqliteStore({ path: at('closing.db') })
  await write(store, 's', 1)
  const seen: number[] = []
  const watched = (async () => {
    for await (const { entries } of store.watch('s', { signal: new AbortController().signal }))
      seen.push(...entries.map(({ seq }) => seq))
  })()
  await vi.waitFor(() => expect(seen).toEqual([1]))
  await store.close()
  await store.close()
  await watched
  await expect(store.read('s')).rejects.toThrow('was closed')
  const database = new DatabaseSync(at('closing.db'), { readOnly: true })
  expect(database.prepare('SELECT count(*) AS n FROM openers').get()).toEqual({ n: 0 })
  database.close()
})

const modeOf = (path: string): number => statSync(path).mode & 0o777

/** A small file system of its own, gone after the test. */
function mount(name: string, options: string): string {
  const folder = at(`mount-${name}`)
  mkdirSync(folder)
  execFileSync('mount', ['-t', 'tmpfs', '-o', `${options},mode=700`, 'tmpfs', folder])
  onTestFinished(() => {
    execFileSync('umount', ['--lazy', folder]) // also when the test failed and its store is still open
  })
  return folder
}

test('a write-ahead log whose database was moved away is not thrown away', async () => {
  const path = at('left.db')
  writeFileSync(`${path}-wal`, 'entries that are nowhere else')
  const store = createSqliteStore({ path })
  await expect(store.list()).rejects.toMatchObject({
    code: 'corrupt',
    message: expect.stringContaining('put the database back'),
  })
  expect(statSync(`${path}-wal`).size).toBeGreaterThan(0)
  rmSync(`${path}-wal`)
  expect(await store.list()).toEqual({ sessions: [] })
  await store.close()
})

test('a folder that can never be made is an error, not an endless attempt', async () => {
  const store = createSqliteStore({ path: '/proc/libero/sessions.db' })
  await expect(store.list()).rejects.toBeInstanceOf(StoreError)
})
