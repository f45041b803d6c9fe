import { expect, test } from 'vitest'
import { createAgent } from '../../create-agent.ts'
import { type AgentEvent, followEvents } from '../../events/events.ts'
import { call, scripted } from '../../testing/index.ts'
import { spawn } from '../../tools/spawn.ts'
import { holdBack } from './hold-back.ts'

test('FC-02 a child waits for a slow reader, too', async () => {
  const agent = createAgent({
    provider: scripted([call('1', 'spawn', { task: 'say it' })], 'the child speaks', 'All done.'),
    tools: { spawn },
  })
  const events: AgentEvent[] = []
  followEvents(agent, (event) => void events.push(event))
  const said = () => events.filter((event) => 'child' in event && !event.event.durable)
  const back = Promise.withResolvers<void>()
  let ready: Promise<void> | undefined
  const begun = Promise.withResolvers<void>()
  holdBack(agent, () => ready)
  agent.hooks.hook('spawn:before', () => {
    ready = back.promise
    begun.resolve()
  })
  const running = agent.run({ prompt: 'go' })
  await begun.promise
  for (let i = 0; i < 200; i++) await new Promise(setImmediate)
  expect(said().filter((event) => 'child' in event && 'delta' in event.event)).toEqual([])
  ready = undefined
  back.resolve()
  await running
  expect(said().some((event) => 'child' in event && 'delta' in event.event)).toBe(true)
  await agent.destroy()
})
