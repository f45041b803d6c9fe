import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import type { SessionStore } from '../../src/core/store.ts'
import type { SessionEvent } from '../../src/events/event-queue.ts'
import { readEvents } from '../../src/events/read-events.ts'
import { createMemoryStore } from '../../src/index.ts'
import { joinLocalRuns } from '../../src/rpc/join-local-runs.ts'
import { createRemoteStore } from '../../src/sessions/remote-store.ts'
import { createStoreHandler } from '../../src/sessions/store-handler.ts'
import { emptyView, foldEntries, foldEvents } from '../../src/view/session-view.ts'
import { withPostgres } from '../postgres-kit.ts'
import { testInTurns } from '../soak.ts'
import { socketFetch, storeServer } from '../store-server.ts'
import { temporary } from '../temporary.ts'
import { withoutLive } from '../view/random-log.ts'
import { startWriter } from './start-writer.ts'
import { openStore, type StoreSpec } from './stores.ts'

const test = testInTurns(2)

/** The store of the reader, and how the process that writes opens it. */
type Place = () => Promise<{ readonly store: SessionStore; readonly spec: StoreSpec }>

/** Another process writes a session, and waits in the middle of its answer for a second reader. */
async function story(place: Place): Promise<void> {
  const { store, spec } = await place()
  onTestFinished(() => store.close?.())
  const offers = join(await temporary('ve-'), 'run')
  const read = (after: number) => readEvents(store, 's', { after, join: joinLocalRuns({ folder: offers }) })
  const all: SessionEvent[] = []
  const late: SessionEvent[] = []
  const follow = async (events: AsyncIterable<SessionEvent>, into: SessionEvent[]): Promise<void> => {
    for await (const event of events) {
      into.push(event)
      if (event.durable && event.entry.type === 'run_ended') return
    }
  }
  const readings: Promise<void>[] = []
  const writer = startWriter({ store: spec, offers, write: 's' })
  const steps: Record<string, () => Promise<void>> = {
    'is there': async () => {
      readings.push(follow(read(0), all))
    },
    'has joined': () => until(() => all.some((event) => event.durable && event.entry.type === 'attempt')),
    'has half of it': async () => {
      const { head } = (await store.find('s'))!
      readings.push(follow(read(head), late)) // as one that lost its connection
      await until(() => late.some(({ durable }) => !durable))
    },
  }
  const signal = await writer.ended(async (step) => {
    await steps[step]!()
    writer.child.send('go on')
  })
  await Promise.all(readings)
  expect(signal).toBe(null)

  const entries = await store.read('s')
  expect(durableOf(all)).toEqual(entries)
  expect(entries.find(({ type }) => type === 'call_result')).toMatchObject({ output: 'water '.repeat(60_000) })
  expect(withoutLive(foldEvents(emptyView, all))).toEqual(withoutLive(foldEntries(emptyView, entries)))

  const [first, ...rest] = late
  expect(first).toMatchObject({ type: 'snapshot', reply: { text: expect.stringMatching(/^It is a lake.{80,}/) } })
  const streamed = rest.flatMap((event) => (!event.durable && event.type === 'text' ? [event.delta] : []))
  const shown = first?.durable === false && first.type === 'snapshot' ? first.reply.text + streamed.join('') : ''
  // What comes after the entry of the whole answer is not shown.
  expect('It is a lake, and it is deep, and there are fish in it. '.repeat(4).startsWith(shown)).toBe(true)
  expect(durableOf(late)).toEqual(entries.slice(-durableOf(late).length))
}

const durableOf = (events: readonly SessionEvent[]) => events.flatMap((event) => (event.durable ? [event.entry] : []))
const until = (isTrue: () => boolean): Promise<void> => expect.poll(isTrue, { timeout: 20_000, interval: 5 }).toBe(true)

test.for(['SQLite', 'JSONL'] as const)('VE02 VE03 another process reads a session live: %s', async (kind) => {
  await story(async () => {
    const spec = { kind, folder: await temporary('ve-') }
    return { store: await openStore(spec), spec }
  })
})

test('VE02 VE03 another process reads a session live: a remote store', async () => {
  await story(async () => {
    const token = 'correct-horse-battery'
    const { url } = await storeServer(createStoreHandler({ store: createMemoryStore(), token }))
    return { store: createRemoteStore({ url, token, fetch: socketFetch }), spec: { kind: 'remote', url, token } }
  })
})

withPostgres('VE02 VE03 another process reads a session live', (kit) => {
  test('VE02 VE03 another process reads a session live: Postgres', async () => {
    await story(async () => {
      const store = kit.openNew()
      return { store, spec: { kind: 'Postgres', url: kit.server.url(), schema: kit.schema } }
    })
  })
})
