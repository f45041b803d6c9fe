import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, test } from 'vitest'
import { onFailpoint } from '../../core/log.ts'
import { entry, hour, input, item, lease, write } from '../../testing/store-contract-kit.ts'
import { createJsonlStore } from '../jsonl-store.ts'

const root = fs.mkdtempSync(join(tmpdir(), 'libero-jsonl-forks-'))
afterAll(() => fs.rmSync(root, { recursive: true, force: true }))
afterEach(() => onFailpoint(undefined))
let n = 0
const newFolder = (): string => join(root, String(++n))

/** A store with a session of three entries and a fork of it at the second. */
async function forkedStore() {
  const dir = newFolder()
  const store = createJsonlStore({ dir })
  const epoch = await write(store, 'o', 3)
  const { epoch: forked } = await lease(store, 'f')
  await store.append('f', [entry(3, 'f')], { epoch: forked, head: 2, base: 'o' })
  return { dir, store, epoch, forked }
}

const shared = [entry(1), entry(2), entry(3, 'f')]

test('ST10 a fork is a link to the log of its original, of which it counts the first lines', async () => {
  const { dir, store } = await forkedStore()
  expect(fs.statSync(join(dir, 'f/base.1.jsonl')).ino).toBe(fs.statSync(join(dir, 'o/log.jsonl')).ino)
  expect(fs.readFileSync(join(dir, 'f/log.jsonl'), 'utf8')).toBe(`${JSON.stringify(entry(3, 'f'))}\n`)
  expect(await store.read('f')).toEqual(shared)
})

test('ST10 an original that is taken over, damaged or torn leaves its forks as they are', async () => {
  const { dir, store } = await forkedStore()
  const other = createJsonlStore({ dir })
  const { epoch, head } = await other.lease('o', { owner: 'bob', ttlMs: hour, takeOver: true })
  await other.append('o', [entry(4, 'of bob')], { epoch, head })
  fs.writeFileSync(join(dir, 'o/log.jsonl'), 'damaged\n')
  expect(await store.read('f')).toEqual(shared)
  fs.appendFileSync(join(dir, 'f/base.1.jsonl'), '{"seq":4')
  expect(await createJsonlStore({ dir }).read('f')).toEqual(shared)
})

test('ST10 a failed append of the original takes no complete entry away from a fork', async () => {
  const dir = newFolder()
  const store = createJsonlStore({ dir })
  const epoch = await write(store, 'o', 2)
  const { epoch: forked } = await lease(store, 'f')
  let forking: Promise<void> | undefined
  onFailpoint((name) => {
    // A fork is made while the entry is written and not yet on the disk, and then the disk fails.
    if (name.startsWith('jsonl.append.afterWrite')) {
      forking ??= store.append('f', [entry(4, 'f')], { epoch: forked, head: 3, base: 'o' })
    } else if (name.startsWith('jsonl.append.afterSync') && fs.existsSync(join(dir, 'f/base.1.jsonl'))) {
      onFailpoint(undefined)
      throw Object.assign(new Error('EIO: as if'), { code: 'EIO' })
    }
  })
  await expect(store.append('o', [entry(3)], { epoch, head: 2 })).rejects.toMatchObject({ code: 'unavailable' })
  await forking
  expect(await store.read('f')).toEqual([entry(1), entry(2), entry(3), entry(4, 'f')])
  await expect(store.append('o', [entry(3)], { epoch, head: 2 })).rejects.toMatchObject({ name: 'LeaseLostError' })
  const { epoch: next, head } = await lease(store, 'o')
  await store.append('o', [entry(head + 1, 'next')], { epoch: next, head })
  expect(await store.read('o')).toEqual([entry(1), entry(2), entry(3), entry(4, 'next')])
})

test('ST10 what a fork shares counts from its first entry on, and another beginning forgets it', async () => {
  const dir = newFolder()
  const store = createJsonlStore({ dir })
  await write(store, 'o', 3)
  const { epoch } = await lease(store, 'f')
  onFailpoint((name) => {
    if (!name.startsWith('jsonl.append.beforeWrite')) return
    onFailpoint(undefined)
    throw Object.assign(new Error('ENOSPC: as if'), { code: 'ENOSPC' })
  })
  await expect(store.append('f', [entry(3)], { epoch, head: 2, base: 'o' })).rejects.toMatchObject({ code: 'full' })
  expect(await createJsonlStore({ dir }).read('f')).toEqual([])
  const other = createJsonlStore({ dir })
  const next = await other.lease('f', { owner: 'ann', ttlMs: hour, takeOver: true })
  expect(next.head).toBe(0)
  await other.append('f', [entry(1, 'own')], { epoch: next.epoch, head: 0 })
  expect(await createJsonlStore({ dir }).read('f')).toEqual([entry(1, 'own')])
})

test('ST10 the error about a damaged line of a fork names its file and line', async () => {
  const { dir } = await forkedStore()
  const path = join(dir, 'f/log.jsonl')
  fs.appendFileSync(path, 'null\n')
  await expect(createJsonlStore({ dir }).read('f')).rejects.toMatchObject({
    code: 'corrupt',
    message: expect.stringContaining(`${path}, line 2 `),
  })
})

test('a key among the entries that a fork shares counts as delivered', async () => {
  const store = createJsonlStore({ dir: newFolder() })
  const { epoch } = await lease(store, 'o')
  await store.append('o', [input(1, 'k1', 'said')], { epoch, head: 0 })
  const { epoch: forked } = await lease(store, 'f')
  await store.append('f', [entry(2, 'f')], { epoch: forked, head: 1, base: 'o' })
  for (const key of ['k1', 'k2']) await store.send('f', item(key, 'hello'))
  expect((await lease(store, 'f')).inbox).toEqual([item('k2', 'hello')])
})

test('a long log is searched once for the key of a message', async () => {
  const dir = newFolder()
  const store = createJsonlStore({ dir, sync: false })
  const epoch = await write(store, 's', 20, 'x'.repeat(30_000))
  await store.send('s', item('k1', 'hello'))
  const lines = fs.readFileSync(join(dir, 's/inbox.jsonl'), 'utf8').split('\n')
  expect(JSON.parse(lines[1]!)).toMatchObject({ searched: fs.statSync(join(dir, 's/log.jsonl')).size, key: 'k1' })
  expect((await store.lease('s', { owner: 'ann', ttlMs: hour, epoch })).inbox).toEqual([item('k1', 'hello')])
  await store.append('s', [input(21, 'k1', 'hello')], { epoch, head: 20 })
  expect((await createJsonlStore({ dir }).lease('s', { owner: 'ann', ttlMs: hour })).inbox).toEqual([])
})
