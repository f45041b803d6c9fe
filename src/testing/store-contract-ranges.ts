import type { LogEntry } from '../core/log.ts'
import type { EntryRange, SessionStore } from '../core/store.ts'
import { checkEqual } from './contract.ts'
import { entry, item, lease, type StoreCase, until, Watcher, write } from './store-contract-kit.ts'

/** Reads are bounded, and give whole entries. */
export const rangeCases: Record<string, StoreCase> = {
  async 'ST06 every range gives the entries it names, and no others'(store) {
    const { epoch } = await lease(store)
    const all = Array.from({ length: 9 }, (_, i) => entry(i + 1))
    for (const [head, end] of [
      [0, 1],
      [1, 5],
      [5, 9],
    ] as const)
      await store.append('s', all.slice(head, end), { epoch, head })
    await checkRanges(store, 's', all)
    for (const range of ranges(0)) checkEqual(await store.read('none', range), [], 'a session that is not there')
  },

  async 'E03 entries of more than 256 KiB are whole in every range and for every watcher'(store, advance) {
    const all = [
      entry(1),
      entry(2, 'x'.repeat(300_000)),
      entry(3),
      entry(4, `${'y'.repeat(300_000)}"\\\u{1F600}`),
      entry(5),
    ]
    const { epoch } = await lease(store)
    const watcher = new Watcher(store, 's')
    for (const [head, one] of all.slice(0, 3).entries()) await store.append('s', [one], { epoch, head })
    const late = new Watcher(store, 's', 3)
    for (const [i, one] of all.slice(3).entries()) await store.append('s', [one], { epoch, head: 3 + i })
    await store.append('s', all.slice(3), { epoch, head: 3 }) // again: it is recognised
    checkEqual(await store.read('s'), all, 'all entries')
    checkEqual(await store.read('s', { after: 1, before: 4 }), all.slice(1, 3), 'the entries after 1 and before 4')
    checkEqual(await store.read('s', { limit: 2, fromEnd: true }), all.slice(3), 'the last two')
    await until(advance, () => watcher.entries.length >= 5 && late.entries.length >= 2, 'the entries')
    await Promise.all([watcher.stop(), late.stop()])
    checkEqual(watcher.entries, all, 'the entries of a watcher')
    checkEqual(late.entries, all.slice(3), 'the entries of a watcher that began later')
  },

  async 'ST15 a watcher for the inbox alone gets every message and no entry'(store, advance) {
    const epoch = await write(store, 's', 3)
    await store.send('s', item('k1', 'waiting'))
    const watcher = new Watcher(store, 's', 0, undefined, true)
    await until(advance, () => watcher.inbox.length >= 1, 'the message that was there')
    await store.append('s', [entry(4)], { epoch, head: 3 })
    await store.send('s', item('k2', 'new'))
    await until(advance, () => watcher.inbox.length >= 2, 'a new message')
    await watcher.stop()
    checkEqual(watcher.inbox, [item('k1', 'waiting'), item('k2', 'new')], 'the messages it got')
    checkEqual(watcher.entries, [], 'the entries it got')
  },
}

/** Compares every range of a session with the part of its entries that it names. */
export async function checkRanges(store: SessionStore, id: string, all: readonly LogEntry[]): Promise<void> {
  checkEqual(await store.read(id), all, `all entries of ${id}`)
  for (const range of ranges(all.length)) {
    const { after = 0, before = Number.POSITIVE_INFINITY, limit = Number.POSITIVE_INFINITY, fromEnd } = range
    const matching = all.filter(({ seq }) => seq > after && seq < before)
    const wanted = fromEnd ? matching.slice(Math.max(0, matching.length - limit)) : matching.slice(0, limit)
    checkEqual(await store.read(id, range), wanted, `${id}, ${JSON.stringify(range)}`)
  }
}

/** Ranges within a log of this length, at its ends, and beyond them. */
function* ranges(length: number): Generator<EntryRange> {
  for (const after of [undefined, 1, Math.floor(length / 2), length])
    for (const before of [undefined, 3, length + 1])
      for (const limit of [undefined, 1, 2, 1000])
        for (const fromEnd of limit === undefined ? [undefined] : [undefined, true])
          yield {
            ...(after !== undefined && { after }),
            ...(before !== undefined && { before }),
            ...(limit !== undefined && { limit }),
            ...(fromEnd && { fromEnd }),
          }
}
