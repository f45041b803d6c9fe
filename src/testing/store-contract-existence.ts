import { LeaseLostError, SessionNotFoundError } from '../core/errors.ts'
import type { SessionStore } from '../core/store.ts'
import { check, checkEqual, checkRejects } from './contract.ts'
import { bytes, entry, hour, input, item, lease, type StoreCase, write } from './store-contract-kit.ts'
import { entryOf } from './store-contract-summaries.ts'

/** Only a lease with `create` makes a session, and deleting one leaves nothing of it. */
export const existenceCases: Record<string, StoreCase> = {
  async 'ST05 a lease, a message and a blob need a session that is there, and make none'(store) {
    for (let round = 0; round < 2; round++) {
      const taking = store.lease('s', { owner: 'ann', ttlMs: hour })
      await checkRejects(taking, SessionNotFoundError, 'a lease without create')
      const takingOver = store.lease('s', { owner: 'ann', ttlMs: hour, takeOver: true })
      await checkRejects(takingOver, SessionNotFoundError, 'a lease that is taken over')
      await checkRejects(store.send('s', item('k', 'hello')), SessionNotFoundError, 'a message')
      await checkRejects(store.blobs('s').put(bytes), SessionNotFoundError, 'a blob')
      await checkRejects(store.lease('s', { owner: 'ann', ttlMs: hour, epoch: 1 }), LeaseLostError, 'a renewal')
      checkEqual(await store.blobs('s').names(), [], 'its blobs')
      await store.blobs('s').delete('none')
    }
    const { head, inbox } = await lease(store)
    checkEqual({ head, inbox }, { head: 0, inbox: [] }, 'a new session of that name')
  },

  async 'ST05 the error about a session that is not there names it'(store) {
    const { message } = await checkRejects(store.send('lost', item('k', '')), SessionNotFoundError, 'a message')
    check(message.includes('lost'), `the message must name "lost": ${message}`)
  },

  async 'ST05 a session that was only leased is gone when its lease is given back'(store) {
    const { epoch } = await lease(store)
    await store.blobs('s').put(bytes)
    await store.lease('s', { owner: 'ann', ttlMs: 0, epoch })
    await checkRejects(store.send('s', item('k', 'hello')), SessionNotFoundError, 'a message')
    await checkRejects(store.lease('s', { owner: 'bob', ttlMs: hour }), SessionNotFoundError, 'a lease')
    checkEqual(await store.blobs('s').names(), [], 'its blobs')
    const next = await lease(store, 's', 'bob')
    check(next.epoch > epoch, `the epoch must rise above ${epoch}, got ${next.epoch}`)
    await store.append('s', [entry(1)], { epoch: next.epoch, head: 0 })
  },

  async 'ST05 a session that was only leased is free and invisible when its lease has run out'(store, advance) {
    await store.lease('s', { owner: 'ann', ttlMs: 1000, create: true })
    await advance(1100)
    checkEqual([await store.find('s'), (await store.list()).sessions], [undefined, []], 'what is seen of it')
    const { epoch } = await lease(store, 's', 'bob')
    await store.append('s', [entry(1)], { epoch, head: 0 })
    checkEqual(await store.read('s'), [entry(1)], 'what was read')
  },

  async 'ST05 a session that was written stays when its lease is given back'(store) {
    const epoch = await write(store, 's', 1)
    await store.lease('s', { owner: 'ann', ttlMs: 0, epoch })
    await store.send('s', item('k', 'hello'))
    const { head, inbox } = await store.lease('s', { owner: 'bob', ttlMs: hour })
    checkEqual({ head, inbox }, { head: 1, inbox: [item('k', 'hello')] }, 'the lease')
  },

  async 'ST21 nothing of a deleted session is left, and a new one of its name begins from nothing'(store) {
    const { epoch } = await lease(store)
    const details = entryOf(1, { type: 'details', title: 'Old', tags: ['old'], tenant: 'old', folder: '/old' })
    await store.append('s', [details, input(2, 'k1', 'delivered')], { epoch, head: 0 })
    await store.append('s', [entry(3, 'x'.repeat(300_000))], { epoch, head: 2 })
    await store.send('s', item('k2', 'waiting'))
    await store.append('s/c', [entry(1, 'child')], { epoch, head: 0, holder: 's', parent: 's' })
    await store.send('s/c', item('k3', 'for the child'))
    const blobs = [await store.blobs('s').put(bytes), await store.blobs('s/c').put(bytes)]
    await write(store, 'other', 1)
    const kept = await store.blobs('other').put(bytes)
    await store.delete('s')
    await checkGone(store, blobs)
    await checkRejects(store.send('s', item('k1', 'again')), SessionNotFoundError, 'a message')

    const next = await lease(store, 's', 'bob')
    checkEqual([next.head, next.inbox], [0, []], 'the new session')
    check(next.epoch > epoch, `the epoch must rise above ${epoch}, got ${next.epoch}`)
    await checkGone(store, blobs)
    await store.append('s', [entry(1, 'new')], { epoch: next.epoch, head: 0 })
    for (const key of ['k1', 'k2']) await store.send('s', item(key, 'again'))
    checkEqual(
      (await lease(store, 's', 'bob')).inbox.map(({ clientKey }) => clientKey),
      ['k1', 'k2'],
      'its inbox',
    )
    const { title, tags, tenant, folder, head } = (await store.find('s')) ?? {}
    checkEqual([title, tags, tenant, folder, head], [undefined, [], undefined, undefined, 1], 'its summary')
    checkEqual(await store.read('s'), [entry(1, 'new')], 'its entries')
    checkEqual((await store.list({ parent: 's' })).sessions, [], 'its children')
    checkEqual(Array.from((await store.blobs('other').get(kept)) ?? []), Array.from(bytes), 'the blob of another')
  },

  async 'ST21 sessions that are above each other are listed, and deleted together'(store) {
    const { epoch } = await lease(store, 'a')
    await store.append('a', [entry(1)], { epoch, head: 0 })
    await store.append('b', [entry(1)], { epoch, head: 0, holder: 'a', parent: 'a' })
    await store.append('a', [entry(2)], { epoch, head: 1, holder: 'a', parent: 'b' })
    await write(store, 'other', 1)
    for (const id of ['a', 'b']) checkEqual((await store.find(id))?.id, id, `the summary of ${id}`)
    checkEqual(
      (await store.list({ order: 'id' })).sessions.map(({ id }) => id),
      ['a', 'b', 'other'],
      'the list',
    )
    await store.delete('a')
    checkEqual(
      (await store.list()).sessions.map(({ id }) => id),
      ['other'],
      'the list afterwards',
    )
  },

  async 'ST20 the blobs of a session have names, and each can be deleted alone'(store) {
    for (const id of ['s', 't']) await lease(store, id)
    const blobs = store.blobs('s')
    const [one, two] = [await blobs.put(Uint8Array.of(1)), await blobs.put(Uint8Array.of(2))]
    await blobs.put(Uint8Array.of(1))
    await store.blobs('t').put(Uint8Array.of(1))
    checkEqual([...(await blobs.names())].sort(), [one, two].sort(), 'the names')
    await blobs.delete(one)
    await blobs.delete(one)
    await blobs.delete('never there')
    checkEqual(await blobs.names(), [two], 'the names after one was deleted')
    checkEqual(await blobs.get(one), undefined, 'the deleted one')
    checkEqual(Array.from((await blobs.get(two)) ?? []), [2], 'the other one')
    checkEqual(Array.from((await store.blobs('t').get(one)) ?? []), [1], 'the same bytes in another session')
    checkEqual(await blobs.put(Uint8Array.of(1)), one, 'the name of the same bytes, put again')
  },

  async 'E03 an entry of more than 256 KiB is no blob that callers see'(store) {
    const { epoch } = await lease(store)
    await store.append('s', [entry(1, 'x'.repeat(300_000))], { epoch, head: 0 })
    const own = await store.blobs('s').put(bytes)
    checkEqual(await store.blobs('s').names(), [own], 'the names')
  },
}

async function checkGone(store: SessionStore, blobs: readonly string[]): Promise<void> {
  for (const id of ['s', 's/c']) {
    checkEqual(await store.find(id), undefined, `the summary of ${id}`)
    checkEqual(await store.read(id), [], `the entries of ${id}`)
    checkEqual(await store.blobs(id).names(), [], `the blobs of ${id}`)
    for (const name of blobs) checkEqual(await store.blobs(id).get(name), undefined, `a blob of ${id}`)
  }
  checkEqual((await store.list({ tags: ['old'] })).sessions, [], 'those with the old tag')
  checkEqual(
    (await store.list()).sessions.map(({ id }) => id),
    ['other'],
    'the list',
  )
}
