import { expect, test } from 'vitest'
import { fakeClock } from '../../src/testing/fake-clock.ts'
import { call, texts } from '../../src/testing/scripted.ts'
import type { AgentDefinition } from '../../src/workflow/definition.ts'
import { definition, world } from './kit.ts'

test('D045 a volatile agent is never woken: it has no alarm clock to set, and what others set for it goes', async () => {
  const clock = fakeClock()
  const { workflow, provider } = world([[call('1', 'alarm-clock', { wakeAtISO: '1970-01-01T00:05:00Z' })], 'Pity.'], {
    clock,
    definitions: [definition('alarm-clock')],
  })
  const { id } = await workflow.createAgent('helper', { volatile: true })
  await workflow.start()
  await workflow.sendMsgToAgent(id, 'Wake up later')
  expect(texts(provider.requests[1]!.messages).at(-1)).toContain('needs the service "schedules"')
  await workflow.schedules.add({ agentId: id, message: 'Up!', when: { type: 'interval', everySeconds: 60 } })
  await clock.advance(120_000)
  expect(provider.requests).toHaveLength(2)
  expect(await workflow.schedules.list()).toEqual([])
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
