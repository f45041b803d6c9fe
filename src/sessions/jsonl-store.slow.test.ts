import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect } from 'vitest'
import { testInTurns } from '../../test/soak.ts'
import { type LogEntry, onFailpoint } from '../core/log.ts'
import { fakeClock } from '../testing/fake-clock.ts'
import { storeContract } from '../testing/store-contract.ts'
import { entry, hour, input, item, lease, until, Watcher, write } from '../testing/store-contract-kit.ts'
import { createJsonlStore } from './jsonl-store.ts'
import { entriesInRange } from './session-query.ts'

const test = testInTurns(2)

const root = fs.mkdtempSync(join(tmpdir(), 'libero-jsonl-'))
afterAll(() => fs.rmSync(root, { recursive: true, force: true }))
afterEach(() => onFailpoint(undefined))
let n = 0
const newFolder = (): string => join(root, String(++n))

describe('the JSONL store', () => {
  let dir = ''
  const cases = storeContract(
    (clock) => {
      dir = newFolder()
      return createJsonlStore({ dir, clock })
    },
    { again: (clock) => createJsonlStore({ dir, clock }) },
  )
  for (const one of cases) test(one.name, one.run)
})

test('a session is a folder that can be read with a text editor', async () => {
  const dir = newFolder()
  const store = createJsonlStore({ dir })
  const { epoch } = await lease(store, 'my-chat')
  await store.send('my-chat', item('k1', 'hello'))
  await store.append('my-chat', [entry(1), input(2, 'k1', 'hello')], { epoch, head: 0 })
  await store.append('my-chat', [entry(3)], { epoch, head: 2 })
  const blob = await store.blobs('my-chat').put(new TextEncoder().encode('large'))
  await store.lease('my-chat', { owner: 'ann', ttlMs: hour, epoch })
  const textOf = (name: string): string => fs.readFileSync(join(dir, 'my-chat', name), 'utf8')
  const lines = textOf('log.jsonl').split('\n')
  expect(lines.map((line) => line && (JSON.parse(line) as unknown))).toEqual([
    { more: true, ...entry(1) },
    input(2, 'k1', 'hello'),
    entry(3),
    '',
  ])
  expect(textOf('inbox.jsonl')).toBe(`${JSON.stringify(item('k1', 'hello'))}\n{"taken":"k1"}\n`)
  expect(JSON.parse(textOf('lease.json'))).toMatchObject({ epoch, owner: 'ann', process: { pid: process.pid } })
  expect(textOf(`blobs/${blob}`)).toBe('large')
  expect(JSON.parse(fs.readFileSync(join(dir, 'store.json'), 'utf8'))).toEqual({
    format: 2,
    identity: await store.identity?.(),
  })
})

test('a watcher reads only what was appended, and nothing while nothing changes', async () => {
  const dir = newFolder()
  const clock = fakeClock(1_700_000_000_000)
  const writer = createJsonlStore({ dir, clock })
  const epoch = await write(writer, 's', 1000)
  const watcher = new Watcher(createJsonlStore({ dir, clock }), 's')
  await until(clock.advance, () => watcher.entries.length === 1000, 'what is there')
  // What was read before is not looked at again: it may as well be damaged now.
  const path = join(dir, 's/log.jsonl')
  const fd = fs.openSync(path, 'r+')
  fs.writeSync(fd, 'xxxx', 0)
  fs.closeSync(fd)
  await writer.append('s', [entry(1001)], { epoch, head: 1000 })
  await until(clock.advance, () => watcher.entries.length === 1001, 'the new entry')
  await watcher.stop()
})

test('a log that was replaced, or deleted and made anew, is read from its start', async () => {
  const dir = newFolder()
  const store = createJsonlStore({ dir })
  await write(store, 's', 3)
  expect(await store.read('s', { after: 2 })).toEqual([entry(3)])
  const other = createJsonlStore({ dir })
  await other.lease('s', { owner: 'bob', ttlMs: hour, takeOver: true, create: true })
  expect(await store.read('s', { after: 3 })).toEqual([])
  await other.delete('s')
  expect(await store.read('s')).toEqual([])
  await write(other, 's', 5, 'new', 'bob')
  expect(await store.read('s', { after: 3 })).toEqual([entry(4, 'new'), entry(5, 'new')])
})

test('a child that another process opens directly is fenced off from the writer of its parent', async () => {
  const dir = newFolder()
  const store = createJsonlStore({ dir })
  const epoch = await write(store, 'p', 1)
  const fence = { epoch, holder: 'p', parent: 'p' }
  await store.append('p/c', [entry(1)], { ...fence, head: 0 })
  const other = createJsonlStore({ dir })
  const theirs = await lease(other, 'p/c', 'bob')
  await expect(store.append('p/c', [entry(2, 'late')], { ...fence, head: 1 })).rejects.toThrow(
    'another process opened it directly, not through its parent, and is writing to it',
  )
  await expect(store.append('p/c', [entry(2, 'late')], { ...fence, head: 1 })).rejects.toThrow('bob')
  await other.append('p/c', [entry(2)], { epoch: theirs.epoch, head: 1 })
  await store.append('p', [entry(2)], { epoch, head: 1 })
  expect(await store.read('p/c')).toEqual([entry(1), entry(2)])
})

test('more children than are held open at once are all written', async () => {
  const store = createJsonlStore({ dir: newFolder(), sync: false })
  const epoch = await write(store, 'p', 1)
  const ids = Array.from({ length: 70 }, (_, i) => `p/${i}`)
  for (const head of [0, 1])
    for (const id of ids) await store.append(id, [entry(head + 1)], { epoch, head, holder: 'p', parent: 'p' })
  for (const id of ids) expect(await store.read(id)).toEqual([entry(1), entry(2)])
})

test('the log of a child is not closed while an append to it has begun, however many other children are opened', async () => {
  const store = createJsonlStore({ dir: newFolder(), sync: false })
  const epoch = await write(store, 'p', 1)
  const append = (id: string, entries: LogEntry[]) =>
    store.append(id, entries, { epoch, head: entries[0]!.seq - 1, holder: 'p', parent: 'p' })
  for (let i = 0; i < 64; i++) await append(`p/${i}`, [entry(1)])
  const large = Array.from({ length: 10 }, (_, i) => entry(i + 2, `${i}${'x'.repeat(300_000)}`)) // blobs, written first
  await Promise.all([append('p/0', large), append('p/64', [entry(1)]), append('p/65', [entry(1)])])
  expect(await store.read('p/0')).toEqual([entry(1), ...large])
  await store.close?.()
})

test('ST13 R12 the event loop goes on while an append waits for the disk', async () => {
  const store = createJsonlStore({ dir: newFolder() })
  const epoch = await write(store, 's', 1)
  const seen: string[] = []
  onFailpoint((name) => {
    seen.push(name.split(':')[0]!)
    if (name.startsWith('jsonl.append.afterWrite')) setImmediate(() => seen.push('event loop'))
  })
  await store.append('s', [entry(2)], { epoch, head: 1 })
  const [before, written, turned, synced] = seen.map((name) => name.replace('jsonl.append.', ''))
  expect([before, written, turned, synced]).toEqual(['beforeWrite', 'afterWrite', 'event loop', 'afterSync'])
})

test('ST12 appends to one session that come meanwhile share the next write, and sessions do not wait for each other', async () => {
  const store = createJsonlStore({ dir: newFolder() })
  const epochs = [await write(store, 's', 1), await write(store, 't', 1)]
  const seen: string[] = []
  onFailpoint((name) => seen.push(name.replace('jsonl.append.', '')))
  await Promise.all([
    ...[2, 3, 4].map((seq) => store.append('s', [entry(seq)], { epoch: epochs[0]!, head: seq - 1 })),
    store.append('t', [entry(2), entry(3)], { epoch: epochs[1]!, head: 1 }),
  ])
  expect(seen.filter((name) => name.startsWith('afterSync')).sort()).toEqual([
    'afterSync:label',
    'afterSync:label+label',
    'afterSync:label+label',
  ])
  const firstSync = seen.findIndex((name) => name.startsWith('afterSync'))
  expect(seen.slice(0, firstSync).filter((name) => name.startsWith('afterWrite'))).toHaveLength(2)
  expect(await store.read('s')).toEqual([1, 2, 3, 4].map((seq) => entry(seq)))
  expect(await store.read('t')).toEqual([1, 2, 3].map((seq) => entry(seq)))
})

test('of appends that share a write one with wrong numbers is refused, and the others are written', async () => {
  const store = createJsonlStore({ dir: newFolder() })
  const epoch = await write(store, 's', 1)
  const outcomes = await Promise.allSettled([
    store.append('s', [entry(2)], { epoch, head: 1 }),
    store.append('s', [entry(9)], { epoch, head: 2 }),
    store.append('s', [entry(3)], { epoch, head: 2 }),
    store.append('s', [], { epoch, head: 3 }),
    store.append('s', [entry(3)], { epoch, head: 2 }),
  ])
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled'])
  expect(await store.read('s')).toEqual([entry(1), entry(2), entry(3)])
})

test('ST06 of a long log only the entries of the range are read', async () => {
  const dir = newFolder()
  const store = createJsonlStore({ dir, sync: false })
  const epoch = await write(store, 's', 3000)
  const long = entry(3001, 'x'.repeat(100_000))
  const after = [3002, 3003].map((seq) => entry(seq))
  await store.append('s', [long, ...after], { epoch, head: 3000 })
  const all = await store.read('s')
  const ranges = [0, 1, 7, 1500, 2999, 3000, 3001, 3003, 9999].flatMap((at) => [
    { after: at },
    { after: at, limit: 3 },
    { before: at },
    { before: at, limit: 3, fromEnd: true },
    { after: at, before: at + 5, limit: 2, fromEnd: true },
    { after: at, limit: 0 },
  ])
  for (const range of ranges) {
    const expected = entriesInRange(all, range)
    for (const reader of [store, createJsonlStore({ dir })]) expect(await reader.read('s', range)).toEqual(expected)
  }
  // A line that is not read may be damaged; reading it reports its number.
  const path = join(dir, 's/log.jsonl')
  const bytes = fs.readFileSync(path)
  bytes.fill('x', 0, 4)
  fs.writeFileSync(path, bytes)
  const fresh = createJsonlStore({ dir })
  for (const range of ranges.filter(({ after = 0 }) => after > 0))
    expect(await fresh.read('s', range)).toEqual(entriesInRange(all, range))
  await expect(fresh.read('s', { limit: 1 })).rejects.toMatchObject({ message: expect.stringContaining('line 1 ') })
})

test('an inbox that grew large keeps what waits, and the keys of what was taken', async () => {
  const dir = newFolder()
  const store = createJsonlStore({ dir })
  const { epoch } = await lease(store)
  for (const key of ['k1', 'k2', 'k3']) await store.send('s', item(key, 'x'.repeat(100_000)))
  await store.append('s', [input(1, 'k1', 'said'), input(2, 'k2', 'said')], { epoch, head: 0 })
  await store.lease('s', { owner: 'ann', ttlMs: hour, epoch })
  expect(fs.statSync(join(dir, 's/inbox.jsonl')).size).toBeLessThan(110_000)
  for (const key of ['k1', 'k2', 'k3', 'k4']) await store.send('s', item(key, 'again'))
  const { inbox } = await store.lease('s', { owner: 'ann', ttlMs: hour, epoch })
  expect(inbox).toEqual([item('k3', 'x'.repeat(100_000)), item('k4', 'again')])
})

test('a key that stands deep inside an entry is not taken for one that was delivered', async () => {
  const store = createJsonlStore({ dir: newFolder() })
  const { epoch } = await lease(store)
  await store.append('s', [{ ...entry(1), type: 'state', owner: 'o', value: { clientKey: 'k1' } }], { epoch, head: 0 })
  await store.send('s', item('k1', 'hello'))
  expect((await store.lease('s', { owner: 'ann', ttlMs: hour, epoch })).inbox).toEqual([item('k1', 'hello')])
})

test('keys that wait are looked for in the log by their whole text, once each', async () => {
  const store = createJsonlStore({ dir: newFolder() })
  const { epoch } = await lease(store)
  const keys = ['a', 'a"b', 'a\\', 'a\\"', '\u{1F388}', '\ud800', '']
  for (const key of keys) await store.send('s', item(key, 'hello'))
  const inboxNow = async () => (await store.lease('s', { owner: 'ann', ttlMs: hour, epoch })).inbox
  for (const [i, key] of keys.entries()) {
    expect((await inboxNow()).map(({ clientKey }) => clientKey)).toEqual(keys.slice(i))
    await store.append('s', [input(i + 1, key, `"clientKey":"${keys[i + 1]}"`)], { epoch, head: i })
  }
  expect(await inboxNow()).toEqual([])
})

test('closing gives leases back, lets go of files, and may be done twice', async () => {
  const dir = newFolder()
  const store = createJsonlStore({ dir })
  const epoch = await write(store, 's', 1)
  await store.append('s/c', [entry(1)], { epoch, head: 0, holder: 's', parent: 's' })
  if (process.platform === 'linux')
    expect(openFilesIn(dir).filter((path) => path.endsWith('log.jsonl'))).toHaveLength(2)
  await store.close?.()
  await store.close?.()
  if (process.platform === 'linux') expect(openFilesIn(dir)).toEqual([])
  await expect(store.append('s', [entry(2)], { epoch, head: 1 })).rejects.toMatchObject({ name: 'LeaseLostError' })
  await lease(createJsonlStore({ dir }), 's', 'bob')
})

test('a closed store says so, and its watchers end', async () => {
  const clock = fakeClock(1_700_000_000_000)
  const store = createJsonlStore({ dir: newFolder(), clock })
  await write(store, 's', 1)
  const watcher = new Watcher(store, 's')
  await until(clock.advance, () => watcher.entries.length === 1, 'what is there')
  await store.close?.()
  await watcher.done
  expect(clock.pending).toBe(0)
  const closed = { code: 'unavailable', message: expect.stringContaining('was closed') }
  await expect(lease(store)).rejects.toMatchObject(closed)
  await expect(store.send('s', item('k', 'hello'))).rejects.toMatchObject(closed)
  await expect(store.read('s')).rejects.toMatchObject(closed)
  await expect(store.list()).rejects.toMatchObject(closed)
})

test('a lease that is being taken while the store is closed is given back', async () => {
  const dir = newFolder()
  await write(createJsonlStore({ dir }), 's', 1)
  const store = createJsonlStore({ dir })
  const taking = store.lease('s', { owner: 'eve', ttlMs: hour, takeOver: true, create: true })
  await store.close?.()
  await taking
  await lease(createJsonlStore({ dir }), 's', 'bob')
})

test('a blob that was damaged is an error, and whole again when it is put again', async () => {
  const dir = newFolder()
  const store = createJsonlStore({ dir })
  const bytes = new TextEncoder().encode('large')
  await lease(store)
  const name = await store.blobs('s').put(bytes)
  fs.writeFileSync(join(dir, 's/blobs', name), 'larger'.slice(1))
  await expect(store.blobs('s').get(name)).rejects.toMatchObject({ name: 'StoreError', code: 'corrupt' })
  await store.blobs('s').put(bytes)
  expect(await store.blobs('s').get(name)).toEqual(bytes)
})

test('a message with an odd field in front is kept when another follows', async () => {
  const store = createJsonlStore({ dir: newFolder() })
  const odd = { more: true, ...item('k1', 'hello') }
  await lease(store)
  await store.send('s', odd)
  await store.send('s', item('k2', 'hello'))
  expect((await lease(store)).inbox).toEqual([odd, item('k2', 'hello')])
})

function openFilesIn(dir: string): string[] {
  const files = fs.readdirSync('/proc/self/fd').map((fd) => {
    try {
      return fs.readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return '' // closed meanwhile
    }
  })
  return files.filter((path) => path.startsWith(fs.realpathSync(dir)))
}
