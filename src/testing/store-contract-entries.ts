import { LeaseLostError } from '../core/errors.ts'
import { Log } from '../core/log.ts'
import type { SessionStore } from '../core/store.ts'
import { check, checkEqual, checkRejects } from './contract.ts'
import {
  bytes,
  entry,
  hour,
  item,
  lease,
  oddEntries,
  type StoreCase,
  textOf,
  Watcher,
  write,
} from './store-contract-kit.ts'

/** Entries are read exactly as they were appended, in order and once. */
export const entryCases: Record<string, StoreCase> = {
  async 'entries come back in the order in which they were appended'(store) {
    const { epoch } = await lease(store)
    await store.append('s', [entry(1), entry(2)], { epoch, head: 0 })
    await store.append('s', [entry(3)], { epoch, head: 2 })
    checkEqual(await store.read('s'), [entry(1), entry(2), entry(3)], 'what was read')
  },

  async 'reading after a seq gives only what follows it'(store) {
    await write(store, 's', 3)
    checkEqual(await store.read('s', { after: 1 }), [entry(2), entry(3)], 'read after 1')
    checkEqual(await store.read('s', { after: 3 }), [], 'read after the head')
    checkEqual(await store.read('s', { after: 99 }), [], 'read after more than there is')
  },

  async 'an unknown session reads as empty'(store) {
    await write(store, 's', 1)
    checkEqual(await store.read('t'), [], 'an unknown session')
  },

  async 'reading an unknown session does not create it'(store) {
    const watcher = new Watcher(store, 'watched')
    await store.blobs('blobs').get('none')
    await store.read('read')
    await watcher.stop()
    checkEqual((await store.list()).sessions, [], 'the list')
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
    checkEqual((await store.list()).sessions.map(({ id }) => id).sort(), [...ids].sort(), 'the list')
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

/** Blobs, children, and deletion. */
export const familyCases: Record<string, StoreCase> = {
  async 'bytes survive in a blob, and an unknown name is undefined'(store) {
    await lease(store)
    const blobs = store.blobs('s')
    const bytes = Uint8Array.from({ length: 512 }, (_, i) => i % 256)
    const [name, empty] = [await blobs.put(bytes), await blobs.put(new Uint8Array())]
    checkEqual(Array.from((await store.blobs('s').get(name)) ?? []), Array.from(bytes), 'the bytes')
    checkEqual((await blobs.get(empty))?.length, 0, 'the length of an empty blob')
    checkEqual(await blobs.get('no-such-blob'), undefined, 'an unknown blob')
  },

  async 'changing bytes that were put in or got out does not change the blob'(store) {
    await lease(store)
    const blobs = store.blobs('s')
    const given = Uint8Array.of(1, 2, 3)
    const name = await blobs.put(given)
    given.fill(9)
    ;(await blobs.get(name))?.fill(9)
    checkEqual(Array.from((await blobs.get(name)) ?? []), [1, 2, 3], 'the bytes')
  },

  async 'children are written under the lease at the top, and listed with their parents'(store) {
    const epoch = await write(store, 'p', 2)
    await store.append('p/c', [entry(1)], { epoch, head: 0, holder: 'p', parent: 'p' })
    const elsewhere = store.append('p/c', [entry(9)], { epoch, head: 8, holder: 'p', parent: 'p' })
    await checkRejects(elsewhere, LeaseLostError, 'a child at another head')
    checkEqual(await store.read('p/c'), [entry(1)], 'the child')
    await store.append('p/c/g', [entry(1)], { epoch, head: 0, holder: 'p', parent: 'p/c' })
    const listed = (await familyOf(store)).toSorted((a, b) => a.id.length - b.id.length)
    checkEqual(
      listed,
      [
        { id: 'p', head: 2 },
        { id: 'p/c', head: 1, parent: 'p' },
        { id: 'p/c/g', head: 1, parent: 'p/c' },
      ],
      'the list',
    )
  },

  async 'a child cannot be written any more once the lease of its parent is lost'(store) {
    const epoch = await write(store, 'p', 1)
    await store.append('p/c', [entry(1)], { epoch, head: 0, holder: 'p', parent: 'p' })
    await store.lease('p', { owner: 'bob', ttlMs: hour, takeOver: true, create: true })
    const late = store.append('p/c', [entry(2)], { epoch, head: 1, holder: 'p', parent: 'p' })
    await checkRejects(late, LeaseLostError, 'a child of the old writer')
    checkEqual(await store.read('p/c'), [entry(1)], 'the child')
  },

  async 'reading the inbox of a child does not disturb its writer'(store) {
    const epoch = await write(store, 'p', 1)
    await store.append('p/c', [entry(1)], { epoch, head: 0, holder: 'p', parent: 'p' })
    await store.send('p/c', item('k1', 'for the child'))
    const own = await store.lease('p/c', { owner: 'ann', ttlMs: hour, takeOver: true, create: true })
    checkEqual(own.inbox, [item('k1', 'for the child')], 'the inbox of the child')
    await store.lease('p/c', { owner: 'ann', ttlMs: 0, epoch: own.epoch })
    await store.append('p/c', [entry(2)], { epoch, head: 1, holder: 'p', parent: 'p' })
    checkEqual(await store.read('p/c'), [entry(1), entry(2)], 'the child')
  },

  async 'delete removes children, inbox and blobs, and keeps other sessions'(store) {
    const epoch = await write(store, 'p', 1)
    await store.append('p/c', [entry(1)], { epoch, head: 0, holder: 'p', parent: 'p' })
    await store.append('p/c/g', [entry(1)], { epoch, head: 0, holder: 'p', parent: 'p/c' })
    await store.send('p', item('k1', 'waiting'))
    const [blob, childBlob] = [await store.blobs('p').put(bytes), await store.blobs('p/c').put(bytes)]
    await write(store, 'pp', 1)
    await store.delete('p')
    await store.delete('never there')
    checkEqual(await familyOf(store), [{ id: 'pp', head: 1 }], 'the list')
    for (const id of ['p', 'p/c', 'p/c/g']) checkEqual(await store.read(id), [], `the entries of ${id}`)
    checkEqual(await store.blobs('p').get(blob), undefined, 'the blob')
    checkEqual(await store.blobs('p/c').get(childBlob), undefined, 'the blob of the child')
    const { head, inbox } = await lease(store, 'p', 'bob')
    checkEqual({ head, inbox }, { head: 0, inbox: [] }, 'a new session of that name')
  },

  async 'a writer whose session was deleted cannot write to one of the same name'(store) {
    const epoch = await write(store, 's', 1)
    await store.delete('s')
    await checkRejects(store.append('s', [entry(2)], { epoch, head: 1 }), LeaseLostError, 'after the deletion')
    await write(store, 's', 1, 'new', 'bob')
    await checkRejects(store.append('s', [entry(2)], { epoch, head: 1 }), LeaseLostError, 'beside the new writer')
    checkEqual(await store.read('s'), [entry(1, 'new')], 'what was read')
  },
}

/** Times are optional in a list; if given, they must be valid. */
async function familyOf(store: SessionStore): Promise<{ id: string; head: number; parent?: string }[]> {
  return (await store.list()).sessions.map(({ id, head, parent, createdAt, updatedAt }) => {
    for (const at of [createdAt, updatedAt])
      check(at === undefined || Number.isFinite(at), `${id} lists the time ${at}`)
    return { id, head, ...(parent !== undefined && { parent }) }
  })
}
