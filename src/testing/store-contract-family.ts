import { LeaseLostError } from '../core/errors.ts'
import type { SessionStore } from '../core/store.ts'
import { check, checkEqual, checkRejects } from './contract.ts'
import { bytes, entry, hour, item, lease, type Prove, write } from './store-contract-kit.ts'

/** Blobs, children, and what goes when a session goes. */
export const familyCases: Record<string, Prove> = {
  async 'bytes survive in a blob, and an unknown name is undefined'(store) {
    const blobs = store.blobs('s')
    const bytes = Uint8Array.from({ length: 512 }, (_, i) => i % 256)
    const [name, empty] = [await blobs.put(bytes), await blobs.put(new Uint8Array())]
    checkEqual(Array.from((await store.blobs('s').get(name)) ?? []), Array.from(bytes), 'the bytes')
    checkEqual((await blobs.get(empty))?.length, 0, 'the length of an empty blob')
    checkEqual(await blobs.get('no-such-blob'), undefined, 'an unknown blob')
  },

  async 'changing bytes that were put in or got out does not change the blob'(store) {
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
    await store.lease('p', { owner: 'bob', ttlMs: hour, takeOver: true })
    const late = store.append('p/c', [entry(2)], { epoch, head: 1, holder: 'p', parent: 'p' })
    await checkRejects(late, LeaseLostError, 'a child of the old writer')
    checkEqual(await store.read('p/c'), [entry(1)], 'the child')
  },

  async 'asking for the inbox of a child does not get in the way of who writes it'(store) {
    const epoch = await write(store, 'p', 1)
    await store.append('p/c', [entry(1)], { epoch, head: 0, holder: 'p', parent: 'p' })
    await store.send('p/c', item('k1', 'for the child'))
    const own = await store.lease('p/c', { owner: 'ann', ttlMs: hour, takeOver: true })
    checkEqual(own.inbox, [item('k1', 'for the child')], 'the inbox of the child')
    await store.lease('p/c', { owner: 'ann', ttlMs: 0, epoch: own.epoch })
    await store.append('p/c', [entry(2)], { epoch, head: 1, holder: 'p', parent: 'p' })
    checkEqual(await store.read('p/c'), [entry(1), entry(2)], 'the child')
  },

  async 'delete takes children, inbox and blobs along and leaves the others'(store) {
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

/** When something was written is a store's own affair; if it says so, it must be a time. */
async function familyOf(store: SessionStore): Promise<{ id: string; head: number; parent?: string }[]> {
  return (await store.list()).map(({ id, head, parent, createdAt, updatedAt }) => {
    for (const at of [createdAt, updatedAt])
      check(at === undefined || Number.isFinite(at), `${id} lists the time ${at}`)
    return { id, head, ...(parent !== undefined && { parent }) }
  })
}
