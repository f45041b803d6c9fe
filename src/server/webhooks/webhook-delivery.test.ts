import { expect, test } from 'vitest'
import type { Clock } from '../../core/clock.ts'
import { systemClock } from '../../core/clock.ts'
import type { SessionStore } from '../../core/store.ts'
import { createMemoryStore, createSession, loadSession } from '../../sessions/index.ts'
import type { WebhookPoster } from './post-webhook.ts'
import { newWebhookSecret } from './sign-webhook.ts'
import { createWebhook, WebhookBook } from './webhook-book.ts'
import { WebhookDelivery } from './webhook-delivery.ts'

const day = 86_400_000

/** A store with one webhook, at a time that the test sets; receivers are told by `post`. */
async function setUp(post: (session: string, seq: number) => string | undefined) {
  let now = 1_790_000_000_000
  const clock: Clock = { now: () => now, timer: (ms, fn) => systemClock.timer(ms / 1000, fn) }
  const store = createMemoryStore()
  const webhook = { url: 'https://example.com/', events: ['run_ended'] as const, createdAt: now }
  const id = await createWebhook(store, { ...webhook, secret: newWebhookSecret() }, { tenant: undefined, clock })
  const told: string[] = []
  const poster: WebhookPoster = {
    checkUrl: (url) => url,
    async post({ body }) {
      const { session, seq } = JSON.parse(body).data
      const problem = post(session, seq)
      if (problem === undefined) told.push(`${session} ${seq}`)
      return problem
    },
  }
  const open = () => {
    const book = new WebhookBook(store, id, clock)
    const delivery = new WebhookDelivery({ book, tenant: undefined, store, poster, clock, onError: () => {} })
    return { book, delivery }
  }
  async function until(isSo: () => boolean, step = () => {}): Promise<void> {
    for (let tries = 0; !isSo(); tries++) {
      if (tries > 3000) throw new Error(`it took too long; told: ${told}`)
      await pause()
      step()
    }
  }
  /** What the server does every ten seconds, until this is so; without the pages, so that each is written at a known moment. */
  async function sweep(delivery: WebhookDelivery, isSo: () => boolean): Promise<void> {
    const from = await delivery.beginSweep(now)
    for (const summary of (await store.list({ limit: 1000 })).sessions)
      if (summary.updatedAt >= from) delivery.notice(summary)
    await until(isSo)
  }
  const page = (delivery: WebhookDelivery, isWritten: () => boolean) => until(isWritten, () => delivery.tidy())
  return { store, clock, id, told, open, sweep, page, later: (ms: number) => void (now += ms) }
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 10))

async function endRun(store: SessionStore, id: string, clock: Clock): Promise<void> {
  const isThere = await store.find(id)
  const session = isThere ? await loadSession(store, id, { clock }) : await createSession({ store, id, clock })
  await session.startRun({ runId: 'r', model: 'm' })
  await session.completeRun('r')
}

test('SV67 after days a page holds the cursors of what changed lately and of what is undelivered; older ones are not told again', async () => {
  let isDown = true
  const { store, clock, id, told, open, sweep, page, later } = await setUp((session) =>
    session === 'stuck' && isDown ? 'it answered 500' : undefined,
  )
  const first = open()
  for (const session of ['old', 'stuck']) await endRun(store, session, clock)
  await sweep(first.delivery, () => told.length === 1)
  later(2.5 * day)
  await endRun(store, 'late', clock)
  // A page that is written while an event is being sent has its session as undelivered.
  await sweep(first.delivery, () => first.book.cursors.get('late')?.seq === 2)
  await page(first.delivery, () => first.book.outstanding.length > 0)
  expect(told).toEqual(['old 2', 'late 2'])
  expect(first.book.since).toBe(clock.now() - day)
  expect([...first.book.cursors.keys()].sort()).toEqual(['late', 'stuck'])
  expect(first.book.outstanding).toEqual(['stuck'])
  await first.delivery.close()

  isDown = false
  const second = open()
  await endRun(store, 'old', clock)
  await sweep(second.delivery, () => told.length === 4)
  expect(told.sort()).toEqual(['late 2', 'old 2', 'old 4', 'stuck 2'])
  await second.delivery.close()
  expect((await store.find(id))?.isHeld).toBeUndefined()
})

test('SV66 a session that was deleted and made again under its id tells its own events', async () => {
  const { store, clock, told, open, sweep, later } = await setUp(() => undefined)
  const { delivery, book } = open()
  await endRun(store, 'a', clock)
  await endRun(store, 'a', clock)
  await sweep(delivery, () => book.cursors.get('a')?.seq === 4)
  await store.delete('a')
  later(1000)
  await endRun(store, 'a', clock)
  await sweep(delivery, () => book.cursors.get('a')?.seq === 2)
  expect(told).toEqual(['a 2', 'a 4', 'a 2'])
  await delivery.close()
})

test('SV67 a thousand notes make a page, from which the next process reads on', async () => {
  const { store, clock, id, told, open, sweep, page } = await setUp(() => undefined)
  const { delivery, book } = open()
  const session = await createSession({ store, id: 'a', clock })
  await session.open()
  for (let i = 0; i < 1000; i++)
    await session.log.append({ type: 'run_ended', runId: 'r', status: 'completed', stop: 'end' })
  await session.release()
  await sweep(delivery, () => book.moves === 1000)
  await page(delivery, () => book.moves === 0)
  await delivery.close()
  const [written] = await store.read(id, { limit: 1, fromEnd: true })
  expect(written).toMatchObject({
    type: 'state',
    owner: 'webhook',
    value: { cursors: [['a', 1000, expect.any(Number)]] },
  })
  const again = open()
  await again.book.read()
  expect([again.book.cursors.get('a')?.seq, again.book.moves]).toEqual([1000, 0])
  await endRun(store, 'b', clock)
  await sweep(again.delivery, () => told.includes('b 2'))
  expect(told).toHaveLength(1001)
  await again.delivery.close()
})

test('SV74 while another process has the lease nothing is told, and afterwards only what that one has left', async () => {
  const { store, clock, id, told, open, sweep, later } = await setUp(() => undefined)
  const other = new WebhookBook(store, id, clock)
  await other.hold(() => {})
  await endRun(store, 'a', clock)
  await endRun(store, 'b', clock)
  const { delivery } = open()
  await sweep(delivery, () => delivery.isBehind)
  expect(told).toEqual([])
  await other.move((await store.find('a'))!, 2)
  await other.release()
  later(60_000)
  await sweep(delivery, () => told.length > 0)
  expect(told).toEqual(['b 2'])
  await delivery.close()
})
