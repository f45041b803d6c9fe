import { describe, expect, test, vi } from 'vitest'
import type { EntryBody, LogEntry } from '../../src/core/log.ts'
import type { SessionStore } from '../../src/core/store.ts'
import { createMemoryStore } from '../../src/sessions/memory-store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { call } from '../../src/testing/scripted.ts'
import { instanceEntry } from '../../src/workflow/agent-instance.ts'
import { definition, world } from './kit.ts'

interface StoreCall {
  readonly method: string
  readonly id: string
  readonly after?: number
}

/** A store that records its calls. */
function counted(store: SessionStore): SessionStore & { readonly calls: StoreCall[] } {
  const calls: StoreCall[] = []
  const recorded = Object.fromEntries(
    Object.entries(store).map(([method, work]) => [
      method,
      (...given: unknown[]) => {
        const after = (given[1] as { after?: number } | undefined)?.after
        calls.push({ method, id: String(given[0]), ...(after !== undefined && { after }) })
        return (work as (...given: unknown[]) => unknown)(...given)
      },
    ]),
  )
  return { ...(recorded as unknown as SessionStore), calls }
}

const note = instanceEntry({ definitionId: 'helper', created: 1, isSubAgent: false, closed: false })
const asking: readonly EntryBody[] = [
  note,
  { type: 'run_started', runId: 'r', model: 'm' },
  {
    type: 'turn',
    turn: { id: 'u', runId: 'r', role: 'user', content: [{ type: 'text', text: 'Paint' }], createdAt: 1 },
  },
  {
    type: 'turn',
    turn: { id: 'a', runId: 'r', role: 'assistant', content: [call('q', 'ask-question')], createdAt: 1 },
  },
  { type: 'call_started', callId: 'q', key: 'k', attempt: 1, replay: 'pure' },
  { type: 'run_ended', runId: 'r', status: 'suspended', stop: 'Which colour?' },
]

async function put(store: SessionStore, id: string, bodies: readonly EntryBody[]): Promise<void> {
  const { epoch } = await store.lease(id, { owner: 'test', ttlMs: 1000, create: true })
  const entries = bodies.map((body, i) => ({ seq: i + 1, id: `${id}.${i}`, at: i + 1, ...body })) as LogEntry[]
  await store.append(id, entries, { epoch, head: 0 })
  await store.lease(id, { owner: 'test', ttlMs: 0, epoch })
}

async function withAgents(count: number, bodies = asking): Promise<ReturnType<typeof counted>> {
  const store = createMemoryStore()
  for (let i = 0; i < count; i++) await put(store, `agent-${i}`, bodies)
  return counted(store)
}

const definitions = [definition('ask-question')]

describe('E08 a start looks only at the agents that need attention', () => {
  test('2,000 agents that wait cost as many calls of the store as 20', async () => {
    const calls: number[] = []
    for (const count of [20, 2000]) {
      const store = await withAgents(count)
      const { workflow, errors } = world([], { store, definitions })
      await workflow.start()
      calls.push(store.calls.length)
      expect(store.calls.filter(({ id }) => id.startsWith('agent-'))).toEqual([])
      expect(errors).toEqual([])
    }
    expect(calls[1]).toBe(calls[0])
    expect(calls[0]).toBeLessThan(20)
  })

  test('those whose process died, that have mail or were answered are continued, and no other is read', async () => {
    const store = await withAgents(50)
    await put(store, 'agent-died', asking.slice(0, 3))
    await put(store, 'agent-mail', [note])
    await store.send('agent-mail', { clientKey: 'k', mode: 'prompt', content: [{ type: 'text', text: 'Hello' }] })
    await put(store, 'agent-answered', asking)
    await store.send('agent-answered', {
      ...{ clientKey: 'answer/q/q/1', mode: 'answer', content: [{ type: 'text', text: 'red' }] },
      answer: { callId: 'q', digest: 'q' },
    })
    store.calls.length = 0
    const { workflow, provider, errors } = world([], { store, definitions })
    provider.push(...Array.from({ length: 9 }, () => 'Done.'))
    await workflow.start()
    await vi.waitFor(() => expect(provider.requests).toHaveLength(3))
    const read = new Set(store.calls.flatMap(({ id }) => (id.startsWith('agent-') ? [id] : [])))
    expect([...read].sort()).toEqual(['agent-answered', 'agent-died', 'agent-mail'])
    expect(errors).toEqual([])
  })

  test('mail that another process sends later is found, and an agent without work is looked at once', async () => {
    const clock = fakeClock(0)
    const store = counted(createMemoryStore({ clock }))
    await put(store, 'agent-fine', [note])
    const crash: EntryBody = { type: 'run_ended', runId: 'r', status: 'error', stop: 'crashed' }
    await put(store, 'agent-odd', [note, { type: 'run_started', runId: 'r', model: 'm' }, crash])
    const { workflow, provider, errors } = world([], { store, definitions, clock })
    await workflow.start()
    const looks = () => store.calls.filter(({ id }) => id === 'agent-odd').length
    const before = looks()
    expect(before).toBeGreaterThan(0)
    await clock.advance(60_000)
    expect(looks()).toBe(before)
    expect(provider.requests).toEqual([])
    provider.push('Hi.')
    await store.send('agent-fine', { clientKey: 'k', mode: 'prompt', content: [{ type: 'text', text: 'Hello' }] })
    await clock.advance(10_000)
    await vi.waitFor(async () => expect((await workflow.getStatus('agent-fine')).message?.content).toBe('Hi.'))
    expect(errors).toEqual([])
  })

  test('heartbeats are compared only for the definitions that have one', async () => {
    const store = await withAgents(30)
    const other = { ...definition(), id: 'watcher', heartbeat: { intervalSeconds: 60, message: 'Look' } }
    await put(store, 'agent-w', [
      instanceEntry({ definitionId: 'watcher', created: 1, isSubAgent: false, closed: false }),
    ])
    store.calls.length = 0
    const { workflow } = world([], { store, definitions: [...definitions, other] })
    await workflow.start()
    expect((await workflow.schedules.list()).map(({ id }) => id)).toEqual(['heartbeat:agent-w'])
    expect(store.calls.filter(({ id }) => id.startsWith('agent-'))).toEqual([])
    await workflow.close()
    const again = world([], { store, definitions: [...definitions, { ...definition(), id: 'watcher' }] })
    await again.workflow.start()
    expect(await again.workflow.schedules.list()).toEqual([])
  })
})

describe('E08 agents are listed by their summaries', () => {
  test('in pages, by definition, name, status and tenant, and no log is read', async () => {
    const store = counted(createMemoryStore())
    const { workflow, provider } = world([], { store, definitions: [...definitions, { ...definition(), id: 'other' }] })
    const ids: string[] = []
    for (let i = 0; i < 5; i++) ids.push((await workflow.createAgent('helper', { tenant: i < 2 ? 'a' : 'b' })).id)
    const named = await workflow.createAgent('other', { name: 'Ada' })
    provider.push([call('q', 'ask-question', { question: 'Which?' })])
    await workflow.sendMsgToAgent(ids[0]!, 'Paint the door')
    await workflow.closeAgent(ids[4]!)
    store.calls.length = 0

    const first = await workflow.listAgents({ limit: 3 })
    const second = await workflow.listAgents({ limit: 3, cursor: first.next! })
    expect(first.agents[0]).toMatchObject({ id: ids[0], status: 'waiting', title: 'Paint the door', tenant: 'a' })
    expect(second.next).toBeUndefined()
    expect([...first.agents, ...second.agents].map(({ id }) => id).sort()).toEqual(
      [...ids.slice(0, 4), named.id].sort(),
    )
    const idsOf = async (query: Parameters<typeof workflow.listAgents>[0]) =>
      (await workflow.listAgents(query)).agents.map(({ id }) => id).sort()
    expect(await idsOf({ definitionId: 'other' })).toEqual([named.id])
    expect(await idsOf({ name: 'Ada' })).toEqual([named.id])
    expect(await idsOf({ status: 'waiting' })).toEqual([ids[0]])
    expect(await idsOf({ tenant: 'a' })).toEqual(ids.slice(0, 2).sort())
    expect(await idsOf({ closed: true })).toHaveLength(6)
    expect(await idsOf({ prefix: ids[1]! })).toEqual([ids[1]])
    expect(new Set(store.calls.map(({ method }) => method))).toEqual(new Set(['list']))
  })

  test('what waits for a person is read only from agents that may wait', async () => {
    const store = await withAgents(3)
    for (let i = 0; i < 20; i++) await put(store, `agent-idle-${i}`, [note])
    store.calls.length = 0
    const { workflow } = world([], { store, definitions })
    expect((await workflow.pending()).map(({ agentId, callId }) => `${agentId} ${callId}`).sort()).toEqual([
      'agent-0 q',
      'agent-1 q',
      'agent-2 q',
    ])
    expect(store.calls.filter(({ id }) => id.startsWith('agent-idle'))).toEqual([])
  })
})

describe('agents in memory', () => {
  const wholeReads = ({ calls }: { readonly calls: readonly StoreCall[] }, id: string): number =>
    calls.filter((one) => one.method === 'read' && one.id === id && (one.after ?? 0) === 0).length

  test('only the last used idle ones stay, and the others are loaded again with all they had', async () => {
    const store = counted(createMemoryStore())
    const { workflow, provider, errors } = world([], { store, definitions, maxIdleAgents: 2 })
    const ids: string[] = []
    for (let i = 0; i < 4; i++) {
      ids.push((await workflow.createAgent('helper')).id)
      provider.push(`Answer ${i}`)
      await workflow.sendMsgToAgent(ids[i]!, `Question ${i}`)
    }
    store.calls.length = 0
    for (const [i, id] of [...ids.entries()].reverse())
      expect((await workflow.getStatus(id)).message?.content).toBe(`Answer ${i}`)
    expect(ids.map((id) => wholeReads(store, id) > 0)).toEqual([true, true, false, false])
    provider.push('Again.')
    expect((await workflow.sendMsgToAgent(ids[3]!, 'More')).message?.content).toBe('Again.')
    expect(errors).toEqual([])
  })

  test('one that works, is followed or is volatile stays', async () => {
    const store = counted(createMemoryStore())
    const { workflow, provider } = world([], { store, definitions, maxIdleAgents: 0 })
    const [working, followed] = [await workflow.createAgent('helper'), await workflow.createAgent('helper')]
    const volatile = await workflow.createAgent('helper', { volatile: true })
    provider.push('Hi.')
    await workflow.sendMsgToAgent(followed.id, 'Hello')
    let go = (_: string): void => {}
    provider.push(() => new Promise<string>((resolve) => (go = resolve)))
    const sending = workflow.sendMsgToAgent(working.id, 'Work')
    await vi.waitFor(() => expect(provider.requests).toHaveLength(2))
    const events: string[] = []
    const stop = await workflow.follow(followed.id, (event) => void (event.durable && events.push(event.entry.type)))
    await workflow.createAgent('helper')
    store.calls.length = 0
    expect((await workflow.getStatus(working.id)).state).toBe('working')
    await workflow.getStatus(followed.id)
    expect([wholeReads(store, working.id), wholeReads(store, followed.id)]).toEqual([0, 0])
    expect(await workflow.getAgent(volatile.id)).toMatchObject({ volatile: true })
    go('Done.')
    expect((await sending).message?.content).toBe('Done.')
    provider.push('Hi.')
    await workflow.sendMsgToAgent(followed.id, 'Hello')
    expect(events).toContain('run_ended')
    stop()
  })
})
