import type { LogEntry } from '../core/log.ts'
import type { SessionStore } from '../core/store.ts'
import { applyEntries, emptySummary } from '../sessions/stored-summary.ts'
import { check, checkEqual, checkRejects } from './contract.ts'
import { bytes, entry, lease, type StoreCase, until, Watcher, write } from './store-contract-kit.ts'
import { checkRanges } from './store-contract-ranges.ts'
import { entryOf } from './store-contract-summaries.ts'

/** A fork has the entries that it shares with its original, whatever becomes of that. */
export const forkCases: Record<string, StoreCase> = {
  async 'ST10 a fork begins with the entries of its original, and then both go their own way'(store, advance) {
    const epoch = await write(store, 'o', 4)
    const watcher = new Watcher(store, 'f')
    const forked = await fork(store, 'o', 'f', 3)
    await store.append('o', [entry(5, 'of the original')], { epoch, head: 4 })
    await store.append('f', [entry(5, 'of the fork')], { epoch: forked, head: 4 })
    const original = [entry(1), entry(2), entry(3), entry(4), entry(5, 'of the original')]
    const all = [entry(1), entry(2), entry(3), entry(4, 'f'), entry(5, 'of the fork')]
    await checkRanges(store, 'o', original)
    await checkRanges(store, 'f', all)
    await until(advance, () => watcher.entries.length >= 5, 'the entries of the fork')
    await watcher.stop()
    checkEqual(watcher.entries, all, 'the entries that a watcher of the fork got')
    checkEqual((await lease(store, 'f')).head, 5, 'the head of the fork')
  },

  async 'ST10 the summary of a fork is that of all its entries'(store) {
    const { epoch } = await lease(store, 'o')
    const user = { type: 'turn', turn: { id: 't', runId: '', role: 'user', createdAt: 1, content: [] } } as const
    const details = { type: 'details', title: 'Old', tags: ['a'], tenant: 'acme' } as const
    const entries = [entryOf(1, details), entryOf(2, user), entryOf(3, { type: 'details', title: 'New' })]
    await store.append('o', entries, { epoch, head: 0 })
    for (const [id, at] of [
      ['part', 2],
      ['all', 3],
    ] as const) {
      await fork(store, 'o', id, at)
      const { title, turns, head, createdAt, updatedAt } = applyEntries(emptySummary, await store.read(id), 0)
      const found = await store.find(id)
      checkEqual(
        [found?.title, found?.turns, found?.head, found?.createdAt, found?.updatedAt],
        [title, turns, head, createdAt, updatedAt],
        `the summary of ${id}`,
      )
      check(found && found.parent === undefined, 'a fork is no child')
    }
    const { sessions } = await store.list({ tenant: 'acme', tags: ['a'], order: 'id' })
    checkEqual(
      sessions.map(({ id, title }) => [id, title]),
      [
        ['all', 'New'],
        ['o', 'New'],
        ['part', 'Old'],
      ],
      'the list',
    )
  },

  async 'ST10 a fork of a fork has the entries of both'(store) {
    await write(store, 'o', 3)
    await fork(store, 'o', 'f', 2)
    await fork(store, 'f', 'g', 3)
    await fork(store, 'f', 'h', 1)
    await checkRanges(store, 'g', [entry(1), entry(2), entry(3, 'f'), entry(4, 'g')])
    await checkRanges(store, 'h', [entry(1), entry(2, 'h')])
  },

  async 'ST10 a fork stays whole when its original is deleted, whichever goes first'(store) {
    for (const [n, order] of [
      ['o', 'f', 'g'],
      ['f', 'o', 'g'],
      ['g', 'o', 'f'],
      ['o', 'g', 'f'],
    ].entries()) {
      const name = (id: string): string => `${n}-${id}`
      await write(store, name('o'), 3)
      await fork(store, name('o'), name('f'), 2)
      await fork(store, name('f'), name('g'), 3)
      const entries = new Map<string, readonly LogEntry[]>()
      for (const id of order) entries.set(id, await store.read(name(id)))
      for (const [i, gone] of order.entries()) {
        await store.delete(name(gone))
        for (const id of order.slice(0, i + 1)) checkEqual(await store.read(name(id)), [], `${id}, which was deleted`)
        for (const id of order.slice(i + 1))
          checkEqual(await store.read(name(id)), entries.get(id), `${id} after ${order.slice(0, i + 1)} was deleted`)
      }
    }
    checkEqual((await store.list()).sessions, [], 'the list')
  },

  async 'ST10 a new session with the name of the original has nothing to do with its forks'(store) {
    await write(store, 'o', 2)
    const epoch = await fork(store, 'o', 'f', 2)
    await store.delete('o')
    const next = await write(store, 'o', 1, 'new', 'bob')
    await store.append('f', [entry(4)], { epoch, head: 3 })
    checkEqual(await store.read('f'), [entry(1), entry(2), entry(3, 'f'), entry(4)], 'the fork')
    checkEqual(await store.read('o'), [entry(1, 'new')], 'the new session')
    await store.delete('f')
    await store.append('o', [entry(2, 'new')], { epoch: next, head: 1 })
    checkEqual(await store.read('o'), [entry(1, 'new'), entry(2, 'new')], 'the new session, after the fork is gone')
  },

  async 'ST10 a fork finds the blobs of the entries that it shares, and keeps them'(store) {
    const epoch = await write(store, 'o', 1)
    const large = entry(2, 'x'.repeat(300_000))
    await store.append('o', [large], { epoch, head: 1 })
    const blob = await store.blobs('o').put(bytes)
    await fork(store, 'o', 'f', 2)
    await fork(store, 'f', 'g', 3)
    const own = await store.blobs('g').put(Uint8Array.of(7))
    for (const gone of ['', 'o', 'f']) {
      if (gone) await store.delete(gone)
      checkEqual(Array.from((await store.blobs('g').get(blob)) ?? []), Array.from(bytes), `the blob without "${gone}"`)
      checkEqual(await store.blobs('g').names(), [own], 'the names of its own blobs')
      checkEqual(
        await store.read('g'),
        [entry(1), large, entry(3, 'f'), entry(4, 'g')],
        `the entries without "${gone}"`,
      )
    }
    await store.delete('g')
    checkEqual(await store.blobs('g').get(blob), undefined, 'the blob after the last fork was deleted')
  },

  async 'ST10 the first append of a fork may be repeated, and one that is refused leaves nothing'(store) {
    await write(store, 'o', 2)
    const { epoch } = await lease(store, 'f')
    const tooFar = store.append('f', [entry(6)], { epoch, head: 5, base: 'o' })
    await checkRejects(tooFar, Error, 'a fork of more than there is')
    await checkRejects(store.append('f', [entry(2)], { epoch, head: 1, base: 'none' }), Error, 'a fork of nothing')
    checkEqual([await store.read('f'), await store.find('f')], [[], undefined], 'the fork')
    const first = [entry(3, 'f'), entry(4, 'f')]
    for (let round = 0; round < 2; round++) await store.append('f', first, { epoch, head: 2, base: 'o' })
    checkEqual(await store.read('f'), [entry(1), entry(2), ...first], 'the fork')
  },
}

/** Makes a fork with one entry of its own; resolves with the epoch of its lease. */
async function fork(store: SessionStore, base: string, id: string, head: number): Promise<number> {
  const { epoch } = await lease(store, id)
  await store.append(id, [entry(head + 1, id.replace(/^\d-/, ''))], { epoch, head, base })
  return epoch
}
