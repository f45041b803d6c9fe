import { expect, test, vi } from 'vitest'
import type { SessionStore } from '../../src/core/store.ts'
import { createMemoryStore } from '../../src/sessions/memory-store.ts'
import { world } from './kit.ts'

test('a workflow that starts while another one works on an agent leaves it alone, and does not ask for it again and again', async () => {
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

test('one agent that cannot be read does not keep the others from going on', async () => {
  const kept = createMemoryStore()
  const first = world([], { store: kept })
  await first.workflow.createAgent('helper', { id: 'agent-broken' })
  await first.workflow.createAgent('helper', { id: 'agent-fine' })
  await first.workflow.close()
  const message = { clientKey: 'k', mode: 'prompt', content: [{ type: 'text', text: 'Hello' }] } as const
  await kept.send('agent-fine', message)
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
