import { Validator } from '@cfworker/json-schema'
import { expect, test } from 'vitest'
import { createAuthority } from '../../src/authority/authority.ts'
import type { ToolDef } from '../../src/core/tool.ts'
import { createAgent } from '../../src/create-agent.ts'
import { type AgentEvent, eventSchema, followEvents } from '../../src/events/index.ts'
import { definePlugin } from '../../src/plugins/plugin.ts'
import { setUpPlugins } from '../../src/plugins/plugin-set.ts'
import { call, fakeClock, memoryExecution, scripted, tool } from '../../src/testing/index.ts'

const plugin = definePlugin({
  toolId: 'diary',
  displayName: 'Diary',
  description: 'Keeps a diary.',
  tools: () => [tool('of_plugin', () => 'x')],
})
const [diary] = setUpPlugins([{ id: 'd', toolId: 'diary' }], new Map([['diary', plugin]]), {
  agentId: 'a',
  clock: fakeClock(),
})

/** A tool of each layer, and its origin as the stream has to say it. */
const layers: readonly (readonly [ToolDef, object])[] = [
  [tool('of_host', () => 'x'), { layer: 'host' }],
  [
    tool('of_user', () => 'x', { origin: { layer: 'global', path: '/home/tools/of_user' } }),
    { layer: 'global', path: '/home/tools/of_user' },
  ],
  [
    tool('of_project', () => 'x', { origin: { layer: 'project', path: '/p/t', digest: 'd1', replaces: ['bundled'] } }),
    { layer: 'project', path: '/p/t', digest: 'd1', replaces: ['bundled'] },
  ],
  [tool('of_server', () => 'x', { mcp: { server: 'github', tool: 'search' } }), { layer: 'mcp', path: 'github' }],
  [diary!.tools[0]!, { layer: 'plugin', path: 'diary' }],
]
const origins = layers.map(([, origin]) => origin)

async function eventsOf(more: Partial<ToolDef>): Promise<AgentEvent[]> {
  const calls = layers.map(([{ spec }]) => call(spec.name, spec.name))
  const authority = createAuthority({ mode: 'ask', interactors: [() => true] })
  const agent = createAgent({
    provider: scripted(calls, 'done'),
    tools: Object.fromEntries(layers.map(([one]) => [one.spec.name, { ...one, ...more }])),
    execution: memoryExecution(),
    authority,
  })
  const events: AgentEvent[] = []
  followEvents(agent, (event) => events.push(event))
  await agent.run({ prompt: 'go' })
  await agent.destroy()
  await authority.close()
  return events
}

test('M03 the stream says of each call, as it is written, asked about, decided and begun, which layer its tool comes from', async () => {
  const events = await eventsOf({})
  const shown = events.flatMap((event) => (event.durable ? [] : [event]))
  expect(shown.flatMap((event) => (event.type === 'tool_start' ? [event.origin] : []))).toEqual(origins)
  const decided = shown.flatMap((event) => (event.type === 'call_decided' ? [event] : []))
  expect(decided.map(({ origin }) => origin)).toEqual(origins)
  expect(decided[2]).toMatchObject({
    callId: 'of_project',
    name: 'of_project',
    decision: { verdict: 'allow', by: 'person' },
  })
  const entries = events.flatMap((event) => (event.durable ? [event.entry] : []))
  const asked = entries.flatMap((entry) => (entry.type === 'approval_requested' ? [entry.origin] : []))
  expect(asked).toEqual(origins)
  const begun = entries.flatMap((entry) => (entry.type === 'call_started' ? [entry] : []))
  expect(begun.map(({ origin }) => origin)).toEqual(origins)
  const validator = new Validator(eventSchema as object, '2020-12')
  expect(events.filter((event) => !validator.validate(JSON.parse(JSON.stringify(event))).valid)).toEqual([])
})

test('M03 a call that leaves no mark before it runs has its layer in the decision', async () => {
  const events = await eventsOf({ replay: 'pure' })
  expect(events.some((event) => event.durable && event.entry.type === 'call_started')).toBe(false)
  const decided = events.flatMap((event) => (!event.durable && event.type === 'call_decided' ? [event.origin] : []))
  expect(decided).toEqual(origins)
})

test('M03 a question that waits in the log says which layer the tool comes from', async () => {
  const agent = createAgent({
    provider: scripted([call('c1', 'of_user')]),
    tools: { of_user: layers[1]![0] },
    execution: memoryExecution(),
    hooks: { 'tool:gate': (gate) => void (gate.halt = { reason: 'ask' }) },
  })
  await agent.run({ prompt: 'go' })
  expect(agent.log.transcript.approvals.get('c1')).toMatchObject({ type: 'approval_requested', origin: origins[1] })
})
