import { expect, onTestFinished, test } from 'vitest'
import { createFleet } from '../../src/durable/create-fleet.ts'
import type { Fleet } from '../../src/durable/fleet.ts'
import { createMemoryStore } from '../../src/sessions/stores.ts'
import { call, type FakeClock, fakeClock, memoryExecution, type Step, scripted } from '../../src/testing/index.ts'
import { createWorkflow } from '../../src/workflow/workflow.ts'
import { eventually } from '../postgres-kit.ts'
import { definition } from '../workflow/kit.ts'
import { endless } from '../workflow/two-processes-kit.ts'
import { losableDispatcher } from './fleet-kit.ts'

/** A fleet with agents of a workflow; all its workers share one model. */
function agentFleet(steps: readonly Step[], clock: FakeClock = fakeClock(1_000_000)) {
  const store = createMemoryStore({ clock })
  const dispatcher = losableDispatcher(clock)
  const provider = scripted(...steps)
  const errors: Error[] = []
  const fleet = createFleet({
    ...{ store, dispatcher, kinds: {}, clock, onError: (error: Error) => void errors.push(error) },
    workflow: (given) =>
      createWorkflow({ ...given, provider, definitions: [definition('ask-question')], execution: memoryExecution() }),
  })
  onTestFinished(() => fleet.close())
  const { workflow } = fleet
  const state = async (id: string): Promise<string> => (await workflow.getStatus(id)).state
  const until = (isTrue: () => boolean | Promise<boolean>, seconds = 0): Promise<void> =>
    eventually(async () => {
      await clock.advance(seconds * 1000)
      return isTrue()
    })
  return { fleet, workflow, store, dispatcher, provider, errors, clock, state, until }
}

test('FL50 a worker of the fleet continues the agents of a workflow: messages and answers are recorded and wake it', async () => {
  const question = call('q', 'ask-question', { question: 'Which?' })
  const { fleet, workflow, provider, errors, state, until, dispatcher } = agentFleet([[question], 'It is red.'])
  const { id } = await workflow.createAgent('helper', { tenant: 'acme' })
  expect((await workflow.sendMsgToAgent(id, 'Paint.')).state).toBe('submitted')
  expect(await dispatcher.stats!()).toMatchObject({ waiting: 1 })
  expect(provider.requests).toEqual([])
  fleet.work()
  await until(async () => (await state(id)) === 'input-required')
  await until(async () => (await dispatcher.stats!()).claimed === 0)
  expect(await dispatcher.stats!()).toMatchObject({ waiting: 0, claimed: 0, later: 0 }) // a wait has no job
  expect((await workflow.answerQuestion(id, 'q', 'red')).state).toBe('submitted')
  await until(async () => (await state(id)) === 'completed')
  expect((await workflow.getMessages(id)).at(-1)?.content).toBe('It is red.')
  expect([provider.requests.length, errors]).toEqual([2, []])
})

test('FL51 when all jobs are lost, the workers find agents with a message, with an answer, and with a message in place of one', async () => {
  const question = (id: string) => [call(id, 'ask-question', { question: 'Which?' })]
  const { fleet, workflow, state, until, dispatcher } = agentFleet([question('a'), question('b'), 'One.', 'Two.'])
  const one = await workflow.createAgent('helper', { id: 'agent-one' })
  const two = await workflow.createAgent('helper', { id: 'agent-two' })
  fleet.work()
  const { wake } = dispatcher
  const withoutWake = async (recorded: () => Promise<unknown>): Promise<void> => {
    dispatcher.wake = async () => {}
    await recorded()
    dispatcher.wake = wake
    dispatcher.lose()
  }
  for (const { id } of [one, two]) {
    await withoutWake(() => workflow.sendMsgToAgent(id, 'Paint.'))
    await until(async () => (await state(id)) === 'input-required', 1)
  }
  await withoutWake(() => workflow.answerQuestion(one.id, 'a', 'red'))
  await until(async () => (await state(one.id)) === 'completed', 1)
  await withoutWake(() => workflow.sendMsgToAgent(two.id, 'Forget it.'))
  await until(async () => (await state(two.id)) === 'completed', 1)
})

test('FL52 a drained worker leaves its agents, and another one continues them at once', async () => {
  const { asked, step } = endless()
  const { fleet, workflow, provider, errors, clock, state, until } = agentFleet([step, 'Done.'])
  const { id } = await workflow.createAgent('helper')
  const first = fleet.work()
  await workflow.sendMsgToAgent(id, 'Long work')
  await until(() => provider.requests.length === 1)
  await asked
  const second = fleet.work()
  const before = clock.now()
  await first.close()
  await until(async () => (await state(id)) === 'completed')
  expect(clock.now()).toBe(before)
  expect(second.status().claimed).toBe(1)
  expect((await workflow.getMessages(id)).map(({ role }) => role)).toEqual(['user', 'assistant'])
  expect(errors).toEqual([])
})

test('FL53 a due time is delivered once, although the worker that owned the schedules has gone', async () => {
  const { fleet, workflow, provider, clock, until } = agentFleet(['Morning.', 'Evening.'])
  const { id } = await workflow.createAgent('helper')
  const when = { type: 'interval', everySeconds: 60 } as const
  await workflow.schedules.add({ agentId: id, message: 'Water', when, maxRuns: 2 })
  const first = fleet.work()
  await until(() => provider.requests.length === 1, 5)
  fleet.work()
  await first.close()
  await until(() => provider.requests.length === 2, 5)
  await clock.advance(120_000)
  const messages = (await workflow.getMessages(id)).filter(({ role }) => role === 'user')
  expect(messages.map(({ content }) => content)).toEqual(['Water', 'Water'])
})

test('FL54 a fleet without a workflow has none, and leaves agents to other processes', async () => {
  const { fleet: other, workflow, store, provider } = agentFleet(['Hi.'])
  const { id } = await workflow.createAgent('helper')
  await workflow.sendMsgToAgent(id, 'Hello')
  const clock = fakeClock(0)
  const fleet: Fleet = createFleet({ store, dispatcher: losableDispatcher(clock), kinds: {}, clock })
  expect(fleet.workflow).toBe(undefined)
  const worker = fleet.work()
  await clock.advance(30_000)
  expect([worker.status().claimed, provider.requests]).toEqual([0, []])
  await worker.close()
  other.work()
  await eventually(() => provider.requests.length === 1)
})
