import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect } from 'vitest'
import { onFailpoint } from '../../src/core/log.ts'
import { createJsonlStore } from '../../src/sessions/jsonl-store.ts'
import { entry, hour, item, lease, write } from '../../src/testing/store-contract-kit.ts'
import { mayChangeMachine } from '../processes.ts'
import { testInTurns } from '../soak.ts'
import { runChild, storeFolders } from './store-jsonl-kit.ts'

const test = testInTurns(2)

const newFolder = storeFolders()
afterEach(() => onFailpoint(undefined))

/** Has the next operation fail at a failpoint, as the system would fail it. */
function failAt(failpoint: string, code: string, before?: () => void): void {
  onFailpoint((name) => {
    if (name.split(':')[0] !== failpoint) return
    onFailpoint(undefined)
    before?.()
    throw Object.assign(new Error(`${code}: as if`), { code })
  })
}

test('FD-08 when files may not grow an append is refused as a whole, and with room it goes on', async () => {
  const dir = newFolder()
  const [said] = await runChild([dir, 'fill'], { limit: 8 }).said
  const { result, again, head } = said as { result: unknown; again: unknown; head: number }
  expect(result).toMatchObject({ name: 'StoreError', code: 'full' })
  expect(again).toBe('done') // what is short enough still fits, after the half that did not was cut off
  expect(head).toBeGreaterThan(1)
  const store = createJsonlStore({ dir })
  expect((await store.read('s')).map(({ seq }) => seq)).toEqual(Array.from({ length: head + 1 }, (_, i) => i + 1))
  const { epoch } = await lease(store)
  await store.append('s', [entry(head + 2)], { epoch, head: head + 1 })
  expect(await store.read('s', { after: head + 1 })).toEqual([entry(head + 2)])
})

describe.each(['ENOSPC', 'EIO'])('an append that fails with %s', (errno) => {
  const code = errno === 'ENOSPC' ? 'full' : 'unavailable'
  const id = errno === 'ENOSPC' ? 'FD-08' : 'FD-09'

  test.each(['jsonl.append.beforeWrite', 'jsonl.append.afterWrite', 'jsonl.append.afterSync'])(
    `${id} at %s is not acknowledged, leaves nothing, and may be repeated`,
    async (failpoint) => {
      const dir = newFolder()
      const store = createJsonlStore({ dir })
      const epoch = await write(store, 's', 1)
      const path = join(dir, 's/log.jsonl')
      const { size } = fs.statSync(path)
      const batch = [entry(2), entry(3)]
      const tear = (): void => fs.truncateSync(path, Math.max(size, fs.statSync(path).size - 10))
      failAt(failpoint, errno, failpoint.endsWith('afterWrite') ? tear : undefined)
      const failed = store.append('s', batch, { epoch, head: 1 })
      await expect(failed).rejects.toMatchObject({ name: 'StoreError', code, message: expect.stringContaining(path) })
      expect(fs.statSync(path).size).toBe(size)
      expect(await createJsonlStore({ dir }).read('s')).toEqual([entry(1)])
      await store.append('s', batch, { epoch, head: 1 })
      expect(await createJsonlStore({ dir }).read('s')).toEqual([entry(1), ...batch])
    },
  )
})

test('FD-09 too many open files are said as such', async () => {
  const store = createJsonlStore({ dir: newFolder() })
  const epoch = await write(store, 's', 1)
  failAt('jsonl.append.beforeWrite', 'EMFILE')
  const failed = store.append('s', [entry(2)], { epoch, head: 1 })
  await expect(failed).rejects.toMatchObject({ code: 'unavailable', message: expect.stringContaining('ulimit -n') })
})

test('FD-08 a full disk at any other place is said as such, and what was there stays', async () => {
  const dir = newFolder()
  const store = createJsonlStore({ dir })
  const epoch = await write(store, 's', 1)
  const full = { name: 'StoreError', code: 'full' }
  for (const failpoint of ['jsonl.send.beforeWrite', 'jsonl.send.afterWrite']) {
    failAt(failpoint, 'ENOSPC')
    await expect(store.send('s', item('k', 'hello'))).rejects.toMatchObject(full)
  }
  failAt('jsonl.blob.beforeRename', 'ENOSPC')
  await expect(store.blobs('s').put(Uint8Array.of(1))).rejects.toMatchObject(full)
  failAt('jsonl.lease.beforeRename', 'ENOSPC')
  await expect(store.lease('s', { owner: 'ann', ttlMs: 2 * hour, epoch })).rejects.toMatchObject(full)
  expect(fs.readdirSync(join(dir, 's')).filter((name) => name.endsWith('.tmp'))).toEqual([])
  await store.append('s', [entry(2)], { epoch, head: 1 })
  for (const failpoint of ['jsonl.takeover.beforeCopy', 'jsonl.takeover.beforeRename', 'jsonl.lease.beforeRename']) {
    failAt(failpoint, 'ENOSPC')
    const other = createJsonlStore({ dir })
    await expect(other.lease('s', { owner: 'bob', ttlMs: hour, takeOver: true, create: true })).rejects.toMatchObject(
      full,
    )
    expect(await other.read('s')).toEqual([entry(1), entry(2)])
  }
  expect((await store.lease('s', { owner: 'eve', ttlMs: hour, takeOver: true, create: true })).inbox).toEqual([])
})

if (!mayChangeMachine)
  console.warn('skipped: real full and read-only disks are mounted only on Linux as root with CI set')
test.skipIf(!mayChangeMachine)(
  'FD-08 FD-09 a real disk that is full, then read-only (as root with CI set)',
  async () => {
    const dir = newFolder()
    fs.mkdirSync(dir)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k,mode=700', 'tmpfs', dir])
    try {
      const store = createJsonlStore({ dir })
      const { epoch } = await lease(store)
      let head = 0
      const fill = async (): Promise<void> => {
        for (; ; head++) await store.append('s', [entry(head + 1, `${head} ${'x'.repeat(3000)}`)], { epoch, head })
      }
      await expect(fill()).rejects.toMatchObject({ code: 'full' })
      expect(await createJsonlStore({ dir }).read('s')).toHaveLength(head)
      execFileSync('mount', ['-o', 'remount,size=1m', dir])
      await store.append('s', [entry(head + 1)], { epoch, head })
      await store.close?.()
      execFileSync('mount', ['-o', 'remount,ro', dir])
      const later = createJsonlStore({ dir })
      await expect(lease(later)).rejects.toMatchObject({ code: 'read_only' })
      expect(await later.read('s')).toHaveLength(head + 1)
    } finally {
      execFileSync('umount', [dir])
    }
  },
)

test('FD-09 who may not write is told so by the lease, before any turn, and may read', async () => {
  const dir = newFolder()
  const writer = createJsonlStore({ dir })
  await write(writer, 's', 2)
  await writer.close?.()
  const isRoot = process.getuid?.() === 0
  for (const name of fs.readdirSync(dir, { recursive: true, encoding: 'utf8' }).sort().reverse()) {
    const path = join(dir, name)
    fs.chmodSync(path, fs.statSync(path).isDirectory() ? 0o555 : 0o444)
  }
  fs.chmodSync(dir, 0o555)
  if (isRoot) fs.chmodSync(join(dir, '..'), 0o755)
  const readOnly = { name: 'StoreError', code: 'read_only' }
  expect(await runChild([dir, 'powerless']).said).toEqual([
    { read: 2, list: 1, lease: readOnly, send: readOnly, blob: readOnly },
  ])
  for (const path of [dir, join(dir, 's'), join(dir, 's/lock')]) fs.chmodSync(path, 0o700)
})

describe('what the store makes', () => {
  const modesIn = (dir: string): string[] =>
    [dir, ...fs.readdirSync(dir, { recursive: true, encoding: 'utf8' }).map((name) => join(dir, name))].map((path) => {
      const { mode } = fs.statSync(path)
      return `${fs.statSync(path).isDirectory() ? 'folder' : 'file'} ${(mode & 0o777).toString(8)}`
    })

  test('FS-19 is for its owner alone, whatever the umask', async () => {
    const dir = newFolder()
    const before = process.umask(0)
    try {
      const store = createJsonlStore({ dir })
      const epoch = await write(store, 's', 1)
      await store.append('s/c', [entry(1)], { epoch, head: 0, holder: 's', parent: 's' })
      await write(store, 'x'.repeat(999), 1)
      await store.send('s', item('k', 'hello'))
      await store.blobs('s').put(Uint8Array.of(1))
      await createJsonlStore({ dir }).lease('s', { owner: 'bob', ttlMs: hour, takeOver: true, create: true })
    } finally {
      process.umask(before)
    }
    expect(new Set(modesIn(dir))).toEqual(new Set(['folder 700', 'file 600']))
  })

  test('FS-19 is restricted to its owner again if it was opened to others', async () => {
    const dir = newFolder()
    const store = createJsonlStore({ dir })
    await write(store, 's', 1)
    await store.send('s', item('k', 'hello'))
    await store.close?.()
    for (const name of ['', 's']) fs.chmodSync(join(dir, name), 0o777)
    for (const name of ['store.json', 's/log.jsonl', 's/inbox.jsonl']) fs.chmodSync(join(dir, name), 0o666)
    const again = createJsonlStore({ dir })
    await lease(again)
    await again.send('s', item('k2', 'hello'))
    expect(new Set(modesIn(dir))).toEqual(new Set(['folder 700', 'file 600']))
  })

  test('FS-19 is never reached through a link', async () => {
    const dir = newFolder()
    const elsewhere = newFolder()
    await write(createJsonlStore({ dir: elsewhere }), 's', 1)
    const before = createJsonlStore({ dir })
    await write(before, 't', 1)
    await before.send('t', item('k', 'hello'))
    await before.close?.()
    const store = createJsonlStore({ dir })
    fs.symlinkSync(join(elsewhere, 's'), join(dir, 's'))
    const refused = { name: 'StoreError', code: 'unavailable', message: expect.stringContaining('link') }
    await expect(store.read('s')).rejects.toMatchObject(refused)
    await expect(lease(store, 's')).rejects.toMatchObject(refused)
    await expect(store.send('s', item('k', 'hello'))).rejects.toMatchObject(refused)
    await expect(store.delete('s')).rejects.toMatchObject(refused)
    await expect(store.blobs('s').get('0'.repeat(64))).rejects.toMatchObject(refused)
    expect((await store.list()).sessions).toMatchObject([{ id: 't' }])
    for (const name of ['log.jsonl', 'inbox.jsonl']) {
      fs.rmSync(join(dir, 't', name))
      fs.symlinkSync(join(elsewhere, 's', 'log.jsonl'), join(dir, 't', name))
    }
    await expect(store.read('t')).rejects.toMatchObject(refused)
    await expect(lease(store, 't')).rejects.toMatchObject(refused)
    await expect(store.send('t', item('k2', 'hello'))).rejects.toMatchObject(refused)
    expect(await createJsonlStore({ dir: elsewhere }).read('s')).toEqual([entry(1)])
  })

  test.skipIf(process.platform === 'win32')(
    'FS-19 is a file: a pipe in its place is refused, not waited for',
    async () => {
      const dir = newFolder()
      const before = createJsonlStore({ dir })
      await write(before, 's', 1)
      await before.close?.()
      for (const name of ['log.jsonl', 'inbox.jsonl', 'lease.json']) {
        fs.rmSync(join(dir, 's', name), { force: true })
        execFileSync('mkfifo', [join(dir, 's', name)])
      }
      const refused = { name: 'StoreError', code: 'unavailable' }
      // In another process: to open a pipe would stop this one.
      const child = runChild([dir, 'meet'])
      const giveUp = setTimeout(() => child.process.kill('SIGKILL'), 10_000)
      expect(await child.said).toEqual([{ read: refused, lease: refused, send: refused }])
      clearTimeout(giveUp)
    },
  )
})
