import { LeaseLostError, SessionBusyError } from '../core/errors.ts'
import type { SessionStore } from '../core/store.ts'
import { check, checkEqual, checkRejects } from './contract.ts'
import { bytes, entry, hour, item, lease, type Prove, until, Watcher, write } from './store-contract-kit.ts'

/** Opens the same place once more, as another process would. */
type Again = () => Promise<SessionStore>

export type ProveRivals = (again: Again, ...rest: Parameters<Prove>) => ReturnType<Prove>

/** What holds between two who opened the same place and share nothing else. */
export const rivalCases: Record<string, ProveRivals> = {
  async 'what one opener wrote another one reads'(again, store) {
    await write(store, 's', 3)
    const name = await store.blobs('s').put(bytes)
    const other = await again()
    checkEqual(await other.read('s', 1), [entry(2), entry(3)], 'what the other one read')
    checkEqual(Array.from((await other.blobs('s').get(name)) ?? []), Array.from(bytes), 'the blob')
    checkEqual(
      (await other.list()).map(({ id, head }) => ({ id, head })),
      [{ id: 's', head: 3 }],
      'the list',
    )
  },

  async 'a lease that one opener holds keeps the others out, who are told by whom'(again, store) {
    await lease(store, 's', 'ann')
    const busy = await checkRejects(lease(await again(), 's', 'bob'), SessionBusyError, 'a second lease')
    check(busy.message.includes('ann'), `the message must name the owner "ann": ${busy.message}`)
    checkEqual((busy as SessionBusyError).owner, 'ann', 'the owner of the error')
  },

  async 'a writer that was taken over by another opener cannot write, renew or send a child on'(again, store) {
    const epoch = await write(store, 's', 1)
    const other = await again()
    const theirs = await other.lease('s', { owner: 'bob', ttlMs: hour, takeOver: true })
    await checkRejects(store.append('s', [entry(2, 'late')], { epoch, head: 1 }), LeaseLostError, 'a late append')
    const child = store.append('s/c', [entry(1)], { epoch, head: 0, holder: 's', parent: 's' })
    await checkRejects(child, LeaseLostError, 'a late append of a child')
    const renewal = store.lease('s', { owner: 'ann', ttlMs: hour, epoch })
    const { message } = await checkRejects(renewal, LeaseLostError, 'a late renewal')
    check(message.includes('bob'), `the message must name the new owner "bob": ${message}`)
    await other.append('s', [entry(2)], { epoch: theirs.epoch, head: 1 })
    checkEqual(await store.read('s'), [entry(1), entry(2)], 'what was read')
  },

  async 'of eight openers that ask for a lease at once exactly one gets it'(again) {
    const openers = await Promise.all(Array.from({ length: 8 }, again))
    const outcomes = await Promise.allSettled(openers.map((one, i) => lease(one, 's', `owner ${i}`)))
    const busy = outcomes.filter((one) => one.status === 'rejected' && one.reason instanceof SessionBusyError)
    const odd = outcomes.find((one) => one.status === 'rejected' && !(one.reason instanceof SessionBusyError))
    check(!odd, `one failed otherwise: ${String((odd as PromiseRejectedResult | undefined)?.reason)}`)
    checkEqual(busy.length, 7, 'how many were refused with SessionBusyError')
  },

  async 'a message that another opener sends reaches whoever watches, once'(again, store, advance) {
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

  async 'entries that one opener writes reach a watcher at another one'(again, store, advance) {
    const { epoch } = await lease(store)
    const watcher = new Watcher(await again(), 's')
    await store.append('s', [entry(1), entry(2)], { epoch, head: 0 })
    await until(advance, () => watcher.entries.length >= 2, 'the entries')
    await watcher.stop()
    checkEqual(watcher.entries, [entry(1), entry(2)], 'the entries it got')
  },

  async 'every opener names the same place'(again, store) {
    if (!store.identity) return
    checkEqual(await (await again()).identity?.(), await store.identity(), 'the identity')
  },
}
