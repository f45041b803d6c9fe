import { expect, onTestFinished, test } from 'vitest'
import { createRemoteClient, type RemoteEvent, type RemoteProblem } from '../../src/client/index.ts'
import { type FakeClock, fakeClock } from '../../src/testing/index.ts'
import { emptyView, foldEvent } from '../../src/view/session-view.ts'
import { playedServer, refusal } from './played-server.ts'

test('SV45 a connection that is silent for 40 seconds is left, and the next one goes on behind the last entry', async () => {
  const { server, clock, events, told } = play()
  const first = await server.connection()
  first.entry(1)
  await until(clock, () => told.length === 1)
  await clock.advance(39_000)
  first.tell('beat', { head: 1 })
  await settled(clock)
  await clock.advance(39_000)
  expect(server.opened).toBe(1)
  await clock.advance(2_000)
  const second = await server.connection()
  expect(second.url.searchParams.get('after')).toBe('1')
  expect(first.init.signal?.aborted).toBe(true)
  second.entry(2)
  await until(clock, () => told.length === 2)
  await events.return()
  expect([told.map(seqOf), clock.pending]).toEqual([[1, 2], 0])
})

test('SV45 a server that cannot be reached is asked again for ever, at most every 30 seconds, until the signal aborts', async () => {
  const down = Array.from({ length: 200 }, () => () => {
    throw new TypeError('refused')
  })
  const stop = new AbortController()
  const problems: (string | undefined)[] = []
  const clock = fakeClock()
  const { fetch, requests } = playedServer(...down)
  const client = createRemoteClient({ url: 'http://127.0.0.1:1', fetch, clock })
  const onConnection = (problem: RemoteProblem | undefined) => void problems.push(problem?.code)
  const next = client.events('s', { signal: stop.signal, onConnection }).next()
  for (let minute = 0; minute < 20; minute++) await clock.advance(60_000)
  // Half of 30 seconds at least, after the first few.
  expect(requests.length).toBeGreaterThan(40)
  expect(requests.length).toBeLessThan(95)
  expect(new Set(problems)).toEqual(new Set(['no_connection']))
  stop.abort()
  expect(await next).toEqual({ done: true, value: undefined })
  expect(clock.pending).toBe(0)
})

test('SV45 return() ends the events at once, also while the server says nothing', async () => {
  const { server, clock, events } = play()
  await server.connection()
  await settled(clock)
  expect(await events.return()).toEqual({ done: true, value: undefined })
  expect(clock.pending).toBe(0)
})

test('SV45 a slow reader is not taken for a silent server', async () => {
  const clock = fakeClock()
  const server = playedServer()
  const client = createRemoteClient({ url: 'http://127.0.0.1:1', fetch: server.fetch, clock })
  const events = client.events('s')
  const first = events.next()
  const connection = await server.connection()
  connection.entry(1)
  connection.entry(2)
  expect(seqOf((await first).value!)).toBe(1)
  await clock.advance(600_000)
  expect(seqOf((await events.next()).value!)).toBe(2)
  expect(server.opened).toBe(1)
  await events.return()
})

test('SV46 an entry that comes again is left out, and behind a missing one the client comes back for it', async () => {
  const { server, clock, events, told } = play()
  const first = await server.connection()
  for (const seq of [1, 2, 2, 1, 4]) first.entry(seq)
  await until(clock, () => server.opened === 2)
  const second = await server.connection()
  expect(second.url.searchParams.get('after')).toBe('2')
  for (const seq of [2, 3, 4]) second.entry(seq)
  await until(clock, () => told.length === 4)
  expect(told.map(seqOf)).toEqual([1, 2, 3, 4])
  await events.return()
})

test('SV46 what was streamed before a reply that the reader has is void; a reply goes on after other entries, and what was lost is told', async () => {
  const { server, clock, events, told } = play()
  const first = await server.connection()
  const say = (after: number, delta: string): void =>
    first.tell('delta', { durable: false, type: 'text', after, n: 1, turnId: 't', attempt: 1, delta })
  const turn = { id: 't', runId: 'r', role: 'assistant', createdAt: 0, content: [] }
  first.entry(1)
  say(1, 'a')
  first.entry(2)
  say(1, 'b')
  first.tell('entry', { durable: true, seq: 3, entry: { type: 'turn', seq: 3, id: 'e3', at: 3, turn } })
  say(2, 'late')
  first.tell('gap', { durable: false, type: 'gap', after: 2, lost: 3 })
  say(3, 'c')
  await until(clock, () => told.length === 7)
  const shown = told.map((event) => (event.durable ? event.seq : event.type === 'text' ? event.delta : event.type))
  expect(shown).toEqual([1, 'a', 2, 'b', 3, 'gap', 'c'])
  await events.return()
})

test('SV46 sub-agents are sent anew with each connection, and each of their entries is told once', async () => {
  const { server, clock, events, told } = play({ children: true })
  const child = (seq: number): unknown => ({
    session: 's/c',
    depth: 1,
    event: 'entry',
    seq,
    data: { durable: true, seq, entry: { type: 'label', seq, at: 1, text: '' } },
  })
  const first = await server.connection()
  first.entry(1)
  for (const seq of [1, 2]) first.tell('child', child(seq))
  await until(clock, () => told.length === 3)
  first.lose()
  await until(clock, () => server.opened === 2)
  const second = await server.connection()
  expect(second.url.search).toBe('?after=1&children=true')
  for (const seq of [1, 2, 3]) second.tell('child', child(seq))
  await until(clock, () => told.length === 4)
  expect(
    told
      .slice(1)
      .map((event) =>
        event.durable || event.type !== 'child' ? event : [event.child.id, event.event.durable && event.event.seq],
      ),
  ).toEqual([
    ['s/c', 1],
    ['s/c', 2],
    ['s/c', 3],
  ])
  expect(told.reduce(foldEvent, emptyView).children.map(({ id, depth, view }) => [id, depth, view.head])).toEqual([
    ['s/c', 1, 3],
  ])
  await events.return()
})

test('SV46 with types, holes are as they should be, and an event that is no JSON costs one connection', async () => {
  const { server, clock, events, told } = play({ types: ['label'], deltas: false, after: 3 })
  const first = await server.connection()
  expect(first.url.search).toBe('?after=3&deltas=false&types=label')
  first.entry(7)
  first.tell('failed', { error: 'the store is gone' })
  await until(clock, () => server.opened === 2)
  const second = await server.connection()
  expect(second.url.searchParams.get('after')).toBe('7')
  second.entry(12)
  await until(clock, () => told.length === 2)
  expect(told.map(seqOf)).toEqual([7, 12])
  await events.return()
})

test('SV47 events end with the problem where coming back is of no use: no session, a wrong token, too many entries', async () => {
  for (const [status, code] of [
    [404, 'no_session'],
    [401, 'unauthenticated'],
    [403, 'scope_missing'],
    [409, 'beyond_head'],
    [429, 'too_many_guesses'],
  ] as const) {
    const server = playedServer(() => refusal(status, code))
    const client = createRemoteClient({ url: 'http://127.0.0.1:1', fetch: server.fetch, clock: fakeClock() })
    await expect(client.events('s').next()).rejects.toMatchObject({ status, code })
    expect(server.requests).toHaveLength(1)
  }
})

test('SV47 a stream that is one too many is asked for again when the server says', async () => {
  const { server, clock, events, told } = play({}, () => refusal(429, 'too_many_streams', { 'retry-after': '5' }))
  await settled(clock)
  await clock.advance(4_900)
  expect(server.requests).toHaveLength(1)
  await clock.advance(200)
  const connection = await server.connection()
  connection.entry(1)
  await until(clock, () => told.length === 1)
  await events.return()
})

/** A client that follows a played server. */
function play(
  options: Parameters<ReturnType<typeof createRemoteClient>['events']>[1] = {},
  ...answers: (() => Response)[]
) {
  const clock = fakeClock()
  const server = playedServer(...answers)
  const client = createRemoteClient({ url: 'http://127.0.0.1:1', fetch: server.fetch, clock })
  const events = client.events('s', options)
  const told: RemoteEvent[] = []
  const following = (async () => {
    for await (const event of events) told.push(event)
  })()
  onTestFinished(() => following)
  return { server, clock, events, told }
}

const settled = (clock: FakeClock): Promise<void> => clock.advance(0)

/** Lets a second pass at a time, for a client that waits before it comes back. */
async function until(clock: FakeClock, isSo: () => boolean): Promise<void> {
  for (let i = 0; i < 30 && !isSo(); i++) await clock.advance(i < 10 ? 0 : 1_000)
  expect(isSo()).toBe(true)
}

const seqOf = (event: RemoteEvent): number => (event.durable ? event.seq : -1)
