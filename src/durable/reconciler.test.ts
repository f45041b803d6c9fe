import { expect, onTestFinished, test } from 'vitest'
import type { SessionQuery, SessionStore, SessionSummary } from '../core/store.ts'
import { fakeClock } from '../testing/index.ts'
import { Reconciler } from './reconciler.ts'

type Found = Pick<SessionSummary, 'id' | 'attention'> & Partial<SessionSummary>

/** A reconciler of a full worker, over sessions that need attention. */
function reconcilerOf(all: readonly Found[], isOwn: (summary: SessionSummary) => boolean = () => true, isFull = true) {
  const clock = fakeClock(1_000_000)
  const woken: string[] = []
  const queries: SessionQuery[] = []
  async function list(query: SessionQuery) {
    const { status, parent, limit = 0, cursor = '0' } = query
    queries.push(query)
    const isInterrupted = ({ attention }: Found): boolean => attention === 'owner_died' || attention === 'interrupted'
    const found = all.filter(
      (one) =>
        one.attention &&
        (status === undefined || isInterrupted(one)) &&
        (parent === undefined || one.parent === undefined),
    )
    const end = Number(cursor) + limit
    return { sessions: found.slice(Number(cursor), end), ...(end < found.length && { next: String(end) }) }
  }
  const reconciler = new Reconciler({
    ...{
      store: { list, find: async (id: string) => all.find((one) => one.id === id) } as unknown as SessionStore,
      clock,
      isFull: () => isFull,
      isOwn,
    },
    wake: async ({ id }) => void woken.push(id),
    alsoLook: async () => {},
    onError: (error) => {
      throw error
    },
  })
  onTestFinished(() => reconciler.stop())
  return { reconciler, clock, woken, queries }
}

const dead = (count: number, more: Partial<Found> = {}): Found[] =>
  Array.from({ length: count }, (_, i) => ({ id: `dead${i}`, attention: 'owner_died', head: 1, ...more }))

test('FL92 sessions whose worker died are woken within two seconds by a full worker too, however much mail there is', async () => {
  const mail = Array.from({ length: 5000 }, (_, i) => ({ id: `mail${i}`, attention: 'answered' as const, head: 1 }))
  const all: Found[] = [...mail]
  const { reconciler, clock, woken } = reconcilerOf(all)
  reconciler.start()
  await clock.advance(3000)
  woken.length = 0
  all.push(...dead(250))
  await clock.advance(2400)
  expect(new Set(woken.filter((id) => id.startsWith('dead'))).size).toBe(250)
})

test('FL92 a session is woken again until a worker takes it over, at most every two seconds', async () => {
  const { reconciler, clock, woken } = reconcilerOf(dead(1))
  reconciler.start()
  for (let i = 0; i < 20; i++) await clock.advance(1000)
  expect(woken.length).toBeGreaterThan(4)
  expect(woken.length).toBeLessThanOrEqual(10)
})

test('FL92 sub-agents and sessions of other programs are not woken, and many of them cost one page', async () => {
  const all = [...dead(1), ...dead(1, { id: 'child', parent: 'dead0' }), ...dead(3000, { kind: 'plain' })]
  const { reconciler, clock, woken, queries } = reconcilerOf(all, ({ kind }) => kind !== 'plain')
  reconciler.start()
  await clock.advance(100)
  expect(woken).toEqual(['dead0'])
  const ofInterrupted = (): number => queries.filter(({ status }) => status === 'interrupted').length
  expect(ofInterrupted()).toBeLessThanOrEqual(2)
})

test('FL06 the root of a sub-agent that was answered is woken, but not again and again if it leaves the answer', async () => {
  const root: Found = { id: 'root', status: 'waiting', head: 5 }
  const child: Found = { id: 'root/1', parent: 'root', attention: 'answered', status: 'waiting', head: 2 }
  const orphan: Found = { id: 'done/1', parent: 'done', attention: 'answered', status: 'waiting', head: 2 }
  const all = [root, child, { id: 'done', status: 'idle' as const, head: 9 }, orphan]
  const { reconciler, clock, woken } = reconcilerOf(all, () => true, false)
  reconciler.start()
  for (let i = 0; i < 50; i++) {
    await clock.advance(1000)
    Object.assign(root, { head: 5 + woken.length * 2 }) // its run changes nothing about the child
  }
  expect(woken).toEqual(['root'])
})

test('FL06 the root of a sub-agent that was answered is woken again if it has not run since', async () => {
  const root: Found = { id: 'root', status: 'waiting', head: 5 }
  const child: Found = { id: 'root/1', parent: 'root', attention: 'answered', status: 'waiting', head: 2 }
  const { reconciler, clock, woken } = reconcilerOf([root, child], () => true, false)
  reconciler.start()
  await clock.advance(30_000)
  expect(woken.length).toBeGreaterThan(1)
})

test('FL04 a session that cannot be read hides no other one, and no other work', async () => {
  const clock = fakeClock(1_000_000)
  const bad = { id: 'bad', attention: 'mail', status: 'idle', head: 1 }
  const good = { id: 'good', attention: 'answered', status: 'idle', head: 1 }
  const pages: Record<string, object> = { '': { sessions: [bad], next: 'second' }, second: { sessions: [good] } }
  const store = {
    list: async ({ status, cursor = '' }: SessionQuery) => (status ? { sessions: [] } : pages[cursor]),
    read: async () => {
      throw new Error('the log is damaged')
    },
  } as unknown as SessionStore
  const [woken, errors]: [string[], Error[]] = [[], []]
  let looks = 0
  const reconciler = new Reconciler({
    ...{ store, clock, isFull: () => false, isOwn: () => true },
    wake: async ({ id }) => void woken.push(id),
    alsoLook: async () => void looks++,
    onError: (error) => void errors.push(error),
  })
  onTestFinished(() => reconciler.stop())
  reconciler.start()
  await clock.advance(30_000)
  expect(woken).toContain('good')
  expect(looks).toBeGreaterThan(2)
  expect(errors[0]?.cause).toMatchObject({ message: 'the log is damaged' })
})
