import type { LogEntry } from '../core/log.ts'
import type { SessionQuery, SessionStore, SessionSummary } from '../core/store.ts'
import { pageOf } from '../sessions/session-query.ts'
import { check, checkEqual, checkRejects } from './contract.ts'
import { entry, item, lease, type StoreCase, write } from './store-contract-kit.ts'
import { entryOf } from './store-contract-summaries.ts'

/** Sessions are listed by filter, order and cursor. */
export const pageCases: Record<string, StoreCase> = {
  async 'ST02 every order and every filter give the sessions they name, in pages'(store) {
    const all = await variety(store)
    for (const filter of filters)
      for (const order of ['updated', 'created', 'id'] as const) {
        const expected = pageOf(all, { ...filter, order, limit: 1000 }).sessions.map(({ id }) => id)
        for (const limit of [1, 3, 1000])
          checkEqual(await idsOf(store, { ...filter, order, limit }), expected, JSON.stringify({ ...filter, order }))
      }
    checkEqual((await store.list()).sessions, pageOf(all, {}).sessions, 'the list without a query')
  },

  async 'ST02 sessions of the same time are in the order of their ids, and no page loses one'(store) {
    const ids = ['c', 'a', 'B', 'e', 'd', 'b']
    for (const id of ids) await made(store, id, { at: 5000 })
    for (const order of ['updated', 'created'] as const)
      checkEqual(await idsOf(store, { order, limit: 2 }), ['e', 'd', 'c', 'b', 'a', 'B'], `by ${order}`)
    checkEqual(await idsOf(store, { order: 'id', limit: 2 }), ['B', 'a', 'b', 'c', 'd', 'e'], 'by id')
  },

  async 'ST02 ids of every kind are in the order of their UTF-16 units, and found by their beginning'(store) {
    const ids = [
      '',
      ' ',
      '%',
      '%a',
      'A',
      '_',
      '_b',
      'a',
      'a%',
      'a*',
      'ab',
      'a\u0000b',
      "a'b",
      'a\\',
      'ä',
      'b',
      '\ud800x',
      '😀',
      '\uffff',
    ]
    for (const id of ids.slice(1)) await made(store, id, { at: 5000 })
    const sorted = ids.slice(1).sort()
    checkEqual(await idsOf(store, { order: 'id', limit: 4 }), sorted, 'the list')
    for (const prefix of ids) {
      const expected = sorted.filter((id) => id.startsWith(prefix))
      for (const limit of [2, 1000]) {
        const what = `the list of those that begin with ${JSON.stringify(prefix)}`
        checkEqual(await idsOf(store, { prefix, order: 'id', limit }), expected, what)
        checkEqual((await idsOf(store, { prefix, limit })).sort(), expected, what)
      }
    }
  },

  async 'ST02 sessions that change between two pages spoil nothing for the others'(store) {
    for (const order of ['updated', 'created', 'id'] as const) {
      const name = (n: number): string => `${order}-${n}`
      for (const n of [1, 2, 3, 4, 5, 6]) await made(store, name(n), { at: 1000 * n })
      const query: SessionQuery = { order, limit: 2, prefix: `${order}-` }
      const first = await store.list(query)
      const shown = first.sessions.map(({ id }) => id)
      checkEqual(shown.length, 2, 'the length of the first page')
      check(first.next !== undefined, 'the first page has a next one')
      const last = shown[1]!
      await appended(store, shown[0]!, 90_000)
      await made(store, name(7), { at: 95_000 })
      await store.delete(last) // the one that the cursor names
      const rest = await idsOf(store, { ...query, cursor: first.next })
      const untouched = [1, 2, 3, 4, 5, 6].map(name).filter((id) => !shown.includes(id))
      checkEqual(rest.filter((id) => untouched.includes(id)).sort(), untouched, `the untouched ones, by ${order}`)
      checkEqual(new Set(rest).size, rest.length, 'how many are given once')
    }
  },

  async 'ST02 a page has 50 sessions unless more are asked for, and the last page has no next'(store) {
    for (let n = 0; n < 51; n++) await made(store, `n${n}`, { at: n })
    const { sessions, next } = await store.list()
    checkEqual([sessions.length, next !== undefined], [50, true], 'the first page')
    checkEqual((await store.list({ cursor: next! })).sessions.length, 1, 'the second page')
    checkEqual((await store.list({ cursor: next! })).next, undefined, 'what follows the second page')
    checkEqual((await store.list({ limit: 51 })).next, undefined, 'what follows a page of all')
  },

  async 'ST02 a query that makes no sense is refused'(store) {
    await made(store, 's', { at: 1 })
    const wrong = [
      { limit: 0 },
      { limit: 1001 },
      { order: 'title' },
      { cursor: 'x' },
      { tennant: 'a' },
      { status: 'x' },
    ]
    for (const query of wrong) await checkRejects(store.list(query as SessionQuery), TypeError, JSON.stringify(query))
  },

  async 'ST03 the list of those that need attention has each for its reason, and none that is held'(store) {
    for (const id of ['mail', 'died', 'held', 'quiet']) await made(store, id, { at: 1 }, id === 'held')
    await store.send('mail', item('k', 'hello'))
    await store.send('held', item('k', 'hello'))
    const { epoch } = await lease(store, 'died')
    await store.append('died', [entryOf(2, started)], { epoch, head: 1 })
    checkEqual(await idsOf(store, { attention: true }), ['mail'], 'while the run is under way')
    await store.lease('died', { owner: 'ann', ttlMs: 0, epoch })
    const found = (await store.list({ attention: true, order: 'id' })).sessions
    const reasons = found.map(({ id, attention }) => [id, attention])
    checkEqual(
      reasons,
      [
        ['died', 'owner_died'],
        ['mail', 'mail'],
      ],
      'the list',
    )
    checkEqual(await idsOf(store, { attention: true, order: 'id', limit: 1 }), ['died', 'mail'], 'the list in pages')
  },

  async 'ST04 the children of a session are a list of their own'(store) {
    const epoch = await write(store, 'p', 1)
    for (const [id, parent] of [
      ['p/1', 'p'],
      ['p/2', 'p'],
      ['p/1/1', 'p/1'],
    ] as const)
      await store.append(id, [entry(1)], { epoch, head: 0, holder: 'p', parent })
    await write(store, 'p/3', 1) // not a child: only its name says so
    checkEqual(await idsOf(store, { parent: 'p', order: 'id' }), ['p/1', 'p/2'], 'the children of p')
    checkEqual(await idsOf(store, { parent: 'p/1' }), ['p/1/1'], 'the children of p/1')
    checkEqual(await idsOf(store, { parent: 'none' }), [], 'the children of a session that is not there')
    checkEqual(await idsOf(store, { parent: null, order: 'id' }), ['p', 'p/3'], 'those that are no children')
    await store.delete('p/1')
    checkEqual(await idsOf(store, { parent: 'p' }), ['p/2'], 'the children after one was deleted')
  },
}

const started = { type: 'run_started', runId: 'r', model: 'm' } as const

interface Made {
  readonly at: number
  readonly updatedAt?: number
  readonly tags?: readonly string[]
  readonly tenant?: string
  readonly kind?: string
  readonly folder?: string
}

/** Makes a session with these details, and gives its lease back unless it is held. */
async function made(store: SessionStore, id: string, { at, updatedAt, ...details }: Made, isHeld = false) {
  const { epoch } = await lease(store, id)
  const first = { ...entryOf(1, { type: 'details', ...details }), at }
  const last = updatedAt === undefined ? [] : [{ ...entryOf(2, { type: 'label', text: 'later' }), at: updatedAt }]
  await store.append(id, [first, ...last] as LogEntry[], { epoch, head: 0 })
  if (!isHeld) await store.lease(id, { owner: 'ann', ttlMs: 0, epoch })
}

async function appended(store: SessionStore, id: string, at: number): Promise<void> {
  const { epoch, head } = await lease(store, id)
  await store.append(id, [{ ...entryOf(head + 1, { type: 'label', text: 'more' }), at }], { epoch, head })
  await store.lease(id, { owner: 'ann', ttlMs: 0, epoch })
}

/** Sessions that differ in everything that a query can ask for. */
async function variety(store: SessionStore): Promise<SessionSummary[]> {
  const tenants = ['acme', 'Acme', "o'neil", 'x\u0000']
  for (let n = 0; n < 12; n++)
    await made(store, `${n % 2 === 0 ? 'even' : 'odd'}/${n}`, {
      at: 10_000 - 1000 * (n % 5),
      updatedAt: 20_000 + 1000 * ((n * 7) % 4),
      ...(n % 3 > 0 && { tags: ['a', 'b', 'c d'].slice(0, (n % 3) + (n % 2)) }),
      ...(n % 5 < 4 && { tenant: tenants[n % 5]! }),
      ...(n % 2 === 0 && { kind: n % 4 === 0 ? 'chat' : 'agent' }),
      ...(n > 6 && { folder: n % 2 === 0 ? '/projects/a' : '/projects/a b' }),
    })
  const { epoch } = await lease(store, 'even/0') // a run under way, with a child
  await store.append('even/0', [{ ...entryOf(3, started), at: 30_000 }], { epoch, head: 2 })
  const child = { epoch, head: 0, holder: 'even/0', parent: 'even/0' }
  await store.append('even/0/c', [{ ...entryOf(1, started), at: 30_001 }], child)
  const dead = await lease(store, 'odd/1') // a run whose process is gone
  await store.append('odd/1', [{ ...entryOf(3, started), at: 30_000 }], { epoch: dead.epoch, head: 2 })
  await store.lease('odd/1', { owner: 'ann', ttlMs: 0, epoch: dead.epoch })
  await store.send('odd/3', item('k', 'hello'))
  const parked = await lease(store, 'odd/5')
  const reason = { ...entryOf(3, { type: 'parked', reason: 'x' }), at: 30_000 }
  await store.append('odd/5', [reason], { epoch: parked.epoch, head: 2 })
  await store.lease('odd/5', { owner: 'ann', ttlMs: 0, epoch: parked.epoch })
  const ids = [...Array.from({ length: 12 }, (_, n) => `${n % 2 === 0 ? 'even' : 'odd'}/${n}`), 'even/0/c']
  const found = await Promise.all(ids.map((id) => store.find(id)))
  return found.map((summary, i) => {
    check(summary, `the summary of ${ids[i]} is missing`)
    return summary
  })
}

const filters: readonly SessionQuery[] = [
  {},
  { status: 'idle' },
  { status: 'working' },
  { status: 'interrupted' },
  { status: ['parked', 'working', 'failed'] },
  { status: [] },
  { attention: true },
  { tags: ['a'] },
  { tags: ['c d'] },
  { tags: ['a', 'b'] },
  { tags: ['none'] },
  { tenant: 'acme' },
  { tenant: "o'neil" },
  { tenant: 'x\u0000' },
  { tenant: '' },
  { kind: 'chat' },
  { folder: '/projects/a' },
  { parent: null },
  { parent: 'even/0' },
  { prefix: 'even/' },
  { prefix: 'odd/1' },
  { updatedBefore: 22_000 },
  { updatedBefore: 22_000, prefix: 'even/', kind: 'chat' },
  { tenant: 'acme', kind: 'chat', status: 'idle', parent: null },
  { tags: ['a'], tenant: 'Acme', attention: true },
]

/** The ids of all pages. */
async function idsOf(store: SessionStore, query: SessionQuery): Promise<string[]> {
  const ids: string[] = []
  let cursor = query.cursor
  do {
    const { sessions, next } = await store.list({ ...query, ...(cursor !== undefined && { cursor }) })
    check(sessions.length <= (query.limit ?? 50), `a page of ${sessions.length}`)
    check(next === undefined || sessions.length > 0, 'an empty page that is followed by another')
    ids.push(...sessions.map(({ id }) => id))
    cursor = next
  } while (cursor !== undefined)
  return ids
}
