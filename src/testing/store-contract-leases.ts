import { LeaseLostError, SessionBusyError } from '../core/errors.ts'
import { check, checkEqual, checkRejects } from './contract.ts'
import { entry, hour, lease, type Prove, write } from './store-contract-kit.ts'

/** One writer at a time, and a writer that lost its right cannot write. */
export const leaseCases: Record<string, Prove> = {
  async 'without a lease nothing can be written'(store) {
    await checkRejects(store.append('s', [entry(1)], { epoch: 0, head: 0 }), LeaseLostError, 'no lease at all')
    const { epoch } = await lease(store)
    const ahead = store.append('s', [entry(1)], { epoch: epoch + 1, head: 0 })
    await checkRejects(ahead, LeaseLostError, 'an epoch that nobody was given')
    checkEqual(await store.read('s'), [], 'what was read')
  },

  async 'a lease that is held keeps others out, who are told by whom'(store) {
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
    await store.lease('s', { owner: 'ann', ttlMs: 1000 })
    await advance(900)
    await checkRejects(lease(store, 's', 'bob'), SessionBusyError, 'before it expires')
    await advance(200)
    await lease(store, 's', 'bob')
  },

  async 'a lease that is renewed in time is kept, under the same epoch'(store, advance) {
    const { epoch } = await store.lease('s', { owner: 'ann', ttlMs: 1000 })
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
    const taken = await store.lease('s', { owner: 'bob', ttlMs: hour, takeOver: true })
    await checkRejects(store.append('s', [entry(2)], { epoch, head: 1 }), LeaseLostError, 'the old writer')
    await checkRejects(store.lease('s', { owner: 'ann', ttlMs: hour, epoch }), LeaseLostError, 'its renewal')
    await store.append('s', [entry(2, 'by bob')], { epoch: taken.epoch, head: 1 })
    checkEqual(await store.read('s'), [entry(1), entry(2, 'by bob')], 'what was read')
  },

  async 'who lost a lease cannot give back that of his successor'(store) {
    const { epoch } = await lease(store, 's', 'ann')
    await store.lease('s', { owner: 'bob', ttlMs: hour, takeOver: true })
    await checkRejects(store.lease('s', { owner: 'ann', ttlMs: 0, epoch }), LeaseLostError, 'giving it back')
    await checkRejects(lease(store, 's', 'eve'), SessionBusyError, 'a third one')
  },
}
