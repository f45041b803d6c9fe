import { expect, test, vi } from 'vitest'
import { createMemoryStore } from '../../src/sessions/memory-store.ts'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { call, texts } from '../../src/testing/scripted.ts'
import type { AgentDefinition } from '../../src/workflow/definitions/definition.ts'
import { createScheduleBook } from '../../src/workflow/schedules/schedule-book.ts'
import { definition, world } from './kit.ts'
import { atWork } from './two-processes-kit.ts'

const everyMinute = { type: 'interval', everySeconds: 60 } as const

test('D045 a volatile agent is never woken: it has no alarm clock, and schedules for it are removed', async () => {
  const clock = fakeClock()
  const steps = [[call('1', 'alarm-clock', { wakeAtISO: '1970-01-01T00:05:00Z' })], 'Pity.']
  const { workflow, provider, store, errors } = world(steps, { clock, definitions: [definition('alarm-clock')] })
  const { id } = await workflow.createAgent('helper', { volatile: true })
  await workflow.start()
  await workflow.sendMsgToAgent(id, 'Wake up later')
  expect(texts(provider.requests[1]!.messages).at(-1)).toContain('needs the service "schedules"')
  const book = createScheduleBook({ store, clock })
  await book.add({ id: 'up', agentId: id, message: 'Up!', when: everyMinute })
  await clock.advance(120_000)
  expect(provider.requests).toHaveLength(2)
  expect(await workflow.schedules.list()).toEqual([])
  expect(errors.map(({ message }) => message)).toEqual([
    `schedule "up" wakes no agent, and is removed: agent "${id}" is volatile, and such agents are never woken`,
  ])
})

test('a schedule for a missing agent is removed when it is due, and that is reported', async () => {
  const clock = fakeClock()
  const { workflow, store, errors } = world([], { clock })
  await workflow.start()
  await createScheduleBook({ store, clock }).add({ id: 'ghost', agentId: 'agent-x', message: 'Up!', when: everyMinute })
  await clock.advance(61_000)
  await vi.waitFor(() => expect(errors).toHaveLength(1))
  expect(errors[0]!.message).toContain('schedule "ghost" wakes no agent, and is removed: there is no agent "agent-x"')
  expect(await workflow.schedules.list()).toEqual([])
})

test('a workflow takes no schedule for an agent that would never be woken', async () => {
  const { workflow } = world([])
  const add = (agentId: string) => workflow.schedules.add({ agentId, message: 'Up!', when: everyMinute })
  const [closed, passing, open] = [
    await workflow.createAgent('helper'),
    await workflow.createAgent('helper', { volatile: true }),
    await workflow.createAgent('helper'),
  ]
  await workflow.closeAgent(closed.id)
  await expect(add('agent-x')).rejects.toThrow('This cannot be scheduled: there is no agent "agent-x"')
  await expect(add(closed.id)).rejects.toThrow(`agent "${closed.id}" is closed`)
  await expect(add(passing.id)).rejects.toThrow(`agent "${passing.id}" is volatile`)
  await expect(workflow.schedules.add(null as never)).rejects.toThrow('a schedule is an object, got null')
  expect(await workflow.schedules.list()).toEqual([])
  await add(open.id)
  expect(await workflow.schedules.list()).toMatchObject([{ agentId: open.id }])
})

test.each([
  [
    { activeHours: { from: '25:00', to: '26:00' } },
    'activeHours.from must be a time as in "09:00" or "22:30", got "25:00"',
  ],
  [{ activeHours: { from: '09:00', to: '17:00', timeZone: 'Mars/Base' } }, 'there is no time zone "Mars/Base"'],
  [{ enabled: 'no' }, 'heartbeat.enabled must be true or false, got "no"'],
])('D045 a heartbeat that cannot be is refused with its definition, before an agent is made: %j', (more, problem) => {
  const heartbeat = { intervalSeconds: 60, message: 'Beat', ...more }
  expect(() => world([], { definitions: [{ ...definition(), heartbeat } as AgentDefinition] })).toThrow(problem)
})

test('D045 one wake-up of a repeating schedule waits behind a question, also after a restart; the others are skipped', async () => {
  const clock = fakeClock()
  const options = { clock, store: createMemoryStore({ clock }), definitions: [definition('ask-question')] }
  const first = world([[call('q', 'ask-question', { question: 'Deep?' })]], options)
  const { id } = await first.workflow.createAgent('helper')
  await first.workflow.start()
  await first.workflow.sendMsgToAgent(id, 'Dig')
  await first.workflow.schedules.add({ id: 'tick', agentId: id, message: 'Tick', when: everyMinute, maxRuns: 3 })
  await clock.advance(10 * 60_000 + 1000)
  expect(await first.workflow.schedules.list()).toMatchObject([{ runs: 1, lastRunAt: 10 * 60_000 }])
  await first.workflow.close()

  const { workflow, provider } = first.again()
  await workflow.start()
  await clock.advance(10 * 60_000)
  expect(await workflow.schedules.list()).toMatchObject([{ runs: 1, lastRunAt: 20 * 60_000 }])
  provider.push('Deep it is.', 'Tock.', 'Tock again.')
  await workflow.answerQuestion(id, 'q', 'yes')
  const ticks = async () => (await workflow.getMessages(id)).filter(({ content }) => content === 'Tick').length
  expect([await ticks(), provider.requests.length]).toEqual([1, 2])
  await clock.advance(60_000)
  await vi.waitFor(async () => expect([await ticks(), provider.requests.length]).toEqual([2, 3]))
})

test('D045 wake-ups do not accumulate for an agent that another process runs', async () => {
  const clock = fakeClock()
  const { one, two, id, working } = await atWork({ clock, store: createMemoryStore({ clock }) })
  await two.workflow.start()
  await two.workflow.schedules.add({ agentId: id, message: 'Tick', when: everyMinute })
  await clock.advance(5 * 60_000 + 1000)
  expect(await two.workflow.schedules.list()).toMatchObject([{ runs: 1, lastRunAt: 5 * 60_000 }])
  await one.workflow.cancelAgent(id)
  await working
})

test('D045 a single time waits behind a question, whatever else of its schedule waits', async () => {
  const clock = fakeClock()
  const { workflow, provider } = world([[call('q', 'ask-question', { question: 'Deep?' })]], {
    ...{ clock, store: createMemoryStore({ clock }), definitions: [definition('ask-question')] },
  })
  const { id } = await workflow.createAgent('helper')
  await workflow.start()
  await workflow.sendMsgToAgent(id, 'Dig')
  for (const minute of [1, 2]) {
    const at = new Date(minute * 60_000).toISOString()
    await workflow.schedules.add({ id: 'alarm', agentId: id, message: `Ring ${minute}`, when: { type: 'at', at } })
    await clock.advance(60_000)
  }
  provider.push('Deep it is.', 'One.', 'Two.')
  await workflow.answerQuestion(id, 'q', 'yes')
  const heard = (await workflow.getMessages(id)).map(({ content }) => content)
  expect(heard).toEqual(expect.arrayContaining(['Ring 1', 'Ring 2']))
})
