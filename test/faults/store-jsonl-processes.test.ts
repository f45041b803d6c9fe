import * as fs from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { createJsonlStore } from '../../src/sessions/jsonl-store.ts'
import { entry, hour, item, lease, textOf, write } from '../../src/testing/store-contract-kit.ts'
import { testInTurns } from '../soak.ts'
import { runChild, storeFolders } from './store-jsonl-kit.ts'

// Each of them starts processes.
const test = testInTurns(3)

const newFolder = storeFolders()

test('FD-12 processes that take turns at one session write every entry once, in an order that is dense', async () => {
  const dir = newFolder()
  const owners = ['ann', 'bob', 'eve', 'joe']
  const children = owners.map((owner) => runChild([dir, 'add', owner, '10']))
  for (const { said } of children) expect(await said).toEqual(['added'])
  const texts = (await createJsonlStore({ dir }).read('s')).map(textOf)
  for (const owner of owners)
    expect(texts.filter((text) => text.startsWith(owner))).toEqual(
      Array.from({ length: 10 }, (_, i) => `${owner} ${i}`),
    )
  expect(texts).toHaveLength(40)
})

test('messages from several processes at once arrive whole and once', async () => {
  const dir = newFolder()
  await write(createJsonlStore({ dir }), 's', 1)
  const keys = (n: number): string[] => ['shared', ...Array.from({ length: 10 }, (_, i) => `${n}-${i}`)]
  const children = [1, 2, 3, 4].map((n) => runChild([dir, 'send', ...keys(n)]))
  for (const { said } of children) expect(await said).toEqual(['sent'])
  const { inbox } = await lease(createJsonlStore({ dir }))
  expect(inbox.map(({ clientKey }) => clientKey).sort()).toEqual([...new Set([1, 2, 3, 4].flatMap(keys))].sort())
})

describe('a process that is killed', () => {
  const failpoints = {
    'jsonl.append.beforeWrite': 2,
    'jsonl.append.afterWrite': 4,
    'jsonl.append.afterSync': 4,
    'jsonl.send.beforeWrite': 4,
    'jsonl.send.afterWrite': 4,
    'jsonl.blob.beforeRename': 4,
    'jsonl.lease.beforeRename': 4,
    'jsonl.delete.afterRename': 4,
  }

  test.each(Object.entries(failpoints))(
    'FD-01 at %s leaves what it had acknowledged, whole batches, and a session that others go on with',
    async (failpoint, head) => {
      const dir = newFolder()
      const before = createJsonlStore({ dir })
      await write(before, 's', 1)
      await before.close?.()
      const other = createJsonlStore({ dir })
      const epoch = await write(other, 't', 1)
      await other.append('t/c', [entry(1)], { epoch, head: 0, holder: 't', parent: 't' })
      const child = runChild([dir, 'die', failpoint])
      expect((await child.said).slice(-1)).toEqual([`at ${failpoint}`])
      const store = createJsonlStore({ dir })
      const texts = (await store.read('s')).map(textOf)
      expect(texts).toEqual(['entry 1', 'acked', 'x', 'y'].slice(0, head))
      const taken = await lease(store, 's', 'eve') // at once: its writer is dead
      expect(taken.head).toBe(head)
      await store.append('s', [entry(head + 1)], { epoch: taken.epoch, head })
      await store.send('s', item('from the dead', 'hello'))
      const { inbox } = await store.lease('s', { owner: 'eve', ttlMs: hour, epoch: taken.epoch })
      expect(inbox).toEqual([item('from the dead', 'hello')])
      expect(fs.readdirSync(join(dir, 's')).filter((name) => name.endsWith('.tmp'))).toEqual([])
      const ids = (await store.list()).sessions.map(({ id }) => id).sort()
      expect(ids).toEqual(failpoint.includes('delete') ? ['s'] : ['s', 't', 't/c'])
    },
  )

  const takeovers = ['jsonl.takeover.beforeCopy', 'jsonl.takeover.beforeRename', 'jsonl.lease.beforeRename'].flatMap(
    (failpoint) => [{ failpoint, by: 'another' } as const, { failpoint, by: 'the old one' } as const],
  )

  test.each(takeovers)(
    'FD-01 at $failpoint while it takes over leaves everything there was, for $by to take',
    async ({ failpoint, by }) => {
      const dir = newFolder()
      const store = createJsonlStore({ dir })
      const epoch = await write(store, 's', 2)
      const child = { epoch, holder: 's', parent: 's' }
      await store.append('s/c', [entry(1)], { ...child, head: 0 })
      await store.append('s/c/g', [entry(1)], { ...child, parent: 's/c', head: 0 })
      expect(await runChild([dir, 'dieTaking', failpoint]).said).toEqual([`at ${failpoint}`])
      expect(await createJsonlStore({ dir }).read('s')).toEqual([entry(1), entry(2)])
      const late = store.append('s', [entry(3, 'late')], { epoch, head: 2 })
      await expect(late).rejects.toMatchObject({ name: 'LeaseLostError' })
      const renewal = store.lease('s', { owner: 'ann', ttlMs: hour, epoch })
      if (failpoint.includes('takeover')) await expect(renewal).rejects.toMatchObject({ name: 'LeaseLostError' })
      else await renewal.catch(() => {})
      const next = by === 'another' ? createJsonlStore({ dir }) : store
      const taken = await next.lease('s', { owner: 'eve', ttlMs: hour, takeOver: true, create: true })
      expect(taken.head).toBe(2)
      await next.append('s', [entry(3)], { epoch: taken.epoch, head: 2 })
      const theirs = { epoch: taken.epoch, holder: 's', head: 1 }
      await next.append('s/c', [entry(2)], { ...theirs, parent: 's' })
      await next.append('s/c/g', [entry(2)], { ...theirs, parent: 's/c' })
      for (const id of ['s/c', 's/c/g']) expect(await next.read(id)).toEqual([entry(1), entry(2)])
      const left = fs.readdirSync(join(dir, 's')).filter((name) => name.startsWith('log.'))
      expect(left.filter((name) => name !== 'log.jsonl.copy')).toEqual(['log.jsonl'])
    },
  )
})
