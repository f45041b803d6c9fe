import { describe, expect, test } from 'vitest'
import { createAgent } from '../../create-agent.ts'
import { type AgentEvent, followEvents } from '../../events/events.ts'
import { call, scripted, tool } from '../../testing/index.ts'
import { spawn } from '../../tools/spawn.ts'
import { followPaced, holdBack } from './slow-reader.ts'

/** What a reader hears of a tool: its progress, and `=` for its result. */
async function heardOf(loud: Parameters<typeof tool>[1], isReady: () => Promise<void> | undefined): Promise<string[]> {
  const agent = createAgent({ provider: scripted([call('1', 'loud')], 'ok'), tools: { loud: tool('loud', loud) } })
  const heard: string[] = []
  followPaced(agent, isReady, (event: AgentEvent) => {
    if (event.durable && event.entry.type === 'call_result') heard.push('=')
    if (!event.durable && event.type === 'tool_progress') heard.push(event.text)
  })
  await agent.run({ prompt: 'go' })
  await agent.destroy()
  return heard
}

describe('FC-02 progress of a tool while the reader is slow', () => {
  test('is delivered in one piece before the result, its newest part', async () => {
    let ready: Promise<void> | undefined
    const [first, kept, ...rest] = await heardOf(
      (_, { progress }) => {
        progress('first')
        ready = new Promise(() => {})
        for (let i = 0; i < 2000; i++) progress(`line ${i}\n`)
        return 'out'
      },
      () => ready,
    )
    expect(first).toBe('first')
    expect(kept).toMatch(/line 1998\nline 1999\n$/)
    expect(kept!.length).toBeLessThanOrEqual(4096)
    expect(rest).toEqual(['='])
  })

  test('is delivered as soon as the reader is ready', async () => {
    const back = Promise.withResolvers<void>()
    let ready: Promise<void> | undefined = back.promise
    const heard = await heardOf(
      async (_, { progress }) => {
        progress('a')
        progress('b')
        ready = undefined
        back.resolve()
        for (let i = 0; i < 5; i++) await new Promise(setImmediate)
        progress('c')
        return 'out'
      },
      () => ready,
    )
    expect(heard).toEqual(['ab', 'c', '='])
  })
})

test('FC-02 a child waits for a slow reader too', async () => {
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
