import { expect, test } from 'vitest'
import { AgentRateLimitError } from '../core/errors.ts'
import type { ModelEvent, ModelRequest, Provider } from '../core/provider.ts'
import { createMemoryStore } from '../sessions/memory-store.ts'
import { fakeClock } from '../testing/index.ts'
import { providerLimits } from './provider-limits.ts'

const request = { model: 'm', messages: [], tools: [] } as unknown as ModelRequest
const minute = 60_000

/** A provider that answers as it is told for each request, and knows how many it got. */
function service(answers: (n: number) => Error | ModelEvent[] = () => [{ type: 'text', delta: 'hi' }]) {
  const provider = {
    requests: 0,
    meta: { name: 'house', defaultModel: 'm' },
    async *stream() {
      const answer = answers(++provider.requests)
      if (answer instanceof Error) throw answer
      yield* answer
    },
    classifyError: (error: unknown) =>
      (error as Error).message.startsWith('429')
        ? { kind: 'rate_limited' as const, retryAfterMs: Number((error as Error).message.slice(4)) }
        : null,
  }
  return provider
}

/** Reads a stream as the loop does. */
function read(provider: Provider, signal = new AbortController().signal) {
  const events: ModelEvent[] = []
  const done = (async () => {
    for await (const event of provider.stream(request, signal)) events.push(event)
  })()
  done.catch(() => {})
  return { events, done }
}

function fleet(limits: Record<string, { requestsPerMinute: number }> = {}) {
  const clock = fakeClock(10 * minute)
  const store = createMemoryStore({ clock })
  // Two workers on one store.
  return { clock, workers: [1, 2].map(() => providerLimits({ store, limits, clock })) }
}

test('FL40 requests beyond the limit of a minute wait for the next, over all workers', async () => {
  const { clock, workers } = fleet({ 'house:m': { requestsPerMinute: 3 } })
  const house = service()
  const streams = [0, 1, 0, 1, 0].map((n) => read(workers[n]!.limited(house)))
  await clock.advance(minute - 1)
  expect(house.requests).toBe(3)
  expect(streams[4]!.events).toEqual([
    { type: 'retry', attempt: 2, delayMs: expect.any(Number), reason: expect.stringContaining('"house:m" wait') },
  ])
  expect(await workers[0]!.status()).toEqual([{ key: 'house:m', used: 3 }])
  await clock.advance(2000)
  expect(house.requests).toBe(5)
  await Promise.all(streams.map(({ done }) => done))
  expect(streams.map(({ events }) => events.at(-1)?.type)).toEqual(Array(5).fill('text'))
})

test('FL41 a 429 closes the key for all workers until the time that the service names', async () => {
  const { clock, workers } = fleet()
  const house = service((n) => (n === 1 ? new Error('429 30000') : [{ type: 'text', delta: 'hi' }]))
  const first = read(workers[0]!.limited(house))
  await clock.advance(2000)
  const second = read(workers[1]!.limited(house))
  const other = read(workers[1]!.limited(house, 'another key'))
  await clock.advance(20_000)
  await other.done
  expect(house.requests).toBe(2)
  expect((await workers[1]!.status())[0]).toMatchObject({ key: 'house:m', closedUntil: 10 * minute + 30_000 })
  expect(first.events[0]).toMatchObject({ type: 'retry', reason: expect.stringContaining('429') })
  expect(second.events[0]).toMatchObject({
    type: 'retry',
    reason: expect.stringContaining('asked all workers to wait'),
  })
  await clock.advance(10_000)
  await Promise.all([first.done, second.done])
  expect(house.requests).toBe(4)
})

test('FL41 a provider that waits for its service itself closes the key too', async () => {
  const { clock, workers } = fleet()
  const waits: ModelEvent = { type: 'retry', attempt: 2, reason: 'Too many requests', delayMs: 40_000 }
  const house = service((n) => (n === 1 ? [waits, { type: 'text', delta: 'hi' }] : [{ type: 'text', delta: 'hi' }]))
  await read(workers[0]!.limited(house)).done
  await clock.advance(1500)
  const second = read(workers[1]!.limited(house))
  await clock.advance(30_000)
  expect(house.requests).toBe(1)
  await clock.advance(15_000)
  await second.done
})

test('FL42 a request that waits can be aborted, and is not sent', async () => {
  const { clock, workers } = fleet({ 'house:m': { requestsPerMinute: 1 } })
  const house = service()
  await read(workers[0]!.limited(house)).done
  const controller = new AbortController()
  const waiting = read(workers[0]!.limited(house), controller.signal)
  await clock.advance(1000)
  controller.abort(new Error('stopped by a person'))
  await expect(waiting.done).rejects.toThrow('stopped by a person')
  await clock.advance(2 * minute)
  expect(house.requests).toBe(1)
  expect(clock.pending).toBe(0)
})

test('FL42 other errors pass, and a reply that has begun is not sent again', async () => {
  const { workers } = fleet()
  const broken = service(() => new Error('the model is gone'))
  await expect(read(workers[0]!.limited(broken)).done).rejects.toThrow('the model is gone')
  const cut: Provider = {
    ...service(),
    async *stream() {
      yield { type: 'text', delta: 'half' }
      throw new Error('429 1000')
    },
  }
  await expect(read(workers[0]!.limited(cut)).done).rejects.toThrow('429')
})

test('FL98 a service that refuses and names no pause is asked ever more rarely, and for an hour at most', async () => {
  const { clock, workers } = fleet()
  const house = service(() => new Error('429 0'))
  const waiting = read(workers[0]!.limited(house))
  await clock.advance(900)
  expect(house.requests).toBe(1)
  for (let i = 0; i < 62; i++) await clock.advance(minute)
  expect(house.requests).toBeLessThan(75) // six pauses that double, then one a minute
  const error = await waiting.done.catch((error) => error)
  expect(error).toBeInstanceOf(AgentRateLimitError)
  expect(error.message).toMatch(/waited 6[01] minutes/)
})

test('FL42 a request that never gets its turn fails with the time to come back', async () => {
  const { clock, workers } = fleet()
  const house = service(() => new Error('429 1000000'))
  const waiting = read(workers[0]!.limited(house))
  await clock.advance(80 * minute)
  const error = await waiting.done.catch((error) => error)
  expect(error).toBeInstanceOf(AgentRateLimitError)
  expect(error.retryAt).toBeGreaterThan(clock.now() - 20 * minute)
})

test('FL40 a limit that lets nothing pass is refused', () => {
  expect(() => fleet({ x: { requestsPerMinute: 0 } })).toThrow('requestsPerMinute is 0; it must be above 0')
})
