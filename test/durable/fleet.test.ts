import { expect, test } from 'vitest'
import { createAuthority } from '../../src/authority/authority.ts'
import type { Provider } from '../../src/core/provider.ts'
import type { SessionQuery } from '../../src/core/store.ts'
import { createAgent } from '../../src/create-agent.ts'
import { createFleet } from '../../src/durable/create-fleet.ts'
import type { Dispatcher } from '../../src/durable/dispatcher.ts'
import { inProcessDispatcher } from '../../src/durable/dispatchers/in-process.ts'
import type { KindRequest } from '../../src/durable/fleet.ts'
import { loadSession, openSession } from '../../src/sessions/session.ts'
import { call, fakeClock, scripted, tool } from '../../src/testing/index.ts'
import { spawn } from '../../src/tools/spawn.ts'
import { fleetKit, gate } from './fleet-kit.ts'

test('FL01 a message makes a session of its kind and tenant, and a worker answers it', async () => {
  const { fleet, store, said, answered } = fleetKit({ steps: ['Hello.'] })
  await fleet.send('s', { kind: 'coder', tenant: 'acme', prompt: 'Hi' })
  expect(await store.find('s')).toMatchObject({ kind: 'coder', tenant: 'acme', attention: 'mail' })
  fleet.work()
  await answered('s')
  expect(await said('s')).toEqual(['user: Hi', 'assistant: Hello.'])
})

test('FL02 two messages with one key are one prompt, also after the first was answered', async () => {
  const { fleet, said, answered, clock } = fleetKit({ steps: ['Hello.', 'Again.'] })
  const message = { kind: 'coder', prompt: 'Hi', clientKey: 'k' }
  expect(await fleet.send('s', message)).toBe('k')
  await fleet.send('s', message)
  fleet.work()
  await answered('s')
  await fleet.send('s', message)
  await clock.advance(60_000)
  expect(await said('s')).toEqual(['user: Hi', 'assistant: Hello.'])
})

test('FL03 a message to a session of another kind or tenant is refused, and so is one to a session that is not there', async () => {
  const { fleet, store } = fleetKit()
  await fleet.send('s', { kind: 'coder', tenant: 'acme', prompt: 'Hi' })
  await expect(fleet.send('s', { kind: 'writer', prompt: 'Hi' })).rejects.toThrow('has the kind "coder"')
  await expect(fleet.send('s', { tenant: 'other', prompt: 'Hi' })).rejects.toThrow('has the tenant "acme"')
  await expect(fleet.send('none', { prompt: 'Hi' })).rejects.toThrow('There is no session "none"')
  await fleet.send('s', { prompt: 'And again' })
  await store.delete('s')
  await expect(fleet.send('s', { prompt: 'Hi' })).rejects.toThrow('There is no session "s"')
  await fleet.send('s', { kind: 'writer', prompt: 'Hi' })
  expect(await store.find('s')).toMatchObject({ kind: 'writer' })
})

test('FL04 a session whose message came without a wake is found, and so is one whose process lost all its jobs', async () => {
  const { fleet, store, answered, clock, said } = fleetKit({ steps: ['One.', 'Two.'] })
  await fleet.send('s', { kind: 'coder', prompt: 'Hi' })
  await fleet.dispatcher.settle(await fleet.dispatcher.claim(1, { kinds: ['coder'], tenantLimits: {} }))
  fleet.work()
  await answered('s')
  await store.send('s', { clientKey: 'k', mode: 'followUp', content: [{ type: 'text', text: 'Still there?' }] })
  await clock.advance(12_000)
  await answered('s', 2)
  expect(await said('s')).toEqual(['user: Hi', 'assistant: One.', 'user: Still there?', 'assistant: Two.'])
})

test.each(['agent:done', 'session:end'] as const)(
  'FL05 a message that comes while a run ends (%s) is answered without waiting for a look',
  async (moment) => {
    let isSent = false
    const kit = fleetKit({
      steps: ['One.', 'Two.'],
      hooks: {
        [moment]: async () => {
          if (!isSent) await kit.fleet.send('s', { prompt: 'Wait!' })
          isSent = true
        },
      },
    })
    await kit.fleet.send('s', { kind: 'coder', prompt: 'Hi' })
    kit.fleet.work()
    await kit.answered('s')
    await kit.clock.advance(2000) // less than the interval of looks
    await kit.answered('s', 2)
    expect(await kit.said('s')).toEqual(['user: Hi', 'assistant: One.', 'user: Wait!', 'assistant: Two.'])
  },
)

test('FL06 a session that waits for an approval has no job and no memory, and an answer of a process without a worker continues it', async () => {
  const secret = new Uint8Array(32).fill(7)
  const provider = scripted([call('c1', 'deploy')], 'Deployed.')
  const deploy = tool('deploy', async () => 'done', { effects: ['exec'] })
  const kinds = {
    coder: ({ session }: KindRequest) =>
      createAgent({
        provider,
        session,
        tools: { deploy },
        authority: createAuthority({ mode: 'ask', answerSecret: secret }),
      }),
  }
  const { fleet, store, clock, until, answered, said } = fleetKit({ kinds })
  const worker = fleet.work()
  await clock.advance(0)
  const idleTimers = clock.pending
  await fleet.send('s', { kind: 'coder', tenant: 'acme', prompt: 'Deploy' })
  await until(async () => (await store.find('s'))?.status === 'waiting' && worker.status().running === 0)
  await clock.advance(60_000)
  expect(await fleet.dispatcher.stats!()).toEqual({ waiting: 0, claimed: 0, later: 0 })
  expect(worker.session('s')).toBeUndefined()
  expect(clock.pending).toBe(idleTimers)

  const front = createFleet({
    ...{ store, dispatcher: fleet.dispatcher, kinds: {}, clock },
    authorityFor: async () => createAuthority({ answerSecret: secret }),
  })
  const waiting = await all(front.pending({ tenant: 'acme' }))
  expect(waiting).toMatchObject([
    { root: 's', sessionId: 's', callId: 'c1', name: 'deploy', tenant: 'acme', kind: 'coder' },
  ])
  expect(await all(front.pending({ tenant: 'other' }))).toEqual([])
  await front.answer('s', 'c1', { decision: 'allow', by: 'ann' })
  await answered('s', 2)
  expect((await said('s')).at(-1)).toBe('assistant: Deployed.')
  expect(await all(front.pending())).toEqual([])
})

test.each(['while another sub-agent still works', 'when nothing works any more', 'without a wake'])(
  'FL06 the answer to a sub-agent that comes %s continues its root',
  async (when) => {
    const authority = () => createAuthority({ mode: 'ask', answerSecret: new Uint8Array(32).fill(7) })
    const slow = gate()
    const spawns = [call('1', 'spawn', { task: 'ask first' }), call('2', 'spawn', { task: 'be slow' })]
    const scripts = {
      Begin: scripted(spawns, 'Both are done.'),
      'ask first': scripted([call('c1', 'deploy')], 'Deployed.'),
      'be slow': scripted([call('w', 'wait')], 'Slow is done.'),
    }
    const provider: Provider = {
      ...scripts.Begin,
      stream(request, signal) {
        const said = JSON.stringify(request)
        return Object.entries(scripts)
          .find(([task]) => said.includes(task))![1]
          .stream(request, signal)
      },
    }
    const tools = {
      deploy: tool('deploy', async () => 'done', { effects: ['exec'] }),
      wait: { ...tool('wait', () => slow.opened.then(() => 'waited')), gated: false },
      spawn: { ...spawn, gated: false },
    }
    const coder = ({ session }: KindRequest) => createAgent({ provider, session, tools, authority: authority() })
    const { fleet, store, clock, until, said } = fleetKit({ kinds: { coder }, authorityFor: async () => authority() })
    fleet.work()
    await fleet.send('s', { kind: 'coder', prompt: 'Begin' })
    const is = (id: string, status: string) => until(async () => (await store.find(id))?.status === status)
    const answer = () => fleet.answer('s/1', 'c1', { decision: 'allow', by: 'ann' })
    await is('s/1', 'waiting')
    if (when.startsWith('while')) await answer()
    slow.open()
    await is('s/2', 'idle')
    if (!when.startsWith('while')) await is('s', 'waiting')
    if (when.startsWith('when')) await answer()
    if (when.startsWith('without')) {
      await authority().answer(await loadSession(store, 's/1'), 'c1', { decision: 'allow', by: 'ann' })
      for (let i = 0; i < 15; i++) await clock.advance(1000)
    }
    await is('s', 'idle')
    expect((await said('s')).at(-1)).toBe('assistant: Both are done.')
  },
)

test('FL99 what is stored is accepted while the queue cannot be reached, and the reconciler finds it', async () => {
  const clock = fakeClock(1_000_000)
  const queue = inProcessDispatcher({ clock })
  let isAway = true
  const wake: Dispatcher['wake'] = async (id, options) => {
    if (isAway) throw new Error('the queue is away')
    return queue.wake(id, options)
  }
  const deploy = tool('deploy', async () => 'done', { effects: ['exec'] })
  const authority = createAuthority({ mode: 'ask', answerSecret: new Uint8Array(32).fill(7) })
  const kit = fleetKit({
    ...{ clock, dispatcher: { ...queue, wake }, mayFail: true },
    steps: [[call('c1', 'deploy')], 'Deployed.', 'Good morning.'],
    ...{ tools: { deploy }, authority, authorityFor: async () => authority },
  })
  const { fleet, store, until, said, errors } = kit
  await fleet.send('s', { kind: 'coder', prompt: 'Deploy' })
  await expect(fleet.wake('s')).rejects.toThrow('the queue is away')
  expect(errors.map(({ message }) => message)).toEqual(['Session "s" could not be woken; the reconciler finds it'])
  fleet.work()
  isAway = false
  await clock.advance(12_000)
  await until(async () => (await store.find('s'))?.status === 'waiting')
  isAway = true
  await fleet.answer('s', 'c1', { decision: 'allow' })
  await fleet.send('later', { kind: 'coder', prompt: 'Good morning', at: clock.now() + 60_000 })
  isAway = false
  await clock.advance(12_000)
  await kit.answered('s')
  await clock.advance(72_000)
  await kit.answered('later')
  expect((await said('s')).at(-1)).toBe('assistant: Deployed.')
  expect((await said('later')).at(-1)).toBe('assistant: Good morning.')
})

test('FL07 pending reads sessions by pages, as many as its reader wants', async () => {
  const ask = tool('ask', async (_input, ctx) => ctx.suspend('a question'))
  const { fleet, store, until } = fleetKit({
    kinds: {
      coder: ({ session }) => createAgent({ provider: scripted([call('c1', 'ask')]), session, tools: { ask } }),
    },
  })
  for (let i = 0; i < 120; i++) await fleet.send(`s${i}`, { kind: 'coder', prompt: 'Ask' })
  fleet.work({ concurrency: 50 })
  await until(async () => (await store.list({ status: 'waiting', limit: 1000 })).sessions.length === 120)
  let pages = 0
  const countedList: typeof store.list = (query) => {
    pages++
    return store.list(query)
  }
  const counted = createFleet({
    ...{ dispatcher: fleet.dispatcher, kinds: {} },
    store: { ...store, list: countedList },
  })
  for await (const { callId } of counted.pending()) {
    expect(callId).toBe('c1')
    break
  }
  const first = pages
  expect(new Set((await all(counted.pending())).map(({ root }) => root)).size).toBe(120)
  expect(pages - first).toBeGreaterThan(first)
})

test('FL08 stop ends the run of another process, and work that has not begun', async () => {
  const thinking = gate()
  const { fleet, store, until, clock, entries, said } = fleetKit({
    steps: [
      async (_request, signal) => {
        thinking.open()
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
        return ''
      },
      'Two.',
    ],
  })
  const front = createFleet({ store, dispatcher: fleet.dispatcher, kinds: {}, clock })
  await front.send('later', { kind: 'coder', prompt: 'Hi' })
  await front.stop('later')
  await front.send('s', { kind: 'coder', prompt: 'Hi' })
  fleet.work()
  await thinking.opened
  await front.stop('s')
  await until(async () => (await store.find('s'))?.status === 'idle')
  expect((await entries('s')).at(-1)).toMatchObject({ type: 'run_ended', status: 'aborted' })
  await clock.advance(120_000)
  expect(await said('later')).toEqual([])
  expect((await entries('later')).at(-1)).toMatchObject({ type: 'run_ended', status: 'aborted' })
  await front.send('later', { prompt: 'Now' })
  await until(async () => (await said('later')).length > 0)
  await front.stop('none')
})

test('FL90 a stop that comes while a worker opens the agent is obeyed; a message after it is worked on', async () => {
  const opening = gate()
  const opened = gate()
  const provider = scripted('One.', 'Two.')
  const kit = fleetKit({
    kinds: {
      async coder({ session }) {
        opening.open()
        await opened.opened
        return createAgent({ provider, session, clock: kit.clock })
      },
    },
  })
  const { fleet, until, entries, said } = kit
  await fleet.send('s', { kind: 'coder', prompt: 'Hi' })
  const worker = fleet.work()
  await opening.opened
  await fleet.stop('s')
  opened.open()
  await until(() => worker.status().running === 0)
  expect(provider.requests).toHaveLength(0)
  expect((await entries('s')).at(-1)).toMatchObject({ type: 'run_ended', status: 'aborted' })
  await fleet.send('s', { prompt: 'Now' })
  await until(async () => (await said('s')).includes('assistant: Two.'))
})

test('FL09 sessions of kinds that a worker does not have, and sessions of other programs, are left alone', async () => {
  const { fleet, store, clock, answered, errors } = fleetKit({ steps: ['One.'] })
  await fleet.send('w', { kind: 'writer', prompt: 'Write' })
  await (await openSession(store, 'plain')).save()
  await store.send('plain', { clientKey: 'k', mode: 'followUp', content: [{ type: 'text', text: 'Hi' }] })
  await fleet.send('s', { kind: 'coder', prompt: 'Hi' })
  fleet.work()
  await answered('s')
  await clock.advance(120_000)
  expect((await store.find('w'))?.turns).toBe(0)
  expect((await store.find('plain'))?.turns).toBe(0)
  expect(errors).toEqual([])
  expect(() => fleet.work({ kinds: ['writer'] })).toThrow('cannot take the kind "writer"; the fleet has coder')
  const none = fleet.work({ kinds: [] })
  await none.drain()
  expect(none.status()).toMatchObject({ state: 'closed', claimed: 0 })
})

test('FL10 a kind that throws is told in the log, not tried again by itself, and tried again with the next message', async () => {
  let opened = 0
  const { fleet, store, clock, until, errors, entries, answered } = fleetKit({
    mayFail: true,
    kinds: {
      coder: ({ session }) => {
        if (++opened === 1) throw new Error('no key for the model')
        return createAgent({ provider: scripted('Better.'), session })
      },
    },
  })
  const worker = fleet.work()
  await fleet.send('s', { kind: 'coder', prompt: 'Hi' })
  await until(async () => (await store.find('s'))?.status === 'failed')
  expect((await entries('s')).at(-1)).toMatchObject({ type: 'run_ended', error: { message: 'no key for the model' } })
  await clock.advance(300_000)
  expect(opened).toBe(1)
  expect(errors.map(({ message }) => message)).toEqual(['Session "s" could not be worked on: no key for the model'])
  await fleet.send('s', { prompt: 'Again' })
  await answered('s')
  expect(opened).toBe(2)
  expect(worker.status()).toMatchObject({ runs: 1, running: 0 })
})

test('FL11 status tells workers, sessions by their status, jobs and limits, and a worker its numbers', async () => {
  const thinking = gate()
  const limits = { tenants: { default: 5 } }
  const { fleet, until, answered } = fleetKit({
    limits,
    version: '2',
    steps: ['One.', () => thinking.opened.then(() => 'Two.')],
  })
  const waits: number[] = []
  const onWait = (waitMs: number): unknown => waits.push(waitMs)
  const worker = fleet.work({ concurrency: 3, address: 'http://10.0.0.1:9464', onWait })
  await fleet.send('a', { kind: 'coder', prompt: 'Hi' })
  await answered('a')
  await fleet.send('b', { kind: 'coder', prompt: 'Hi' })
  await fleet.send('x', { kind: 'unknown', prompt: 'Hi' })
  await until(() => worker.session('b') !== undefined)
  const status = await fleet.status()
  expect(status).toMatchObject({
    workers: [{ id: worker.id, version: '2', address: 'http://10.0.0.1:9464', slots: 3, state: 'working' }],
    sessions: { working: 1, waiting: 0, interrupted: 0, failed: 0, parked: 0 },
    jobs: { waiting: 1, claimed: 1, later: 0 },
    limits,
  })
  expect(status.workers[0]?.kinds).toContain('coder')
  thinking.open()
  await answered('b')
  await until(() => worker.status().done === 2)
  expect(worker.status()).toMatchObject({
    claimed: 2,
    runs: 2,
    takeovers: 0,
    failures: 0,
    waits: { count: 2, sumMs: 0 },
  })
  expect(waits).toEqual([0, 0])
  await worker.close()
  expect((await fleet.status()).workers).toEqual([])
})

test('FL11 status counts sessions without their sub-agents, by the index of statuses', async () => {
  const summaries = Array.from({ length: 2500 }, (_, i) => ({ id: `s${i}`, ...(i % 3 > 0 && { parent: 's0' }) }))
  const { store } = fleetKit()
  const queries: SessionQuery[] = []
  const list = async (query: SessionQuery = {}) => {
    queries.push(query)
    const { cursor = '0', limit = 0 } = query
    const [from, to] = [Number(cursor), Number(cursor) + limit]
    return { sessions: summaries.slice(from, to), ...(to < summaries.length && { next: String(to) }) }
  }
  const { fleet } = fleetKit({ store: { ...store, list: list as unknown as typeof store.list } })
  expect((await fleet.status()).sessions.failed).toBe(834)
  expect(queries.some((query) => 'parent' in query)).toBe(false)
})

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const list: Item[] = []
  for await (const item of items) list.push(item)
  return list
}
