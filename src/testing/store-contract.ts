import type { Clock } from '../core/clock.ts'
import { LeaseLostError, SessionBusyError } from '../core/errors.ts'
import { type InboxItem, Log, type LogEntry } from '../core/log.ts'
import type { SessionStore } from '../core/store.ts'
import { type ContractCase, check, checkEqual, checkRejects, within } from './contract.ts'
import { fakeClock } from './fake-clock.ts'

export interface StoreContractOptions {
  /** How time passes for a store that cannot be given a clock. Default: the clock that `make` got is turned. */
  readonly clock?: { advance(ms: number): Promise<void> }
}

/** What makes a store a store. `make` gives an empty one, for each case anew, that tells the time by `clock`. */
export function storeContract(
  make: (clock: Clock) => SessionStore | Promise<SessionStore>,
  options: StoreContractOptions = {},
): ContractCase[] {
  return Object.entries(promises).map(([name, prove]) => ({
    name,
    async run() {
      const clock = fakeClock(1_700_000_000_000)
      const store = await make(clock)
      await prove(store, (ms) => (options.clock ?? clock).advance(ms))
    },
  }))
}

type Advance = (ms: number) => Promise<void>

const promises: Record<string, (store: SessionStore, advance: Advance) => Promise<void>> = {
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

  async 'messages wait in the inbox, in order, for whoever takes the lease'(store) {
    await store.send('s', item('k1', 'first'))
    await store.send('s', item('k2', 'second'))
    await store.send('t', item('k1', 'of another session'))
    checkEqual((await lease(store)).inbox, [item('k1', 'first'), item('k2', 'second')], 'the inbox')
  },

  async 'sending the same key again changes nothing'(store) {
    await store.send('s', item('k1', 'first'))
    await store.send('s', item('k1', 'again'))
    checkEqual((await lease(store)).inbox, [item('k1', 'first')], 'the inbox')
  },

  async 'an input entry takes its message out of the inbox'(store) {
    await store.send('s', item('k1', 'first'))
    await store.send('s', item('k2', 'second'))
    const { epoch } = await lease(store)
    await store.append('s', [input(1, 'k1', 'first')], { epoch, head: 0 })
    checkEqual((await lease(store)).inbox, [item('k2', 'second')], 'the inbox')
  },

  async 'an append that is refused leaves the inbox as it was'(store) {
    await store.send('s', item('k1', 'first'))
    const { epoch } = await lease(store)
    await checkRejects(store.append('s', [input(8, 'k1', 'first')], { epoch, head: 7 }), LeaseLostError, 'a gap')
    checkEqual((await lease(store)).inbox, [item('k1', 'first')], 'the inbox')
  },

  async 'sending a key again after its delivery changes nothing'(store) {
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
    await within(patience, never.done, 'a watcher whose signal was aborted before')
    checkEqual(never.entries, [], 'what it got')
    const waiting = new Watcher(store, 's')
    await until(advance, () => waiting.entries.length > 0, 'the first entry')
    await waiting.stop()
  },

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
    const listed = (await store.list()).toSorted((a, b) => a.id.length - b.id.length)
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

  async 'delete takes children, inbox and blobs along and leaves the others'(store) {
    const epoch = await write(store, 'p', 1)
    await store.append('p/c', [entry(1)], { epoch, head: 0, holder: 'p', parent: 'p' })
    await store.append('p/c/g', [entry(1)], { epoch, head: 0, holder: 'p', parent: 'p/c' })
    await store.send('p', item('k1', 'waiting'))
    const [blob, childBlob] = [await store.blobs('p').put(bytes), await store.blobs('p/c').put(bytes)]
    await write(store, 'pp', 1)
    await store.delete('p')
    await store.delete('never there')
    checkEqual(await store.list(), [{ id: 'pp', head: 1 }], 'the list')
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

const hour = 3_600_000
const patience = 2000
const bytes = Uint8Array.of(0, 255, 10)

const lease = (store: SessionStore, id = 's', owner = 'ann') => store.lease(id, { owner, ttlMs: hour })

const entry = (seq: number, text = `entry ${seq}`): LogEntry => ({
  seq,
  id: `${seq}-${text.slice(0, 20)}`,
  at: 1_700_000_000_000 + seq,
  type: 'label',
  text,
})

const textOf = (one: LogEntry): string => (one.type === 'label' ? one.text : '')

const item = (clientKey: string, text: string): InboxItem => ({
  clientKey,
  mode: 'steer',
  content: [{ type: 'text', text }],
})

const input = (seq: number, clientKey: string, text: string): LogEntry => ({
  ...item(clientKey, text),
  seq,
  id: `input-${seq}`,
  at: seq,
  type: 'input',
})

/** A session with so many entries, still under lease. */
async function write(store: SessionStore, id: string, count: number, text?: string, owner = 'ann'): Promise<number> {
  const { epoch } = await lease(store, id, owner)
  const entries = Array.from({ length: count }, (_, i) => entry(i + 1, text))
  await store.append(id, entries, { epoch, head: 0 })
  return epoch
}

const oddEntries: LogEntry[] = [
  {
    seq: 1,
    id: 'one',
    at: 0,
    type: 'turn',
    turn: {
      id: 't1',
      runId: 'r1',
      role: 'assistant',
      createdAt: 0.5,
      usage: { input: 0, output: 3, cost: 0.000_001 },
      content: [
        { type: 'text', text: 'e\u0301 \u00e9 \u{1F469}\u200D\u{1F680} \u0000 \u2028 \r\n "\\" </script>' },
        { type: 'tool_call', id: 'c1', name: 'f', input: JSON.parse('{"__proto__": {"x": 1}, "": null}') },
      ],
    },
  },
  { seq: 2, id: 'two', at: 1, type: 'state', owner: 'o', value: [null, true, -1.5e300, [], {}, [[['deep']]]] },
  JSON.parse('{"seq": 3, "id": "three", "at": 2, "type": "invented_later", "constructor": {"of": ["something"]}}'),
]

/** Collects what one watcher is told. */
class Watcher {
  readonly entries: LogEntry[] = []
  readonly inbox: InboxItem[] = []
  readonly done: Promise<void>
  readonly #abort = new AbortController()

  constructor(store: SessionStore, id: string, after = 0, signal: AbortSignal = this.#abort.signal) {
    this.done = this.#listen(store.watch(id, { after, signal }))
    this.done.catch(() => {}) // it is awaited later
  }

  async stop(): Promise<void> {
    this.#abort.abort()
    await within(patience, this.done, 'a watcher whose signal was aborted')
  }

  async #listen(changes: ReturnType<SessionStore['watch']>): Promise<void> {
    for await (const { entries, inbox } of changes) {
      this.entries.push(...entries)
      this.inbox.push(...inbox)
    }
  }
}

/** Lets time pass, as a store that polls needs it, until something has come. */
async function until(advance: Advance, holds: () => boolean, what: string): Promise<void> {
  for (let tries = 0; tries < 200 && !holds(); tries++) await advance(250)
  check(holds(), `a watcher waits for ${what} in vain`)
}
