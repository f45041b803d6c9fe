import { expect, onTestFinished, test } from 'vitest'
import { checkServe } from '../../src/cli/commands/serve.ts'
import type { Clock } from '../../src/core/clock.ts'
import type { SessionStore, SessionSummary } from '../../src/core/store.ts'
import { createAgent } from '../../src/create-agent.ts'
import type { Dispatcher, Job } from '../../src/durable/dispatcher.ts'
import { inProcessDispatcher } from '../../src/durable/dispatchers/in-process.ts'
import { Reconciler } from '../../src/durable/reconciler.ts'
import { createServer as createLiberoServer } from '../../src/server/create-server.ts'
import { createSession, loadSession } from '../../src/sessions/session.ts'
import { createMemoryStore } from '../../src/sessions/stores.ts'
import { call, fakeClock, scripted, tool } from '../../src/testing/index.ts'
import { createWorkflow } from '../../src/workflow/workflow.ts'
import { eventually } from '../postgres-kit.ts'
import { fleetKit, gate } from './fleet-kit.ts'

test('FL79 a suspect that a work runs itself is alone until it makes progress, not until its job is over', async () => {
  const thinking = gate()
  const last = gate()
  const provider = scripted(
    () => thinking.opened.then(() => [call('c1', 'look')]),
    () => last.opened.then(() => 'Done.'),
  )
  const { fleet, said, until } = fleetKit({
    works: [
      {
        ...{ kind: 'own', runsSessions: true, owns: (_, kind) => kind === 'own' },
        async work({ sessionId }, { store, admit }) {
          if (!(await admit({ ...(await store.find(sessionId))!, suspicions: 3 }))) throw new Error('it was refused')
          const session = await loadSession(store, sessionId)
          await createAgent({ session, provider, tools: { look: tool('look', async () => 'nothing') } }).run()
        },
      },
    ],
  })
  const worker = fleet.work()
  await fleet.send('s', { kind: 'own', prompt: 'Hi' })
  await until(() => provider.requests.length === 1)
  expect(worker.status().alone).toBe('s')
  thinking.open()
  await until(() => worker.status().alone === undefined)
  expect(worker.status().running).toBe(1)
  last.open()
  await until(() => worker.status().running === 0)
  expect((await said('s')).at(-1)).toBe('assistant: Done.')
})

test('FL80 sessions without a job are found also if there are more of them than one look reads', async () => {
  const clock = fakeClock(1_000_000)
  const all = Array.from({ length: 4500 }, (_, i) => ({ id: `s${i}`, head: 1, attention: 'answered' }))
  const store = {
    async list({ limit = 0, cursor = '0' }) {
      const end = Number(cursor) + limit
      return { sessions: all.slice(Number(cursor), end), ...(end < all.length && { next: String(end) }) }
    },
  } as unknown as SessionStore
  const woken = new Map<string, number>()
  let most = 0
  let inThisLook = 0
  const reconciler = new Reconciler({
    ...{ store, clock, isFull: () => false, isOwn: () => true },
    wake: async ({ id }: SessionSummary) => {
      woken.set(id, (woken.get(id) ?? 0) + 1)
      most = Math.max(most, ++inThisLook)
    },
    alsoLook: async () => {
      inThisLook = 0
    },
    onError: (error) => {
      throw error
    },
  })
  reconciler.start()
  for (let looks = 0; woken.size < all.length; looks++) {
    expect(looks).toBeLessThan(100)
    await clock.advance(6000)
  }
  expect(most).toBeLessThanOrEqual(400) // a look is bounded, whatever has gathered
  await reconciler.stop()
})

test('FL81 a message for later that no session can get is reported once and dropped', async () => {
  const { fleet, store, clock, errors, answered } = fleetKit({ steps: ['Hello.'], mayFail: true })
  fleet.work()
  const at = clock.now() + 10_000
  await expect(fleet.send('nowhere', { prompt: 'Hi', at })).rejects.toThrow('There is no session "nowhere"')
  for (const wrong of [Number.NaN, Number.POSITIVE_INFINITY, 1e300])
    await expect(fleet.send('s', { kind: 'coder', prompt: 'Hi', at: wrong })).rejects.toThrow('milliseconds since 1970')
  await fleet.send('s', { kind: 'coder', tenant: 'acme', prompt: 'Now' })
  await answered('s')
  await fleet.send('s', { prompt: 'Later', at })
  await store.delete('s')
  await clock.advance(30_000)
  expect(errors.map(({ message }) => message)).toEqual(['A message for later to session "s" is dropped'])
  expect(errors[0]!.cause).toMatchObject({ message: expect.stringContaining('There is no session "s"') })
  expect((await store.list({ prefix: 'libero.later.' })).sessions).toEqual([])
})

test('FL96 a message for later that is just being stored is not taken for an empty one', async () => {
  const { fleet, store, clock, answered } = fleetKit({ steps: ['Hello.'] })
  fleet.work()
  const make = (id: string) =>
    createSession({ store, id: `libero.later.0000000000000001.${id}`, kind: 'libero.later', clock })
  const [slow, dead] = [await make('slow'), await make('dead')] // their senders have written the first of two entries
  for (const session of [slow, dead]) await session.save()
  await clock.advance(30_000)
  const item = { clientKey: 'k', mode: 'followUp', content: [{ type: 'text', text: 'Hi' }] }
  await slow.setState('fleet:later', { sessionId: 's', kind: 'coder', item, at: 1 })
  await clock.advance(6000)
  await answered('s')
  await clock.advance(60_000)
  expect((await store.list({ prefix: 'libero.later.' })).sessions).toEqual([])
})

test('FL82 an onError that throws ends no worker', async () => {
  const clock = fakeClock(1_000_000)
  const inner = inProcessDispatcher({ clock })
  let failures = 3
  const told: unknown[] = []
  const { error } = console
  console.error = (...parts) => void told.push(parts)
  onTestFinished(() => {
    console.error = error
  })
  const { fleet, answered } = fleetKit({
    ...{ clock, steps: ['Hello.'] },
    dispatcher: {
      ...inner,
      async claim(free, options) {
        if (failures-- > 0) throw new Error('the queue is down')
        return inner.claim(free, options)
      },
    },
    onError: () => {
      throw new Error('the log of the host is full')
    },
  })
  fleet.work()
  await fleet.send('s', { kind: 'coder', prompt: 'Hi' })
  await clock.advance(10_000)
  await answered('s')
  expect(told).toHaveLength(3)
})

test('FL83 a worker opens one agent for a session at a time, and one that is never opened is told in its log', async () => {
  const clock = fakeClock(1_000_000)
  let opened = 0
  let closed = 0
  const late = Promise.withResolvers<void>()
  const { fleet, entries, errors } = fleetKit({
    ...{ clock, dispatcher: hastyDispatcher(clock), mayFail: true },
    kinds: {
      coder: async ({ session }) => {
        opened++
        await late.promise
        const agent = createAgent({ provider: scripted('Hello.'), session, clock })
        return {
          agent,
          async close() {
            closed++
            await agent.destroy()
          },
        }
      },
    },
  })
  const worker = fleet.work()
  await fleet.send('s', { kind: 'coder', prompt: 'Hi' })
  await clock.advance(60_000)
  await fleet.wake('s')
  await clock.advance(60_000)
  expect([opened, worker.status().running]).toEqual([1, 1])
  await clock.advance(185_000)
  const last = (await entries('s')).at(-1)
  expect(last).toMatchObject({
    type: 'run_ended',
    status: 'error',
    error: { message: expect.stringContaining('5 minutes') },
  })
  expect(errors[0]?.message).toContain('Session "s" could not be worked on')
  late.resolve()
  await eventually(async () => closed === 1)
})

/** A queue that gives a session to a worker that has it already, as pg-boss does. */
function hastyDispatcher(clock: Clock): Dispatcher {
  const waiting = new Map<string, Job>()
  return {
    extendEveryMs: 3000,
    async wake(sessionId, { kind, tenant = '', at = 0 }) {
      waiting.set(sessionId, { sessionId, kind, tenant, attempt: 1, dueAt: at })
    },
    async claim(free) {
      const jobs = [...waiting.values()].filter(({ dueAt }) => dueAt <= clock.now()).slice(0, free)
      for (const { sessionId } of jobs) waiting.delete(sessionId)
      return jobs
    },
    async extend() {},
    async settle() {},
    async close() {},
  }
}

test('FL84 a worker closes although its store does not answer', async () => {
  const clock = fakeClock(1_000_000)
  const inner = createMemoryStore({ clock })
  let isHanging = false
  const store: SessionStore = {
    ...inner,
    list: (query) => (isHanging ? new Promise<never>(() => {}) : inner.list(query)),
  }
  const { fleet } = fleetKit({ clock, store })
  const worker = fleet.work()
  await clock.advance(0)
  isHanging = true
  await clock.advance(6000)
  const closing = worker.close()
  await clock.advance(11_000)
  await closing
  expect(worker.status().state).toBe('closed')
})

test('FL97 a worker that closes while it claims jobs gives them back before it is closed', async () => {
  const clock = fakeClock(1_000_000)
  const inner = inProcessDispatcher({ clock })
  const [asked, answer] = [gate(), gate()]
  const memory = createMemoryStore({ clock })
  const { fleet } = fleetKit({
    clock,
    store: { ...memory, find: async (id) => new Promise((resolve) => setTimeout(() => resolve(memory.find(id)), 20)) },
    dispatcher: {
      ...inner,
      async claim(free, options) {
        const jobs = await inner.claim(free, options)
        if (jobs.length === 0) return jobs
        asked.open()
        await answer.opened
        return jobs
      },
    },
  })
  await fleet.send('s', { kind: 'coder', prompt: 'Hi' })
  const worker = fleet.work()
  await asked.opened
  const closing = worker.close()
  answer.open()
  await closing
  expect(await inner.stats!()).toMatchObject({ waiting: 1, claimed: 0 })
})

test('FL86 a server in front makes sessions of the kinds that its fleet has; without a kind, of the first', async () => {
  const { fleet, answered } = fleetKit({ steps: ['Hello.'] })
  fleet.work()
  const token = 'a-token-of-more-than-thirty-two-letters'
  const server = createLiberoServer({ store: fleet.store, fleet, auth: { token }, allowedHosts: ['localhost'] })
  onTestFinished(() => server.close())
  const post = async (body: unknown): Promise<Response> =>
    server.fetch(
      new Request('http://localhost/v1/sessions', {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      }),
    )
  const refused = await post({ kind: 'painter', message: 'Hi' })
  expect(refused.status).toBe(422)
  expect(await refused.json()).toMatchObject({
    code: 'no_kind',
    detail: expect.stringContaining('choose one of coder'),
  })
  expect((await post({ id: 'plain', message: 'Hi' })).status).toBe(201)
  await answered('plain')
})

test('FL87 libero serve --fleet refuses flags that would do nothing', () => {
  expect(checkServe({ fleet: 'fleet.ts', port: '7777' })).toEqual({ fleet: 'fleet.ts', port: '7777' })
  for (const flag of ['model', 'mode', 'profile', 'cwd'])
    expect(() => checkServe({ fleet: 'fleet.ts', [flag]: 'ask' })).toThrow(`--${flag} does not go with --fleet`)
})

test('FL88 a plain session whose id looks like one of an agent is run as its kind says', async () => {
  const { fleet, said, answered } = fleetKit({
    steps: ['Hello.'],
    workflow: (given) => createWorkflow({ ...given, provider: scripted(), definitions: [] }),
  })
  fleet.work()
  await fleet.send('agent-7', { kind: 'coder', prompt: 'Hi' })
  await answered('agent-7')
  expect(await said('agent-7')).toEqual(['user: Hi', 'assistant: Hello.'])
})

test('FL89 a kind with a name of Libero is refused when the fleet is made', () => {
  const kinds = { 'libero.agent': () => Promise.reject(new Error('never called')) }
  expect(() => fleetKit({ kinds })).toThrow('The kind "libero.agent" of createFleet is one of Libero\'s own')
})

test('FL89 a limit of a tenant that is no whole number, or lets no tenant run, is refused when the fleet is made', () => {
  const limitedTo = (limit: number, tenant: string) => () => fleetKit({ limits: { tenants: { [tenant]: limit } } })
  for (const wrong of [Number.NaN, -1, '3' as never, 0.5, 1.5]) {
    expect(limitedTo(wrong, 'default')).toThrow('limits.tenants["default"]')
    expect(limitedTo(wrong, 'acme')).toThrow('limits.tenants["acme"]')
  }
  expect(limitedTo(0, 'default')).toThrow('at least 1, got 0')
  for (const limit of [3, Number.POSITIVE_INFINITY]) expect(limitedTo(limit, 'default')).not.toThrow()
  expect(limitedTo(0, 'acme')).not.toThrow()
})
