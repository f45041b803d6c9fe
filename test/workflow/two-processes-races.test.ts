import { expect, test, vi } from 'vitest'
import type { Clock } from '../../src/core/clock.ts'
import type { SessionStore } from '../../src/core/store.ts'
import { createMemoryStore } from '../../src/sessions/memory-store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { short, world } from './kit.ts'
import { atWork, endless } from './two-processes-kit.ts'

const stop = { mode: 'stop', clientKey: 'stop', content: [] } as const
const pause = () => new Promise((resolve) => setTimeout(resolve, 5))

test('a stop that is sent to the session itself cancels the agent, and what it had not heard stays to be seen', async () => {
  const { one, id, working } = await atWork()
  void one.workflow.sendMsgToAgent(id, 'And this')
  await vi.waitFor(async () => expect((await one.log(id)).some(({ type }) => type === 'input')).toBe(true))
  await one.store.send(id, stop)
  expect((await working).state).toBe('canceled')
  expect(short(await one.workflow.getMessages(id))).toEqual(['user: Long work', 'user: And this'])
})

test('a stop that comes when the work is done is void, and starts nothing', async () => {
  const kept = createMemoryStore()
  let isLate = false
  const store: SessionStore = {
    ...kept,
    async lease(id, request) {
      if (isLate && request.ttlMs === 0) await kept.send(id, stop)
      return kept.lease(id, request)
    },
  }
  const { workflow, log } = world(['Done.', 'Again.'], { store })
  const { id } = await workflow.createAgent('helper')
  isLate = true
  expect((await workflow.sendMsgToAgent(id, 'Go')).state).toBe('completed')
  expect((await log(id)).filter(({ type }) => type === 'run_started')).toHaveLength(1)
  expect((await workflow.sendMsgToAgent(id, 'Go on')).message?.content).toBe('Again.')
})

test('an agent that another process is about to work on is cancelled before a model is asked', async () => {
  const kept = createMemoryStore()
  const held = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const slow: SessionStore = {
    ...kept,
    async append(id, entries, fence) {
      if (entries.some(({ type }) => type === 'run_started')) {
        held.resolve()
        await gate.promise
      }
      return kept.append(id, entries, fence)
    },
  }
  const one = world(['never said'], { store: slow })
  const two = one.again({ store: kept })
  const { id } = await one.workflow.createAgent('helper')
  const working = one.workflow.sendMsgToAgent(id, 'Go')
  await held.promise
  expect((await two.workflow.sendMsgToAgent(id, 'Wait')).state).toBe('submitted')
  const cancelling = two.workflow.cancelAgent(id)
  await pause()
  gate.resolve()
  await cancelling
  expect((await working).state).toBe('canceled')
  expect((await two.workflow.getStatus(id)).state).toBe('canceled')
  expect(one.provider.requests).toEqual([])
})

test('an agent that is closed while another process begins to work on it does nothing there, and nothing is lost', async () => {
  const kept = createMemoryStore()
  let before = async (): Promise<void> => {}
  const store: SessionStore = {
    ...kept,
    async lease(id, request) {
      await before()
      return kept.lease(id, request)
    },
  }
  const one = world(['never said'], { store })
  const two = one.again({ store: kept })
  const { id } = await one.workflow.createAgent('helper')
  before = () => {
    before = async () => {}
    return two.workflow.closeAgent(id)
  }
  expect((await one.workflow.sendMsgToAgent(id, 'Go')).state).toBe('canceled')
  expect(one.provider.requests).toEqual([])
  expect(short(await two.workflow.getMessages(id))).toEqual(['user: Go'])
  await expect(one.workflow.sendMsgToAgent(id, 'Go')).rejects.toThrow('is closed')
})

test('an agent that another process begins to work on while it is being closed is stopped there, and closed', async () => {
  const kept = createMemoryStore()
  const { asked, step } = endless()
  const one = world([step], { store: kept })
  const { id } = await one.workflow.createAgent('helper')
  let working: Promise<unknown> | undefined
  const store: SessionStore = {
    ...kept,
    async lease(id, request) {
      working ??= one.workflow.sendMsgToAgent(id, 'Go')
      await asked
      return kept.lease(id, request)
    },
  }
  const two = one.again({ store, clock: hasty() })
  await two.workflow.closeAgent(id)
  expect(await working).toMatchObject({ state: 'canceled' })
  expect(await one.workflow.getAgent(id)).toMatchObject({ closed: true })
})

test('an agent that is closed while a process waits for its turn is not gone on with, whatever is sent to it', async () => {
  const { one, id } = await atWork()
  const clock = fakeClock(Date.now())
  const two = one.again({ clock })
  await two.workflow.start()
  await one.workflow.closeAgent(id)
  await one.store.send(id, { mode: 'prompt', clientKey: 'late', content: [{ type: 'text', text: 'Hello?' }] })
  await clock.advance(10_000)
  expect(two.provider.requests).toEqual([])
  expect(two.errors).toEqual([])
})

/** A clock that waits for nothing. */
function hasty(): Clock {
  let now = Date.now()
  return {
    now: () => (now += 300),
    timer(_, fn) {
      const timer = setTimeout(fn)
      return () => clearTimeout(timer)
    },
  }
}
