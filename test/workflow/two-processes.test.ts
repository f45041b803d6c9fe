import { describe, expect, test, vi } from 'vitest'
import { isRecord } from '../../src/core/is-record.ts'
import type { Provider } from '../../src/core/provider.ts'
import type { SessionStore } from '../../src/core/store.ts'
import { createMemoryStore } from '../../src/sessions/memory-store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { call, texts } from '../../src/testing/scripted.ts'
import type { AgentHandler } from '../../src/workflow/workflow-contract.ts'
import { definition, short, type World, withTool, world } from './kit.ts'
import { atWork, endless } from './two-processes-kit.ts'

test('a workflow that starts while another one runs an agent leaves it alone, and does not try again and again', async () => {
  const gate = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<void>()
  const { store, leases } = counted(createMemoryStore())
  const slow = async () => {
    asked.resolve()
    await gate.promise
    return 'First done.'
  }
  const one = world([slow, 'Second done.'], { store })
  const { id } = await one.workflow.createAgent('helper')
  const first = one.workflow.sendMsgToAgent(id, 'First')
  await asked.promise
  const second = one.workflow.sendMsgToAgent(id, 'Second')
  await vi.waitFor(async () => expect((await one.log(id)).some(({ type }) => type === 'input')).toBe(true))

  const two = one.again()
  const before = leases(id)
  await two.workflow.start()
  for (let i = 0; i < 50; i++) await new Promise((resolve) => setImmediate(resolve))
  expect(leases(id) - before).toBeLessThan(5)
  expect(two.provider.requests).toEqual([])
  gate.resolve()
  expect([(await first).state, (await second).state]).toEqual(['completed', 'completed'])
  expect((await two.workflow.getStatus(id)).state).toBe('completed')
  expect([...one.errors, ...two.errors]).toEqual([])
})

test('one agent that cannot be read does not stop the others', async () => {
  const kept = createMemoryStore()
  const first = world([], { store: kept })
  await first.workflow.createAgent('helper', { id: 'agent-broken' })
  await first.workflow.createAgent('helper', { id: 'agent-fine' })
  await first.workflow.close()
  const message = { clientKey: 'k', mode: 'prompt', content: [{ type: 'text', text: 'Hello' }] } as const
  for (const id of ['agent-broken', 'agent-fine']) await kept.send(id, message)
  const store: SessionStore = {
    ...kept,
    lease: (id, request) => (id === 'agent-broken' ? Promise.reject(new Error('torn page')) : kept.lease(id, request)),
  }
  const second = world(['Hi.'], { store })
  await second.workflow.start()
  await vi.waitFor(() => expect(second.provider.requests).toHaveLength(1))
  expect(second.errors.map(({ message }) => message)).toEqual([
    expect.stringContaining('agent agent-broken could not be looked'),
  ])
})

describe('an agent at work in another process', () => {
  test('is stopped by cancelAgent, and both see it cancelled', async () => {
    const { one, two, id, working } = await atWork()
    await two.workflow.cancelAgent(id)
    expect((await working).state).toBe('canceled')
    for (const { workflow } of [one, two]) expect((await workflow.getStatus(id)).state).toBe('canceled')
    expect(two.updates.findLast(({ type }) => type === 'status')).toMatchObject({ status: { state: 'canceled' } })
    expect(await runsIn(one, id)).toEqual(['aborted'])
    for (const { workflow } of [one, two]) expect(short(await workflow.getMessages(id))).toEqual(['user: Long work'])

    two.provider.push('Here I am.')
    expect((await two.workflow.sendMsgToAgent(id, 'Still there?')).state).toBe('completed')
    expect(texts(two.provider.requests[0]!.messages)).toEqual(['user: Long work', 'user: Still there?'])
    expect([...one.errors, ...two.errors]).toEqual([])
  })

  test('is cancelled once, however many ask for it, and messages meanwhile stay visible', async () => {
    const { one, two, id, working } = await atWork()
    expect((await two.workflow.sendMsgToAgent(id, 'And this')).state).toBe('submitted')
    const three = one.again()
    await Promise.all([two, three, one].map(({ workflow }) => workflow.cancelAgent(id)))
    await working
    await vi.waitFor(async () => {
      for (const { workflow } of [one, two, three])
        expect(short(await workflow.getMessages(id))).toEqual(['user: Long work', 'user: And this'])
    })
    expect((await two.workflow.getStatus(id)).state).toBe('canceled')
    expect(await runsIn(one, id)).toEqual(['aborted'])
    const next = one.again()
    await next.workflow.start()
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(next.provider.requests).toEqual([])
  })

  test('has a handler that does not continue if it was cancelled from elsewhere', async () => {
    const { asked, step } = endless()
    const seen: boolean[] = []
    const handlers = {
      stubborn: async function* ({ execute, isCancelled }: Parameters<AgentHandler>[0]) {
        yield* execute({ prompt: 'First' })
        seen.push(isCancelled())
        if (!isCancelled()) yield* execute({ prompt: 'Second' })
      },
    }
    const one = world([step, 'never said'], { handlers })
    const { id } = await one.workflow.createAgent('helper', { handlerId: 'stubborn' })
    const working = one.workflow.sendMsgToAgent(id, 'Go')
    await asked
    await one.again().workflow.cancelAgent(id)
    await working
    expect(seen).toEqual([true])
    expect(one.provider.requests).toHaveLength(1)
  })

  test('is closed by closeAgent, and its own process refuses messages and does not wake it', async () => {
    const { one, two, id, working } = await atWork()
    await one.workflow.schedules.add({ agentId: id, message: 'Wake up', when: { type: 'interval', everySeconds: 60 } })
    await two.workflow.closeAgent(id)
    expect((await working).state).toBe('canceled')
    await expect(one.workflow.sendMsgToAgent(id, 'Hello?')).rejects.toThrow(`agent "${id}" is closed`)
    await expect(one.workflow.rewind(id, 'any')).rejects.toThrow(`agent "${id}" is closed`)
    expect(await one.workflow.getAgent(id)).toMatchObject({ closed: true })
    expect((await one.workflow.listAgents()).agents).toEqual([])
    expect(await one.workflow.schedules.list(id)).toEqual([])
    expect(one.updates.findLast(({ type }) => type === 'agent')).toMatchObject({ agent: { closed: true } })
    await one.workflow.closeAgent(id)
    expect((await one.log(id)).filter((entry) => entry.type === 'state' && isClosed(entry.value))).toHaveLength(1)
    expect([...one.errors, ...two.errors]).toEqual([])
  })

  test('is deleted by deleteAgent, also for its own process', async () => {
    const { one, two, id, working } = await atWork()
    const three = one.again()
    expect((await three.workflow.listAgents()).agents).toHaveLength(1)
    await two.workflow.deleteAgent(id)
    expect(await three.workflow.getAgent(id)).toBeUndefined()
    expect((await working).state).toBe('canceled')
    expect(await one.workflow.getAgent(id)).toBeUndefined()
    await expect(one.workflow.sendMsgToAgent(id, 'Hello?')).rejects.toThrow(`there is no agent "${id}"`)
    await expect(one.workflow.cancelAgent(id)).rejects.toThrow(`there is no agent "${id}"`)
    await expect(two.workflow.deleteAgent(id)).rejects.toThrow(`there is no agent "${id}"`)
    expect((await one.workflow.listAgents({ closed: true })).agents).toEqual([])
  })

  test('cannot be rewound or rolled back, and the error says how to stop it', async () => {
    const { one, two, id, working } = await atWork({ snapshots: {} })
    const [message] = await two.workflow.getMessages(id)
    const told = `agent ${id} is at work in another process; stop it with cancelAgent("${id}")`
    await expect(two.workflow.rewind(id, message!.id)).rejects.toThrow(told)
    await expect(two.workflow.rollback(id, message!.id)).rejects.toThrow(told)
    await two.workflow.cancelAgent(id)
    await working
    expect(await two.workflow.rewind(id, message!.id)).toEqual({ text: 'Long work' })
    expect(await one.workflow.getMessages(id)).toEqual([])
  })

  test('keeps its messages when it is closed from elsewhere', async () => {
    const { asked, step } = endless()
    const talking: Provider = {
      meta: { name: 'talking', defaultModel: 'talking-1', capabilities: {} },
      async *stream(request, signal) {
        yield { type: 'start' }
        yield { type: 'text', delta: 'Once upon a time' }
        await step(request, signal)
      },
    }
    const one = world([], { provider: talking })
    const two = one.again()
    const { id } = await one.workflow.createAgent('helper')
    const working = one.workflow.sendMsgToAgent(id, 'Tell me')
    await asked
    await two.workflow.closeAgent(id)
    expect((await working).state).toBe('canceled')
    for (const { workflow } of [one, two])
      expect(short(await workflow.getMessages(id))).toEqual(['user: Tell me', 'assistant: Once upon a time'])
    expect([...one.errors, ...two.errors]).toEqual([])
  })

  test('and left by it during work is cancelled too: no process continues it', async () => {
    const { one, two, id } = await atWork()
    await one.workflow.close()
    expect((await two.workflow.getStatus(id)).state).toBe('submitted')
    await two.workflow.cancelAgent(id)
    await two.workflow.start()
    expect((await two.workflow.getStatus(id)).state).toBe('canceled')
    expect(two.provider.requests).toEqual([])
  })

  test('that does not stop is reported, and is cancelled when its process turns out to be dead', async () => {
    const clock = fakeClock()
    const kept = createMemoryStore({ clock })
    const { asked, step } = endless()
    const plugins = [withTool('look', () => step({} as never, new AbortController().signal))]
    const definitions = [definition('look')]
    // It hears nothing, and renews its lease while its own clock goes on.
    const deaf: SessionStore = {
      ...kept,
      async *watch() {},
      lease: async (...given) => ({ ...(await kept.lease(...given)), inbox: [] }),
    }
    const life = fakeClock()
    const one = world([[call('1', 'look')]], { store: deaf, clock: life, plugins, definitions })
    const { id } = await one.workflow.createAgent('helper')
    void one.workflow.sendMsgToAgent(id, 'Long work').catch(() => {})
    await asked

    const two = world([], { store: kept, clock, plugins, definitions })
    const first = two.workflow.cancelAgent(id).catch((error: Error) => error.message)
    for (let second = 0; second < 11; second++) await Promise.all([life.advance(1000), clock.advance(1000)])
    expect(await first).toContain(`agent ${id} is at work in another process, which was told to stop and has not`)
    await clock.advance(20_000)
    await two.workflow.cancelAgent(id)
    expect((await two.workflow.getStatus(id)).state).toBe('canceled')
    const stops = (await two.log(id)).filter((entry) => entry.type === 'input' && entry.mode === 'stop')
    expect(stops).toHaveLength(1)

    const three = world(['never said'], { store: kept, clock, plugins, definitions })
    await three.workflow.start()
    await clock.advance(1000)
    expect(three.provider.requests).toEqual([])
    expect((await three.workflow.getStatus(id)).state).toBe('canceled')
  })
})

async function runsIn({ log }: World, id: string): Promise<string[]> {
  return (await log(id)).flatMap((entry) => (entry.type === 'run_ended' ? [entry.status] : []))
}

const isClosed = (value: unknown): boolean => isRecord(value) && value.closed === true

function counted(kept: SessionStore): { store: SessionStore; leases: (id: string) => number } {
  const counts = new Map<string, number>()
  const most = 1000
  const store: SessionStore = {
    ...kept,
    lease(id, request) {
      const count = (counts.get(id) ?? 0) + 1
      counts.set(id, count)
      // Without this a test that fails would never end.
      return count > most ? new Promise(() => {}) : kept.lease(id, request)
    },
  }
  return { store, leases: (id) => counts.get(id) ?? 0 }
}
