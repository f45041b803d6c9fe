import { LeaseLostError } from '../core/errors.ts'
import { Log } from '../core/log.ts'
import { checkEqual, checkRejects } from './contract.ts'
import { entry, lease, oddEntries, type Prove, textOf, Watcher, write } from './store-contract-kit.ts'

/** What is appended is what is read, in order, once, and nothing else. */
export const entryCases: Record<string, Prove> = {
  async 'entries come back in the order in which they were appended'(store) {
    const { epoch } = await lease(store)
    await store.append('s', [entry(1), entry(2)], { epoch, head: 0 })
    await store.append('s', [entry(3)], { epoch, head: 2 })
    checkEqual(await store.read('s'), [entry(1), entry(2), entry(3)], 'what was read')
  },

  async 'reading after a seq gives only what follows it'(store) {
    await write(store, 's', 3)
    checkEqual(await store.read('s', 1), [entry(2), entry(3)], 'read after 1')
    checkEqual(await store.read('s', 3), [], 'read after the head')
    checkEqual(await store.read('s', 99), [], 'read after more than there is')
  },

  async 'an unknown session reads as empty'(store) {
    await write(store, 's', 1)
    checkEqual(await store.read('t'), [], 'an unknown session')
  },

  async 'looking at an unknown session does not bring it into being'(store) {
    const watcher = new Watcher(store, 'watched')
    await store.blobs('blobs').get('none')
    await store.read('read')
    await watcher.stop()
    checkEqual(await store.list(), [], 'the list')
  },

  async 'entries of every kind survive unchanged, unknown types too'(store) {
    const { epoch } = await lease(store)
    await store.append('s', oddEntries, { epoch, head: 0 })
    checkEqual(await store.read('s'), oddEntries, 'what was read')
  },

  async 'an entry of a megabyte survives unchanged'(store) {
    const { epoch } = await lease(store)
    const big = entry(1, 'größer 🎈'.repeat(80_000))
    await store.append('s', [big], { epoch, head: 0 })
    checkEqual(await store.read('s'), [big], 'the big entry')
  },

  async 'a session may have any id'(store) {
    const ids = ['a', 'A', 'a/b', 'a%2Fb', '../a', '.', 'ä 😀', `'"\\`, 'con', '__proto__', 'x'.repeat(200)]
    for (const id of ids) await write(store, id, 1, `of ${id}`)
    for (const id of ids) checkEqual(await store.read(id), [entry(1, `of ${id}`)], `session ${id}`)
    checkEqual((await store.list()).map(({ id }) => id).sort(), [...ids].sort(), 'the list')
  },

  async 'an append at another head is refused and writes nothing'(store) {
    const epoch = await write(store, 's', 2)
    const tooLow = store.append('s', [entry(2, 'other'), entry(3)], { epoch, head: 1 })
    await checkRejects(tooLow, LeaseLostError, 'another entry at a taken seq')
    const halfOld = store.append('s', [entry(2), entry(3)], { epoch, head: 1 })
    await checkRejects(halfOld, LeaseLostError, 'an append of which a part is there')
    await checkRejects(store.append('s', [entry(5)], { epoch, head: 4 }), LeaseLostError, 'a gap')
    checkEqual(await store.read('s'), [entry(1), entry(2)], 'what was read')
  },

  async 'an append that happened may be repeated'(store) {
    const epoch = await write(store, 's', 2)
    await store.append('s', [entry(3)], { epoch, head: 2 })
    await store.append('s', [entry(3)], { epoch, head: 2 })
    await store.append('s', [entry(1), entry(2)], { epoch, head: 0 })
    checkEqual(await store.read('s'), [entry(1), entry(2), entry(3)], 'what was read')
  },

  async 'of ten appends at the same head exactly one happens'(store) {
    const { epoch } = await lease(store)
    const rivals = Array.from({ length: 10 }, (_, i) =>
      store.append('s', [entry(1, `a${i}`), entry(2, `b${i}`)], { epoch, head: 0 }),
    )
    const outcomes = await Promise.allSettled(rivals)
    const winner = outcomes.findIndex(({ status }) => status === 'fulfilled')
    const lost = outcomes.filter((one) => one.status === 'rejected' && one.reason instanceof LeaseLostError)
    checkEqual(lost.length, 9, 'how many were refused with LeaseLostError')
    checkEqual(await store.read('s'), [entry(1, `a${winner}`), entry(2, `b${winner}`)], 'what was read')
  },

  async 'fifty appends at once through one log stay dense and in order'(store) {
    const { epoch } = await lease(store)
    let head = 0
    const log = new Log({
      commit: async (entries) => {
        await store.append('s', entries, { epoch, head })
        head += entries.length
      },
    })
    const texts = Array.from({ length: 50 }, (_, i) => `number ${i}`)
    await Promise.all(texts.map((text) => log.append({ type: 'label', text })))
    const read = await store.read('s')
    checkEqual(read.map(textOf), texts, 'the texts')
    checkEqual(
      read.map(({ seq }) => seq),
      texts.map((_, i) => i + 1),
      'the numbers',
    )
  },
}
