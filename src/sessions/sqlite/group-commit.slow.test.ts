import fs, { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { entry, item, lease, write } from '../../testing/store-contract-kit.ts'
import { createSqliteStore, type SqliteStore } from '../sqlite-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'libero-sqlite-groups-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0
const newPath = (): string => join(folder, `${files++}.db`)

/** The syncs of files. `hold` keeps the next ones from being confirmed. */
const syncs = { count: 0, held: undefined as (() => void)[] | undefined, error: undefined as Error | undefined }
const { fdatasync } = fs

beforeEach(() => {
  Object.assign(syncs, { count: 0, held: undefined, error: undefined })
  fs.fdatasync = ((file, done) => {
    syncs.count++
    const confirm = (): void => (syncs.error ? done(syncs.error) : fdatasync(file, done))
    if (syncs.held) syncs.held.push(confirm)
    else confirm()
  }) as typeof fdatasync
  syncBuiltinESMExports()
})

afterEach(() => {
  fs.fdatasync = fdatasync
  syncBuiltinESMExports()
})

test.runIf(process.platform !== 'darwin')('ST12 R12 appends of many sessions share commits and syncs', async () => {
  const path = newPath()
  const store = createSqliteStore({ path })
  const ids = Array.from({ length: 30 }, (_, i) => `s${i}`)
  const epochs = await Promise.all(ids.map((id) => write(store, id, 1)))
  const [commitsBefore, syncsBefore] = [commitsIn(path), syncs.count]
  const rounds = 4
  for (let head = 1; head <= rounds; head++)
    await Promise.all(ids.map((id, i) => store.append(id, [entry(head + 1)], { epoch: epochs[i]!, head })))
  // The first of each round is committed at once, the others together; a slow machine needs more groups.
  const most = (rounds * ids.length) / 3
  expect(commitsIn(path) - commitsBefore).toBeLessThan(most)
  expect(syncs.count - syncsBefore).toBeLessThan(most)
  for (const id of ids) expect(await store.read(id)).toHaveLength(1 + rounds)
  await store.close()
})

test.runIf(process.platform !== 'darwin')(
  'ST13 R12 the process goes on while the disk syncs, and nothing is acknowledged before',
  async () => {
    const store = createSqliteStore({ path: newPath() })
    const epoch = await write(store, 's', 1)
    syncs.held = []
    let isAcknowledged = false
    const append = store.append('s', [entry(2)], { epoch, head: 1 }).then(() => {
      isAcknowledged = true
    })
    const message = store.send('s', item('k', 'comes later'))
    for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setTimeout(resolve, 1))
    expect(await store.read('s')).toHaveLength(2)
    expect([syncs.held.length, isAcknowledged]).toEqual([1, false])
    const [confirm] = syncs.held
    syncs.held = undefined
    confirm!()
    await Promise.all([append, message])
    expect(isAcknowledged).toBe(true)
    await store.close()
  },
)

test.runIf(process.platform !== 'darwin')(
  'ST12 of a group, those that are refused fail and the others are written',
  async () => {
    const store = createSqliteStore({ path: newPath() })
    const [a, b] = [await write(store, 'a', 1), await write(store, 'b', 1)]
    const outcomes = await inOneGroup(store, [
      () => store.append('a', [entry(2)], { epoch: a, head: 1 }),
      () => store.append('a', [entry(9)], { epoch: a, head: 8 }),
      () => store.append('b', [entry(2)], { epoch: b + 99, head: 1 }),
      () => store.send('not there', item('k', 'x')),
      () => store.lease('b', { owner: 'rival', ttlMs: 1000 }),
      () => store.append('b', [entry(2)], { epoch: b, head: 1 }),
    ])
    const errors = ['LeaseLostError', 'LeaseLostError', 'SessionNotFoundError', 'SessionBusyError']
    expect(outcomes).toEqual([undefined, ...errors, undefined])
    for (const id of ['a', 'b']) expect(await store.read(id)).toEqual([entry(1), entry(2)])
    expect((await lease(store, 'a')).inbox).toEqual([])
    await store.close()
  },
)

test.runIf(process.platform !== 'darwin')(
  'FD-08 a sync that fails leaves its writes in doubt; the next write makes them durable in another way',
  async () => {
    const path = newPath()
    const store = createSqliteStore({ path })
    const epoch = await write(store, 's', 1)
    syncs.error = new Error('EIO: i/o error, fdatasync')
    const append = () => store.append('s', [entry(2)], { epoch, head: 1 })
    await expect(append()).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('is unknown'),
    })
    const { count } = syncs
    await append() // by a checkpoint, although the file cannot be synced
    expect(syncs.count).toBe(count)
    expect(readFileSync(path).includes(entry(2).id)).toBe(true)
    syncs.error = undefined
    await store.append('s', [entry(3)], { epoch, head: 2 })
    expect(syncs.count).toBe(count + 1)
    expect(await store.read('s')).toEqual([entry(1), entry(2), entry(3)])
    await store.close()
  },
)

test('ST13 a store that is closed first writes what it was asked for', async () => {
  const path = newPath()
  const store = createSqliteStore({ path })
  const epoch = await write(store, 's', 1)
  const appends = [1, 2, 3].map((head) => store.append('s', [entry(head + 1)], { epoch, head }))
  await store.close()
  await Promise.all(appends)
  const again = createSqliteStore({ path })
  expect(await again.read('s')).toHaveLength(4)
  await again.close()
})

/** Starts all while a sync is under way, so that they are written together. Returns the names of their errors. */
async function inOneGroup(store: SqliteStore, calls: readonly (() => Promise<unknown>)[]): Promise<unknown[]> {
  syncs.held = []
  const first = lease(store, 'another')
  while (syncs.held.length === 0) await new Promise((resolve) => setImmediate(resolve))
  const outcomes = calls.map((call) =>
    call().then(
      () => undefined,
      ({ name }: Error) => name,
    ),
  )
  const [confirm] = syncs.held
  syncs.held = undefined
  const { count } = syncs
  confirm!()
  await first
  const names = await Promise.all(outcomes)
  expect(syncs.count - count).toBe(1)
  return names
}

/** How many transactions are in the write-ahead log: the last frame of each says how large the database is then. */
function commitsIn(path: string): number {
  const wal = readFileSync(`${path}-wal`)
  const frameSize = 24 + wal.readUInt32BE(8)
  let commits = 0
  for (let at = 32; at + frameSize <= wal.length; at += frameSize) {
    if (wal.readUInt32BE(at + 8) !== wal.readUInt32BE(16)) break // left over from before the log was begun anew
    if (wal.readUInt32BE(at + 4) !== 0) commits++
  }
  return commits
}
