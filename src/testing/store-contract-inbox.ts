import { LeaseLostError, SessionNotFoundError } from '../core/errors.ts'
import type { InboxItem, LogEntry } from '../core/log.ts'
import { checkEqual, checkRejects, within } from './contract.ts'
import { entry, input, item, lease, type StoreCase, timeoutMs, until, Watcher, write } from './store-contract-kit.ts'

/** Messages are delivered once, and watchers miss nothing. */
export const inboxCases: Record<string, StoreCase> = {
  async 'messages wait in the inbox, in order, for the next holder of the lease'(store) {
    await lease(store)
    await store.send('s', item('k1', 'first'))
    await store.send('s', item('k2', 'second'))
    await lease(store, 't')
    await store.send('t', item('k1', 'of another session'))
    checkEqual((await lease(store)).inbox, [item('k1', 'first'), item('k2', 'second')], 'the inbox')
  },

  async 'sending the same key again changes nothing'(store) {
    await lease(store)
    await store.send('s', item('k1', 'first'))
    await store.send('s', item('k1', 'again'))
    checkEqual((await lease(store)).inbox, [item('k1', 'first')], 'the inbox')
  },

  async 'an input entry takes its message out of the inbox'(store) {
    await lease(store)
    await store.send('s', item('k1', 'first'))
    await store.send('s', item('k2', 'second'))
    const { epoch } = await lease(store)
    await store.append('s', [input(1, 'k1', 'first')], { epoch, head: 0 })
    checkEqual((await lease(store)).inbox, [item('k2', 'second')], 'the inbox')
  },

  async 'a message that only says stop comes and goes like any other'(store) {
    const stop: InboxItem = { clientKey: 'k1', mode: 'stop', content: [] }
    await lease(store)
    await store.send('s', stop)
    const { epoch, inbox } = await lease(store)
    checkEqual(inbox, [stop], 'the inbox')
    const noted: LogEntry = { ...stop, seq: 1, id: 'input-1', at: 1, type: 'input' }
    await store.append('s', [noted], { epoch, head: 0 })
    checkEqual(await store.read('s'), [noted], 'the log')
    checkEqual((await lease(store)).inbox, [], 'the inbox afterwards')
  },

  async 'an append that is refused leaves the inbox as it was'(store) {
    await lease(store)
    await store.send('s', item('k1', 'first'))
    const { epoch } = await lease(store)
    await checkRejects(store.append('s', [input(8, 'k1', 'first')], { epoch, head: 7 }), LeaseLostError, 'a gap')
    checkEqual((await lease(store)).inbox, [item('k1', 'first')], 'the inbox')
  },

  async 'sending a key again after its delivery changes nothing'(store) {
    await lease(store)
    await store.send('s', item('k1', 'first'))
    const { epoch } = await lease(store)
    await store.append('s', [input(1, 'k1', 'first')], { epoch, head: 0 })
    await store.send('s', item('k1', 'first'))
    checkEqual((await lease(store)).inbox, [], 'the inbox')
  },

  async 'sending a key that the writer put into the log by itself changes nothing'(store) {
    const { epoch } = await lease(store)
    await store.append('s', [input(1, 'k1', 'first')], { epoch, head: 0 })
    await store.send('s', item('k1', 'first'))
    checkEqual((await lease(store)).inbox, [], 'the inbox')
  },

  async 'a watcher gets what is there and then what comes'(store, advance) {
    const epoch = await write(store, 's', 2)
    await store.send('s', item('k1', 'waiting'))
    const watcher = new Watcher(store, 's')
    await until(advance, () => watcher.entries.length >= 2 && watcher.inbox.length >= 1, 'what was there')
    await store.append('s', [entry(3)], { epoch, head: 2 })
    await until(advance, () => watcher.entries.length >= 3, 'a new entry')
    await store.send('s', item('k2', 'new'))
    await until(advance, () => watcher.inbox.length >= 2, 'a new message')
    await watcher.stop()
    checkEqual(watcher.entries, [entry(1), entry(2), entry(3)], 'the entries it got')
    checkEqual(watcher.inbox, [item('k1', 'waiting'), item('k2', 'new')], 'the messages it got')
  },

  async 'a watcher of a session that does not exist yet gets its first entry'(store, advance) {
    const watcher = new Watcher(store, 's')
    await advance(1000)
    await write(store, 's', 1)
    await until(advance, () => watcher.entries.length > 0, 'the first entry')
    await watcher.stop()
    checkEqual(watcher.entries, [entry(1)], 'the entries it got')
  },

  async 'a watch with "once" gets what is there, and ends'(store) {
    const stop = new AbortController()
    const collect = async (inboxOnly: boolean): Promise<unknown[]> => {
      const got: unknown[] = []
      for await (const { entries, inbox } of store.watch('s', { signal: stop.signal, inboxOnly, once: true }))
        got.push(...entries, ...inbox)
      return got
    }
    const watchOnce = (inboxOnly: boolean) =>
      within(timeoutMs, collect(inboxOnly), 'a watch with "once"').catch((error) => {
        stop.abort()
        throw error
      })
    checkEqual(await watchOnce(false), [], 'what a session has that does not exist')
    await write(store, 's', 2)
    checkEqual(await watchOnce(true), [], 'an empty inbox')
    await store.send('s', item('k1', 'waiting'))
    checkEqual(await watchOnce(false), [entry(1), entry(2), item('k1', 'waiting')], 'entries and messages')
    checkEqual(await watchOnce(true), [item('k1', 'waiting')], 'the messages')
  },

  async 'a watcher of a session that is deleted learns so'(store, advance) {
    const epoch = await write(store, 's', 2)
    const [watcher, mailOnly] = [new Watcher(store, 's'), new Watcher(store, 's', 2, undefined, true)]
    await until(advance, () => watcher.entries.length >= 2, 'what was there')
    await store.lease('s', { owner: 'ann', ttlMs: 0, epoch })
    await store.delete('s')
    let failed: unknown
    watcher.done.catch((error) => {
      failed = error
    })
    await until(advance, () => failed !== undefined, 'the end of its session')
    await checkRejects(watcher.done, SessionNotFoundError, 'a watcher of entries')
    await checkRejects(new Watcher(store, 's', 2).done, SessionNotFoundError, 'a watcher that comes too late')
    await mailOnly.stop()
  },

  async 'every watcher gets everything after its own seq'(store, advance) {
    const epoch = await write(store, 's', 2)
    const all = new Watcher(store, 's')
    const late = new Watcher(store, 's', 2)
    await store.append('s', [entry(3)], { epoch, head: 2 })
    await until(advance, () => all.entries.length >= 3 && late.entries.length >= 1, 'the entries of both')
    await Promise.all([all.stop(), late.stop()])
    checkEqual(all.entries, [entry(1), entry(2), entry(3)], 'the entries of the first')
    checkEqual(late.entries, [entry(3)], 'the entries of the second')
  },

  async 'a watcher ends when its signal is aborted, before or while it waits'(store, advance) {
    await write(store, 's', 1)
    const never = new Watcher(store, 's', 0, AbortSignal.abort())
    await within(timeoutMs, never.done, 'a watcher whose signal was aborted before')
    checkEqual(never.entries, [], 'what it got')
    const waiting = new Watcher(store, 's')
    await until(advance, () => waiting.entries.length > 0, 'the first entry')
    await waiting.stop()
  },
}
