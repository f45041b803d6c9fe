import { expect, test, vi } from 'vitest'
import type { Clock } from '../../src/core/clock.ts'
import type { SessionStore } from '../../src/core/store.ts'
import { createMemoryStore } from '../../src/sessions/memory-store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { short, world } from './kit.ts'
import { atWork, endless } from './two-processes-kit.ts'

const stop = { mode: 'stop', clientKey: 'stop', content: [] } as const
const pause = () => new Promise((resolve) => setTimeout(resolve, 5))

test('a stop message to the session cancels the agent, and undelivered messages stay visible', async () => {
  const { one, id, working } = await atWork()
  void one.workflow.sendMsgToAgent(id, 'And this')
  await vi.waitFor(async () => expect((await one.log(id)).some(({ type }) => type === 'input')).toBe(true))
  await one.store.send(id, stop)
  expect((await working).state).toBe('canceled')
  expect(short(await one.workflow.getMessages(id))).toEqual(['user: Long work', 'user: And this'])
})

test('a stop after the end of the work has no effect, and starts nothing', async () => {
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

test('an agent that another process is about to run is cancelled before a model is called', async () => {
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

test('an agent that is closed while another process begins to run it does nothing there, and nothing is lost', async () => {
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

test('an agent that another process begins to run while it is being closed is stopped there, and closed', async () => {
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

test('an agent that is closed while a process waits for the lease is not continued, despite new messages', async () => {
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

test('a message after a stop, while the run is still ending, is answered, and the cancelled one is not sent again', async () => {
  const kept = createMemoryStore()
  const ending = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const slow: SessionStore = {
    ...kept,
    async append(id, entries, fence) {
      if (entries.some(({ type }) => type === 'run_ended')) {
        ending.resolve()
        await gate.promise
      }
      return kept.append(id, entries, fence)
    },
  }
  const { asked, step } = endless()
  const one = world([step, 'Answer.'], { store: slow })
  const two = one.again({ store: kept, clock: fakeClock(Date.now()) })
  const { id } = await one.workflow.createAgent('helper')
  const working = one.workflow.sendMsgToAgent(id, 'Long work')
  await asked
  const cancelling = two.workflow.cancelAgent(id)
  await ending.promise
  expect((await one.again({ store: kept, clock: fakeClock() }).workflow.sendMsgToAgent(id, 'After')).state).toBe(
    'submitted',
  )
  gate.resolve()
  await cancelling
  expect((await working).state).toBe('completed')
  expect(short(await two.workflow.getMessages(id))).toEqual(['user: Long work', 'user: After', 'assistant: Answer.'])
  expect(one.provider.requests).toHaveLength(2)
})

test('a process that left a message to another one checks later, and answers it if the other did not', async () => {
  const clock = fakeClock(Date.now())
  const { workflow, store } = world(['Answer.'], { clock })
  const { id } = await workflow.createAgent('helper')
  const { epoch } = await store.lease(id, { owner: 'other', ttlMs: 60_000, create: true })
  expect((await workflow.sendMsgToAgent(id, 'Hello')).state).toBe('submitted')
  await clock.advance(250)
  expect((await workflow.getStatus(id)).state).toBe('submitted')
  await store.lease(id, { owner: 'other', ttlMs: 0, epoch })
  await clock.advance(500)
  await vi.waitFor(async () => expect((await workflow.getStatus(id)).state).toBe('completed'))
  expect(short(await workflow.getMessages(id))).toEqual(['user: Hello', 'assistant: Answer.'])
})

test('a process that gets the lease only after the agent was cancelled does not run the cancelled work', async () => {
  const { one, id, working } = await atWork()
  let leases = 0
  const late: SessionStore = {
    ...one.store,
    async lease(id, request) {
      if (request.ttlMs > 0 && ++leases === 2) {
        await vi.waitFor(async () => expect((await one.log(id)).some(({ type }) => type === 'input')).toBe(true))
        await one.store.send(id, stop)
        await working
      }
      return one.store.lease(id, request)
    },
    // What waits is still there when it looks, and gone when it may write.
    watch: (id, options) => (leases === 1 ? mail() : one.store.watch(id, options)),
  }
  async function* mail() {
    yield { entries: [], inbox: [{ mode: 'steer', clientKey: 'seen before', content: [] } as const] }
  }
  const two = one.again({ store: late, clock: fakeClock(Date.now()) })
  expect((await two.workflow.sendMsgToAgent(id, 'And this')).state).toBe('canceled')
  expect(leases).toBeGreaterThan(1)
  expect(two.provider.requests).toEqual([])
  expect(short(await two.workflow.getMessages(id))).toEqual(['user: Long work', 'user: And this'])
})

test('an undelivered message that was cancelled is shown before the next one, by another process too, and not answered', async () => {
  const kept = createMemoryStore()
  let saying: Promise<unknown> | undefined
  const store: SessionStore = {
    ...kept,
    async lease(id, request) {
      const hasEnded = (await kept.read(id)).some(({ type }) => type === 'run_ended')
      if (hasEnded && request.ttlMs > 0) await (saying ??= two.workflow.sendMsgToAgent(id, 'New'))
      return kept.lease(id, request)
    },
  }
  const { asked, step } = endless()
  const one = world([step], { store })
  const two = world(['Answer.'], { store: kept })
  const { id } = await one.workflow.createAgent('helper')
  const working = one.workflow.sendMsgToAgent(id, 'Long work')
  await asked
  void one.workflow.sendMsgToAgent(id, 'And this')
  await vi.waitFor(async () => expect((await one.log(id)).some(({ type }) => type === 'input')).toBe(true))
  await kept.send(id, stop)
  await working
  expect(await saying).toMatchObject({ state: 'completed' })
  const all = ['user: Long work', 'user: And this', 'user: New', 'assistant: Answer.']
  expect(short(await two.workflow.getMessages(id))).toEqual(all)
  expect(two.provider.requests).toHaveLength(1)
})

test('cancelling ends the present run, and not a later one', async () => {
  const { one, id, working } = await atWork()
  const begun = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<string>()
  const step = (): Promise<string> => {
    begun.resolve()
    return gate.promise
  }
  const three = world([step], { store: one.store })
  let saying: Promise<unknown> | undefined
  const late: SessionStore = {
    ...one.store,
    async read(id, after) {
      const hasEnded = (await one.log(id)).some(({ type }) => type === 'run_ended')
      if (hasEnded) {
        await working
        saying ??= three.workflow.sendMsgToAgent(id, 'New')
        await begun.promise
      }
      return one.store.read(id, after)
    },
  }
  await one.again({ store: late }).workflow.cancelAgent(id)
  gate.resolve('Answer.')
  expect(await saying).toMatchObject({ state: 'completed' })
  expect(short(await one.workflow.getMessages(id))).toEqual(['user: Long work', 'user: New', 'assistant: Answer.'])
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
