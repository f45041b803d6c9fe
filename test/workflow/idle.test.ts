import { expect, test } from 'vitest'
import { LogViews } from '../../src/plugins/log-views.ts'
import { createMemoryStore } from '../../src/sessions/memory-store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { world } from './kit.ts'

test('100 agents at rest have no timer, and hold no session', async () => {
  const clock = fakeClock(0)
  const store = createMemoryStore({ clock })
  const first = world([], { clock, store })
  first.provider.push(...Array.from({ length: 100 }, () => 'Hi.'))
  for (let i = 0; i < 100; i++) {
    const { id } = await first.workflow.createAgent('helper')
    await first.workflow.sendMsgToAgent(id, 'Hello')
  }
  expect(clock.pending).toBe(0)
  for (const { id } of (await first.workflow.listAgents()).agents) {
    const { epoch } = await store.lease(id, { owner: 'another', ttlMs: 1000, create: true })
    await store.lease(id, { owner: 'another', ttlMs: 0, epoch })
  }
  await first.workflow.close()
  const second = first.again()
  await second.workflow.start()
  const own = clock.pending
  expect(own).toBeLessThan(5) // those of the scheduler
  expect(second.provider.requests).toEqual([])
})

test('an expired result is computed once, and not with every request', () => {
  const view = new LogViews('a', 1)
  const turns: object[] = []
  let seq = 0
  let looked = 0
  const add = (round: number): void => {
    const block = { type: 'tool_call', id: `c${round}`, name: 'look', input: {} }
    const said = { id: `a${round}`, role: 'assistant', content: [block] }
    const content = [{ type: 'tool_result', callId: `c${round}`, output: 'x' }]
    const result = Object.defineProperty({ id: `r${round}`, role: 'user' }, 'content', {
      get: () => {
        looked++
        return content
      },
    })
    view.apply({ type: 'turn', turn: said, seq: ++seq, id: '', at: 0 } as never)
    view.apply({
      type: 'call_result',
      callId: `c${round}`,
      output: 'x',
      outcome: 'done',
      seq: ++seq,
      id: '',
      at: 0,
    } as never)
    turns.push(said, result)
  }
  const costs: number[] = []
  for (let round = 0; round < 200; round++) {
    add(round)
    const before = looked
    expect(view.durations.of(turns as never)).toHaveLength(2)
    costs.push(looked - before)
  }
  expect(costs.at(-1)).toBe(costs[10])
})
