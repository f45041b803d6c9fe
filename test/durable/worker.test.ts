import { expect, onTestFinished, test } from 'vitest'
import { createAgent } from '../../src/create-agent.ts'
import { createFleet } from '../../src/durable/create-fleet.ts'
import { inProcessDispatcher } from '../../src/durable/dispatchers/in-process.ts'
import { createSqliteStore } from '../../src/sessions/stores.ts'
import { fakeClock, scripted } from '../../src/testing/index.ts'
import { eventually } from '../postgres-kit.ts'
import { temporary } from '../temporary.ts'
import { fleetKit, gate, losableDispatcher, saidIn } from './fleet-kit.ts'

test('FL12 all jobs may be deleted at any time: every session still ends', async () => {
  const clock = fakeClock(1_000_000)
  const dispatcher = losableDispatcher(clock)
  const { fleet, store, said } = fleetKit({
    ...{ clock, dispatcher },
    kinds: {
      coder: ({ session }) =>
        createAgent({
          provider: scripted(
            () => thinking(),
            () => thinking(),
          ),
          session,
          clock,
        }),
    },
  })
  const thinking = (): Promise<string> => new Promise((resolve) => void clock.timer(700, () => resolve('Done.')))
  for (let i = 0; i < 20; i++) await fleet.send(`s${i}`, { kind: 'coder', prompt: 'One' })
  fleet.work({ concurrency: 4 })
  for (let i = 0; i < 20; i++) {
    await fleet.send(`s${i}`, { prompt: 'Two' })
    if (i % 4 === 0) dispatcher.lose()
    await clock.advance(500)
  }
  dispatcher.lose()
  const isOver = async (): Promise<boolean> => {
    await clock.advance(5000)
    const left = [await store.list({ attention: true }), await store.list({ status: 'working' })]
    return left.every(({ sessions }) => sessions.length === 0)
  }
  for (let tries = 0; !(await isOver()); tries++) expect(tries).toBeLessThan(40)
  for (let i = 0; i < 20; i++)
    expect((await said(`s${i}`)).toSorted()).toEqual(['assistant: Done.', 'assistant: Done.', 'user: One', 'user: Two'])
})

test('FL13 a worker that drains lets runs end, leaves the others, and another continues them at once, without a crash', async () => {
  const short = gate()
  const begun: string[] = []
  const { fleet, clock, until, answered, entries, store } = fleetKit({
    kinds: {
      coder: ({ session }) => {
        begun.push(session.id)
        const isSecond = begun.filter((id) => id === session.id).length > 1
        const think = session.id === 'short' ? short.opened : new Promise<void>(() => {})
        return createAgent({
          provider: scripted(isSecond ? 'Continued.' : () => think.then(() => 'Done.')),
          session,
          clock,
        })
      },
    },
  })
  const first = fleet.work()
  await fleet.send('short', { kind: 'coder', prompt: 'Hi' })
  await fleet.send('long', { kind: 'coder', prompt: 'Hi' })
  await until(() => begun.length === 2 && first.session('long') !== undefined && first.session('short') !== undefined)
  const draining = first.drain({ graceMs: 5000 })
  await fleet.send('new', { kind: 'coder', prompt: 'Hi' })
  short.open()
  await answered('short')
  expect(first.status()).toMatchObject({ state: 'draining', running: 1 })
  await clock.advance(4900)
  expect(begun).not.toContain('new')
  await clock.advance(200)
  await draining
  expect(first.status()).toMatchObject({ state: 'closed', running: 0, left: 1 })
  expect((await entries('short')).filter(({ type }) => type === 'run_ended')).toMatchObject([{ status: 'completed' }])
  expect(await store.find('long')).toMatchObject({ status: 'interrupted' })

  fleet.work()
  await answered('long') // without any time that passes
  const ends = (await entries('long')).flatMap((entry) => (entry.type === 'run_ended' ? [entry.status] : []))
  expect(ends).toEqual(['left', 'completed'])
  expect(await store.find('long')).not.toHaveProperty('suspicions')
})

test('FL14 a message for later is sent when its time has come, once, also if all jobs are lost', async () => {
  const clock = fakeClock(1_000_000)
  const dispatcher = losableDispatcher(clock)
  const { fleet, store, said, until, answered } = fleetKit({ clock, dispatcher, steps: ['One.', 'Two.'] })
  fleet.work()
  const later = clock.now() + 180_000
  await fleet.send('s', { kind: 'coder', tenant: 'acme', prompt: 'Wake up', clientKey: 'k', at: later })
  await fleet.send('s', { kind: 'coder', tenant: 'acme', prompt: 'Wake up', clientKey: 'k', at: later })
  dispatcher.lose()
  await clock.advance(60_000)
  expect(await store.find('s')).toBeUndefined()
  await clock.advance(120_000 + 6000)
  await answered('s')
  await until(async () => (await store.list({ prefix: 'libero.later.' })).sessions.length === 0)
  await clock.advance(60_000)
  expect(await said('s')).toEqual(['user: Wake up', 'assistant: One.'])
  expect(await store.find('s')).toMatchObject({ kind: 'coder', tenant: 'acme' })

  await fleet.send('t', { kind: 'coder', prompt: 'Soon', at: clock.now() + 3000 })
  await clock.advance(3000) // its job is due: it does not wait for the next look
  await answered('t')
})

test('FL15 a tenant has no more runs than its limit, and others go on', async () => {
  const open = gate()
  const running = new Map<string, number>()
  let most = 0
  const { fleet, until, clock } = fleetKit({
    limits: { tenants: { default: 2 } },
    kinds: {
      coder: ({ session, tenant = '' }) => {
        const count = (running.get(tenant) ?? 0) + 1
        running.set(tenant, count)
        most = Math.max(most, count)
        const agent = createAgent({ provider: scripted(() => open.opened.then(() => 'Done.')), session, clock })
        const close = (): Promise<void> => {
          running.set(tenant, running.get(tenant)! - 1)
          return agent.destroy()
        }
        return { agent, close }
      },
    },
  })
  for (let i = 0; i < 10; i++) await fleet.send(`a${i}`, { kind: 'coder', tenant: 'flood', prompt: 'Hi' })
  await fleet.send('b', { kind: 'coder', tenant: 'other', prompt: 'Hi' })
  const worker = fleet.work({ concurrency: 20 })
  await until(() => running.get('other') === 1 && running.get('flood') === 2)
  open.open()
  await until(() => worker.status().runs === 11 && worker.status().running === 0)
  expect(most).toBe(2)
})

test('FL16 a queue that fails for a while stops nothing: the worker tries again', async () => {
  const clock = fakeClock(1_000_000)
  const inner = inProcessDispatcher({ clock })
  let isDown = true
  const unlessDown = async (): Promise<void> => {
    if (isDown) throw new Error('the queue is down')
  }
  const { fleet, store, errors, said, answered } = fleetKit({
    ...{ clock, steps: ['Hello.'], mayFail: true },
    dispatcher: {
      ...inner,
      claim: (free, options) => unlessDown().then(() => inner.claim(free, options)),
      settle: (jobs) => unlessDown().then(() => inner.settle(jobs)),
    },
  })
  await fleet.send('s', { kind: 'coder', prompt: 'Hi' })
  const worker = fleet.work()
  await clock.advance(5000)
  expect(errors[0]?.message).toContain('could not claim or settle jobs')
  expect((await store.find('s'))?.turns).toBe(0)
  isDown = false
  await clock.advance(3000)
  await answered('s')
  expect(await said('s')).toEqual(['user: Hi', 'assistant: Hello.'])
  expect(worker.status().done).toBe(1)
})

test('FL17 the same program runs on a laptop: a new process answers what an earlier one left in its SQLite file', async () => {
  const path = `${await temporary('fleet-')}/fleet.db`
  const open = (provider = scripted('Hello.')) => {
    const fleet = createFleet({
      store: createSqliteStore({ path }),
      dispatcher: inProcessDispatcher(),
      kinds: { coder: ({ session }) => createAgent({ provider, session }) },
    })
    onTestFinished(() => fleet.close())
    return fleet
  }
  const first = open()
  await first.send('s', { kind: 'coder', prompt: 'Hi' })
  await first.close() // its jobs are gone
  const second = open()
  const worker = second.work()
  await eventually(() => worker.status().done === 1 && worker.status().running === 0)
  expect(await saidIn(second.store, 's')).toEqual(['user: Hi', 'assistant: Hello.'])
})
