import * as fs from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { onFailpoint } from '../../src/core/log.ts'
import type { Fence, SessionStore } from '../../src/core/store.ts'
import { createJsonlStore } from '../../src/sessions/jsonl-store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { entry, hour, lease, write } from '../../src/testing/store-contract-kit.ts'
import { isStopped, runChild, storeFolders } from './store-jsonl-kit.ts'

const newFolder = storeFolders()
afterEach(() => onFailpoint(undefined))

/** Has both append entry 2. At most one succeeds, and then its entry is stored. One that is refused may be stored as well. */
async function checkOneWrites(dir: string, id: string, rivals: [SessionStore, Fence][]): Promise<void> {
  const outcomes = await Promise.allSettled(
    rivals.map(async ([store, fence], i) => store.append(id, [entry(2, `by ${i}`)], { ...fence, head: 1 })),
  )
  const winners = outcomes.flatMap(({ status }, i) => (status === 'fulfilled' ? [i] : []))
  expect(winners.length).toBeLessThan(2)
  const [first, second, ...others] = await createJsonlStore({ dir }).read(id)
  expect([first, others]).toEqual([entry(1), []])
  const possible = winners.length > 0 ? winners : [...rivals.keys()]
  if (second || winners.length > 0) expect(possible.map((i) => entry(2, `by ${i}`))).toContainEqual(second)
}

describe('FD-14 a child that is written under its parent and as a session of its own', () => {
  const start = 1_700_000_000_000

  test('is taken from one whose own lease ran out though it lives', async () => {
    const dir = newFolder()
    const clock = fakeClock(start)
    const parent = createJsonlStore({ dir, clock })
    const own = createJsonlStore({ dir, clock })
    const epoch = await write(parent, 'p', 1)
    const fence = { epoch, holder: 'p', parent: 'p', head: 0 }
    await parent.append('p/c', [entry(1)], fence)
    const theirs = await own.lease('p/c', { owner: 'bob', ttlMs: 1000, create: true })
    await clock.advance(2000)
    const late = parent.append('p/c', [entry(2, 'late')], { ...fence, head: 1 })
    await expect(late).rejects.toMatchObject({ name: 'LeaseLostError' }) // from now on it would open the log of the other
    await checkOneWrites(dir, 'p/c', [
      [parent, fence],
      [own, { epoch: theirs.epoch, head: 1 }],
    ])
  })

  test('has one writer for its own children too', async () => {
    const dir = newFolder()
    const parent = createJsonlStore({ dir })
    const own = createJsonlStore({ dir })
    const epoch = await write(parent, 'p', 1)
    await parent.append('p/c', [entry(1)], { epoch, holder: 'p', parent: 'p', head: 0 })
    const { epoch: theirs } = await lease(own, 'p/c', 'bob')
    await own.append('p/c/g', [entry(1)], { epoch: theirs, holder: 'p/c', parent: 'p/c', head: 0 })
    await checkOneWrites(dir, 'p/c/g', [
      [parent, { epoch, holder: 'p', parent: 'p/c', head: 1 }],
      [own, { epoch: theirs, holder: 'p/c', parent: 'p/c', head: 1 }],
    ])
  })

  test.each(['p/c', 'p/c/g'])('is not opened while it is just being taken (%s)', async (id) => {
    const dir = newFolder()
    const parent = createJsonlStore({ dir })
    const own = createJsonlStore({ dir })
    const epoch = await write(parent, 'p', 1)
    const fence = { epoch, holder: 'p', parent: id === 'p/c' ? 'p' : 'p/c' }
    await parent.append('p/c', [entry(1)], { epoch, holder: 'p', parent: 'p', head: 0 })
    if (id !== 'p/c') await parent.append(id, [entry(1)], { ...fence, head: 0 })
    const late: Promise<void>[] = []
    onFailpoint((name) => {
      if (name !== 'jsonl.lease.beforeRename') return
      onFailpoint(undefined)
      // The first finds that it was moved, the second opens it anew.
      for (const text of ['late', 'later'])
        late.push(parent.append(id, [entry(2, text)], { ...fence, head: 1 }).catch((error) => error))
    })
    await new Promise((resolve) => setTimeout(resolve, 5)) // a writer looks before it writes if it has not looked just now
    const { epoch: theirs } = await lease(own, 'p/c', 'bob')
    expect(await Promise.all(late)).toMatchObject([{ name: 'LeaseLostError' }, { name: 'StoreError', code: 'busy' }])
    await own.append(id, [entry(2)], { epoch: theirs, head: 1, ...(id !== 'p/c' && { holder: 'p/c', parent: 'p/c' }) })
    expect(await createJsonlStore({ dir }).read(id)).toEqual([entry(1), entry(2)])
  })

  test('is not shared with one who took the name before it became a child', async () => {
    const dir = newFolder()
    const parent = createJsonlStore({ dir })
    const epoch = await write(parent, 'p', 1)
    const fence = { epoch, holder: 'p', parent: 'p' }
    const child = runChild([dir, 'stoppedTaking', 'jsonl.lease.beforeRename', 'p/c'])
    await child.says('at jsonl.lease.beforeRename')
    await isStopped(child)
    await parent.append('p/c', [entry(1)], { ...fence, head: 0 })
    child.process.kill('SIGCONT')
    await child.says({ head: 1 })
    await expect(parent.append('p/c', [entry(2, 'late')], { ...fence, head: 1 })).rejects.toMatchObject({
      name: 'LeaseLostError',
    })
    expect((await child.said).at(-1)).toBe('done')
    expect(await parent.read('p/c')).toEqual([entry(1), entry(2, 'by bob')])
  })
})

test('FD-01 an empty log that a late writer made while a dead one took over is not taken for its copy', async () => {
  const dir = newFolder()
  const store = createJsonlStore({ dir })
  await write(store, 's', 2)
  expect(await runChild([dir, 'dieTaking', 'jsonl.takeover.beforeCopy']).said).toHaveLength(1)
  fs.writeFileSync(join(dir, 's/log.jsonl'), '')
  const next = createJsonlStore({ dir })
  expect((await next.lease('s', { owner: 'eve', ttlMs: hour, takeOver: true, create: true })).head).toBe(2)
  expect(await next.read('s')).toEqual([entry(1), entry(2)])
})
