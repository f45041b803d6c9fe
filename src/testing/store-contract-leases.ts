import { LeaseLostError, SessionBusyError } from '../core/errors.ts'
import type { SessionStore } from '../core/store.ts'
import { check, checkEqual, checkRejects } from './contract.ts'
import { bytes, entry, hour, item, lease, type StoreCase, until, Watcher, write } from './store-contract-kit.ts'
import { entryOf } from './store-contract-summaries.ts'

/** Only one writer at a time; a writer that lost its lease cannot write. */
export const leaseCases: Record<string, StoreCase> = {
  async 'without a lease nothing can be written'(store) {
    await checkRejects(store.append('s', [entry(1)], { epoch: 0, head: 0 }), LeaseLostError, 'no lease at all')
    const { epoch } = await lease(store)
    const ahead = store.append('s', [entry(1)], { epoch: epoch + 1, head: 0 })
    await checkRejects(ahead, LeaseLostError, 'an epoch that was never given out')
    checkEqual(await store.read('s'), [], 'what was read')
  },

  async 'a lease that is held keeps others out, and the error names its owner'(store) {
    await lease(store, 's', 'ann')
    const { message } = await checkRejects(lease(store, 's', 'bob'), SessionBusyError, 'a second lease')
    check(message.includes('ann'), `the message must name the owner "ann": ${message}`)
    await lease(store, 'another session', 'bob')
  },

  async 'of ten that ask for a lease at once exactly one gets it'(store) {
    const asked = Array.from({ length: 10 }, (_, i) => lease(store, 's', `owner ${i}`))
    const outcomes = await Promise.allSettled(asked)
    const busy = outcomes.filter((one) => one.status === 'rejected' && one.reason instanceof SessionBusyError)
    checkEqual(busy.length, 9, 'how many were refused with SessionBusyError')
  },

  async 'a lease tells the head and a higher epoch each time it is taken'(store) {
    const epoch = await write(store, 's', 2)
    await store.lease('s', { owner: 'ann', ttlMs: 0, epoch })
    const next = await lease(store, 's', 'bob')
    checkEqual(next.head, 2, 'the head')
    check(next.epoch > epoch, `the epoch must rise above ${epoch}, got ${next.epoch}`)
  },

  async 'a lease that was not renewed expires'(store, advance) {
    await store.lease('s', { owner: 'ann', ttlMs: 1000, create: true })
    await advance(900)
    await checkRejects(lease(store, 's', 'bob'), SessionBusyError, 'before it expires')
    await advance(200)
    await lease(store, 's', 'bob')
  },

  async 'a lease that is renewed in time is kept, under the same epoch'(store, advance) {
    const { epoch } = await store.lease('s', { owner: 'ann', ttlMs: 1000, create: true })
    await advance(700)
    const renewed = await store.lease('s', { owner: 'ann', ttlMs: 1000, epoch })
    checkEqual(renewed.epoch, epoch, 'the epoch')
    await advance(700)
    await checkRejects(lease(store, 's', 'bob'), SessionBusyError, 'after a renewal')
    await store.append('s', [entry(1)], { epoch, head: 0 })
  },

  async 'a lease that is given back is free at once'(store) {
    const { epoch } = await lease(store, 's', 'ann')
    await store.lease('s', { owner: 'ann', ttlMs: 0, epoch })
    await lease(store, 's', 'bob')
  },

  async 'the same owner may take its lease again, and only the newer one counts'(store) {
    const first = await lease(store, 's', 'ann')
    const second = await lease(store, 's', 'ann')
    const old = store.append('s', [entry(1)], { epoch: first.epoch, head: 0 })
    await checkRejects(old, LeaseLostError, 'the older of two leases')
    await store.append('s', [entry(1)], { epoch: second.epoch, head: 0 })
  },

  async 'a lease may be taken over, and the old writer is fenced off'(store) {
    const epoch = await write(store, 's', 1)
    const taken = await store.lease('s', { owner: 'bob', ttlMs: hour, takeOver: true, create: true })
    await checkRejects(store.append('s', [entry(2)], { epoch, head: 1 }), LeaseLostError, 'the old writer')
    await checkRejects(store.lease('s', { owner: 'ann', ttlMs: hour, epoch }), LeaseLostError, 'its renewal')
    await store.append('s', [entry(2, 'by bob')], { epoch: taken.epoch, head: 1 })
    checkEqual(await store.read('s'), [entry(1), entry(2, 'by bob')], 'what was read')
  },

  async 'a writer that lost its lease cannot release the lease of its successor'(store) {
    const { epoch } = await lease(store, 's', 'ann')
    await store.lease('s', { owner: 'bob', ttlMs: hour, takeOver: true, create: true })
    await checkRejects(store.lease('s', { owner: 'ann', ttlMs: 0, epoch }), LeaseLostError, 'giving it back')
    await checkRejects(lease(store, 's', 'eve'), SessionBusyError, 'a third one')
  },
}

/** Opens the same location again, as another process would. */
type Reopen = () => Promise<SessionStore>

type SharedStoreCase = (again: Reopen, ...rest: Parameters<StoreCase>) => ReturnType<StoreCase>

/** Requirements on several store instances at the same location, which share nothing else. */
export const sharedStoreCases: Record<string, SharedStoreCase> = {
  async 'what one instance wrote another one reads'(again, store) {
    await write(store, 's', 3)
    const name = await store.blobs('s').put(bytes)
    const other = await again()
    checkEqual(await other.read('s', { after: 1 }), [entry(2), entry(3)], 'what the other one read')
    checkEqual(Array.from((await other.blobs('s').get(name)) ?? []), Array.from(bytes), 'the blob')
    checkEqual(
      (await other.list()).sessions.map(({ id, head }) => ({ id, head })),
      [{ id: 's', head: 3 }],
      'the list',
    )
  },

  async 'a lease that one instance holds keeps the others out, and the error names its owner'(again, store) {
    await lease(store, 's', 'ann')
    const busy = await checkRejects(lease(await again(), 's', 'bob'), SessionBusyError, 'a second lease')
    check(busy.message.includes('ann'), `the message must name the owner "ann": ${busy.message}`)
    checkEqual((busy as SessionBusyError).owner, 'ann', 'the owner of the error')
  },

  async 'a writer that was taken over by another instance cannot write, renew or write a child'(again, store) {
    const epoch = await write(store, 's', 1)
    const other = await again()
    const theirs = await other.lease('s', { owner: 'bob', ttlMs: hour, takeOver: true, create: true })
    await checkRejects(store.append('s', [entry(2, 'late')], { epoch, head: 1 }), LeaseLostError, 'a late append')
    const child = store.append('s/c', [entry(1)], { epoch, head: 0, holder: 's', parent: 's' })
    await checkRejects(child, LeaseLostError, 'a late append of a child')
    const renewal = store.lease('s', { owner: 'ann', ttlMs: hour, epoch })
    const { message } = await checkRejects(renewal, LeaseLostError, 'a late renewal')
    check(message.includes('bob'), `the message must name the new owner "bob": ${message}`)
    await other.append('s', [entry(2)], { epoch: theirs.epoch, head: 1 })
    checkEqual(await store.read('s'), [entry(1), entry(2)], 'what was read')
  },

  async 'of eight instances that ask for a lease at once exactly one gets it'(again) {
    const instances = await Promise.all(Array.from({ length: 8 }, again))
    const outcomes = await Promise.allSettled(instances.map((one, i) => lease(one, 's', `owner ${i}`)))
    const busy = outcomes.filter((one) => one.status === 'rejected' && one.reason instanceof SessionBusyError)
    const odd = outcomes.find((one) => one.status === 'rejected' && !(one.reason instanceof SessionBusyError))
    check(!odd, `one failed otherwise: ${String((odd as PromiseRejectedResult | undefined)?.reason)}`)
    checkEqual(busy.length, 7, 'how many were refused with SessionBusyError')
  },

  async 'a message that another instance sends reaches a watcher once'(again, store, advance) {
    const { epoch } = await lease(store)
    const watcher = new Watcher(store, 's')
    const other = await again()
    await other.send('s', item('k1', 'hello'))
    await other.send('s', item('k1', 'hello'))
    await until(advance, () => watcher.inbox.length > 0, 'the message')
    await store.append('s', [entry(1)], { epoch, head: 0 })
    await until(advance, () => watcher.entries.length > 0, 'the entry')
    await watcher.stop()
    checkEqual(watcher.inbox, [item('k1', 'hello')], 'the messages it got')
  },

  async 'entries that one instance writes reach a watcher at another one'(again, store, advance) {
    const { epoch } = await lease(store)
    const watcher = new Watcher(await again(), 's')
    await store.append('s', [entry(1), entry(2)], { epoch, head: 0 })
    await until(advance, () => watcher.entries.length >= 2, 'the entries')
    await watcher.stop()
    checkEqual(watcher.entries, [entry(1), entry(2)], 'the entries it got')
  },

  async 'ST01 instances that write in turn add to one summary'(again, store) {
    const instances = [store, await again()]
    for (const [head, instance] of [...instances, ...instances, ...instances].entries()) {
      const { epoch } = await lease(instance, 's', `owner ${head % 2}`)
      await instance.append('s', [entryOf(head + 1, { type: 'details', tags: [`tag ${head}`] })], { epoch, head })
      await instance.lease('s', { owner: `owner ${head % 2}`, ttlMs: 0, epoch })
      for (const reader of instances)
        checkEqual(
          (await reader.list()).sessions.map((one) => [one.head, one.tags, one.createdAt, one.updatedAt]),
          [[head + 1, [`tag ${head}`], 1001, 1001 + head]],
          'the list',
        )
    }
  },

  async 'ST03 a message of another instance, and its lease, are seen in the summary'(again, store) {
    const epoch = await write(store, 's', 1)
    const other = await again()
    checkEqual((await other.find('s'))?.isHeld, true, 'whether it is held')
    await store.lease('s', { owner: 'ann', ttlMs: 0, epoch })
    await other.send('s', item('k', 'hello'))
    for (const reader of [store, other]) {
      const { sessions } = await reader.list({ attention: true })
      checkEqual(
        sessions.map(({ id, attention, isHeld }) => [id, attention, isHeld]),
        [['s', 'mail', undefined]],
        'the list',
      )
    }
  },

  async 'ST10 a fork that one instance made is whole for another one, when the original is gone too'(again, store) {
    await write(store, 'o', 2)
    const blob = await store.blobs('o').put(bytes)
    const other = await again()
    const { epoch } = await lease(other, 'f', 'bob')
    await other.append('f', [entry(3, 'f')], { epoch, head: 2, base: 'o' })
    for (const reader of [store, other]) {
      checkEqual(await reader.read('f'), [entry(1), entry(2), entry(3, 'f')], 'the fork')
      await reader.delete('o')
      checkEqual(await reader.read('f'), [entry(1), entry(2), entry(3, 'f')], 'the fork without its original')
      checkEqual(Array.from((await reader.blobs('f').get(blob)) ?? []), Array.from(bytes), 'the blob')
    }
  },

  async 'ST21 a session that another instance deleted is gone, and can be made again'(again, store) {
    const epoch = await write(store, 's', 2)
    const other = await again()
    checkEqual((await other.read('s')).length, 2, 'what the other one read')
    await other.delete('s')
    checkEqual([await store.find('s'), await store.read('s')], [undefined, []], 'what is left')
    await checkRejects(store.append('s', [entry(3)], { epoch, head: 2 }), LeaseLostError, 'its old writer')
    await write(other, 's', 1, 'new', 'bob')
    await checkRejects(store.append('s', [entry(2)], { epoch, head: 1 }), LeaseLostError, 'its old writer, later')
    checkEqual([(await store.find('s'))?.head, await store.read('s')], [1, [entry(1, 'new')]], 'the new one')
  },

  async 'every instance names the same place'(again, store) {
    if (!store.identity) return
    checkEqual(await (await again()).identity?.(), await store.identity(), 'the identity')
  },
}
