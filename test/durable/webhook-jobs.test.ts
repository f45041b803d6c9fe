import { expect, onTestFinished, test } from 'vitest'
import type { SessionStore } from '../../src/core/store.ts'
import { createAgent } from '../../src/create-agent.ts'
import { createFleet } from '../../src/durable/create-fleet.ts'
import type { WorkOptions } from '../../src/durable/fleet.ts'
import { createWebhook } from '../../src/server/webhooks/webhook-book.ts'
import { createMemoryStore } from '../../src/sessions/stores.ts'
import { type FakeClock, fakeClock, memoryExecution, scripted } from '../../src/testing/index.ts'
import { createWorkflow } from '../../src/workflow/workflow.ts'
import { eventually } from '../postgres-kit.ts'
import { openReceiver, type Receiver } from '../server/webhook-receiver.ts'
import { definition } from '../workflow/kit.ts'
import { losableDispatcher } from './fleet-kit.ts'

const secret = `whsec_${Buffer.alloc(24, 5).toString('base64')}`

/** A fleet whose workers deliver to webhooks, and a receiver of one tenant or of all. */
async function webhookFleet({ tenant }: { readonly tenant?: string } = {}) {
  const clock = fakeClock(Date.now()) // the verifier looks at the time
  const store = countedStore(createMemoryStore({ clock }))
  const dispatcher = losableDispatcher(clock)
  const errors: Error[] = []
  const fleet = createFleet({
    ...{ store, dispatcher, clock, onError: (error: Error) => void errors.push(error) },
    kinds: { coder: ({ session }) => createAgent({ provider: scripted('Done.'), session, clock }) },
    webhooks: { allowPrivate: ['127.0.0.1'] },
    workflow: (given) =>
      createWorkflow({
        ...{ ...given, provider: scripted('Done.') },
        ...{ definitions: [definition()], execution: memoryExecution() },
      }),
  })
  onTestFinished(() => fleet.close())
  const receiver = await openReceiver()
  const { url } = receiver
  await createWebhook(store, { url, events: ['run_ended'], secret, createdAt: clock.now() }, { tenant, clock })
  const work = async (options?: WorkOptions) => {
    const worker = fleet.work(options)
    await settled(dispatcher, clock) // it knows the webhook from now on
    return worker
  }
  const send = (id: string, more: object = {}) => fleet.send(id, { kind: 'coder', prompt: 'Hi', ...more })
  return { fleet, store, dispatcher, clock, errors, receiver, work, send, settled: () => settled(dispatcher, clock) }
}

/** Waits until no job is due or claimed, without advancing the time. */
const settled = ({ stats }: ReturnType<typeof losableDispatcher>, clock: FakeClock): Promise<void> =>
  eventually(async () => {
    await clock.advance(0)
    const { waiting, claimed } = await stats!()
    return waiting === 0 && claimed === 0
  })

/** A store that counts how it is asked for sessions. */
function countedStore(store: SessionStore): SessionStore & { calls: number } {
  const counted = { ...store, calls: 0 }
  for (const name of ['list', 'find', 'read', 'lease', 'append'] as const) {
    const method = store[name] as (...given: unknown[]) => unknown
    const count = (...given: unknown[]): unknown => {
      counted.calls++
      return method(...given)
    }
    Object.assign(counted, { [name]: count })
  }
  return counted
}

const sessions = ({ received }: Receiver): readonly string[] => received.map(({ body }) => body.data.session)

test('FL55 when a run ends on a worker, a job tells the webhooks: of plain sessions, and of agents of a workflow', async () => {
  const { fleet, receiver, work, send, settled, errors, dispatcher } = await webhookFleet()
  await work()
  await send('one')
  await eventually(() => receiver.received.length === 1)
  expect(receiver.verified(secret)).toMatchObject([
    { type: 'run_ended', data: { session: 'one', status: 'completed' } },
  ])
  const { id } = await fleet.workflow.createAgent('helper')
  await fleet.workflow.sendMsgToAgent(id, 'Hello')
  await eventually(() => receiver.received.length === 2)
  await settled()
  expect(sessions(receiver)).toEqual(['one', id])
  expect(await dispatcher.stats!()).toMatchObject({ waiting: 0, claimed: 0, later: 1 }) // the next sweep
  expect(errors).toEqual([])
})

test('FL56 an event whose job was lost is found by the sweep, once for the whole fleet', async () => {
  const { receiver, work, send, clock, dispatcher, settled } = await webhookFleet()
  await work()
  await work()
  const { wake } = dispatcher
  dispatcher.wake = async (id, options) => {
    if (!id.startsWith('libero.webhooks.')) await wake(id, options) // what tells of an event is lost
  }
  await send('one')
  await settled()
  expect(receiver.received).toEqual([])
  dispatcher.wake = wake
  dispatcher.lose()
  for (let second = 0; second < 260; second += 20) {
    await clock.advance(20_000)
    await settled()
  }
  expect(sessions(receiver)).toEqual(['one'])
})

test('FL57 a receiver that fails holds no slot and no memory: its event is tried again later, by any worker, in order', async () => {
  const { receiver, work, send, clock, dispatcher, settled, errors } = await webhookFleet()
  receiver.answer = (_, response) => void response.writeHead(500).end()
  const first = await work({ concurrency: 1 })
  await send('one')
  await eventually(() => receiver.received.length === 1)
  await settled()
  expect(await dispatcher.stats!()).toMatchObject({ waiting: 0, claimed: 0 })
  await send('one', { prompt: 'Again' })
  await settled()
  expect(receiver.received).toHaveLength(1) // the second event waits for the first, which is not due
  await first.close()
  await work()
  for (let second = 0; second < 60 && receiver.received.length < 3; second++) {
    await clock.advance(1000)
    await settled()
  }
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1)
  receiver.answer = (_, response) => void response.end()
  for (let second = 0; second < 300 && receiver.received.length < 5; second += 5) {
    await clock.advance(5000)
    await settled()
  }
  const [before, after] = receiver.received.slice(-2).map(({ body }) => body.data.seq)
  expect(receiver.received).toHaveLength(5)
  expect(before).toBeLessThan(after)
  expect(errors.map(({ message }) => message)).toEqual([
    expect.stringContaining('its receiver failed'),
    expect.stringContaining('its receiver failed'),
  ])
})

test('FL58 several workers tell a webhook of each event once, although each of them has jobs for it', async () => {
  const { receiver, work, send, clock, settled, errors } = await webhookFleet()
  for (let workers = 0; workers < 3; workers++) await work({ concurrency: 3 })
  const names = Array.from({ length: 12 }, (_, i) => `s${i}`)
  await Promise.all(names.map((name) => send(name)))
  for (let second = 0; second < 40 && receiver.received.length < names.length; second++) {
    await settled()
    await clock.advance(1000)
  }
  await settled()
  expect(sessions(receiver).toSorted()).toEqual(names.toSorted())
  expect(errors).toEqual([])
})

test('FL59 a webhook of a tenant is told of its sessions alone, and idle workers ask the store a few times a minute', async () => {
  const { receiver, work, send, settled, clock, store } = await webhookFleet({ tenant: 'acme' })
  await work()
  await send('other.one', { tenant: 'other' })
  await send('acme.one', { tenant: 'acme' })
  await eventually(() => receiver.received.length === 1)
  await settled()
  expect(sessions(receiver)).toEqual(['one'])
  await clock.advance(60_000)
  await settled()
  store.calls = 0
  await clock.advance(60_000)
  await settled()
  expect(store.calls).toBeLessThan(120) // two a second, with all that a worker looks for
  expect(receiver.received).toHaveLength(1)
})
