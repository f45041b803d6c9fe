import { expect, onTestFinished, test } from 'vitest'
import type { ModelEvent } from '../../src/core/provider.ts'
import type { ToolDef } from '../../src/core/tool.ts'
import { createAgent, createMemoryStore, createSession } from '../../src/index.ts'
import { createWorkMetrics } from '../../src/otel/index.ts'
import * as names from '../../src/otel/names.ts'
import { call, scripted, tool } from '../../src/testing/index.ts'
import {
  eventConventions,
  finishReasons,
  messageRoles,
  metricConventions,
  providerNames,
  spanConventions,
} from './conventions.ts'
import { look, memorySdk, traced, useContexts } from './otel-kit.ts'

useContexts()

const isOurs = (name: string): boolean => name.startsWith('libero.')
const kinds = { client: 2, internal: 0 }

/** A reply with all that a service can tell. */
const richReply: ModelEvent[] = [
  { type: 'text', delta: 'Do' },
  { type: 'text', delta: 'ne.' },
  {
    type: 'reply',
    content: [
      { type: 'thinking', text: 'Hm' },
      { type: 'text', text: 'Done.' },
    ],
    usage: { input: 3, output: 9, reasoning: 4, cacheRead: 5, cacheCreation: 6, cost: 0.1 },
    stop: 'end',
    responseId: 'msg_42',
  },
]

const broken: ToolDef = {
  spec: { ...look.spec, name: 'broken' },
  execute: async () => Promise.reject(new Error('no')),
}

/** Everything that a run can tell: calls, content, a failed attempt, a tool that fails. */
const everything = () =>
  traced({
    script: [
      [call('1', 'look', {}), call('2', 'broken', {})],
      [{ type: 'retry', attempt: 2, reason: 'busy', code: 'overloaded_error' }, ...richReply],
    ],
    tools: { look, broken },
    options: { captureContent: true },
  })

test('DR03 spans and their events have the names and attributes of the conventions, or names of ours', async () => {
  const { spans } = await everything()
  expect(spans.length).toBe(6)
  for (const { name, kind, attributes, events } of spans) {
    const operation = String(attributes['gen_ai.operation.name'])
    const convention = spanConventions[operation]!
    expect(name.split(' ')[0]).toBe(operation)
    expect(kind, name).toBe(kinds[convention.kind])
    const used = Object.keys(attributes)
    expect(used).toEqual(expect.arrayContaining([...convention.required]))
    expect(used.filter((one) => !isOurs(one) && !convention.attributes.includes(one))).toEqual([])
    for (const event of events) {
      if (isOurs(event.name)) continue
      const known = eventConventions[event.name]!
      expect(Object.keys(event.attributes ?? {}).filter((one) => !known.includes(one))).toEqual([])
    }
  }
})

test('DR03 a model call names the id of the reply, its thinking tokens and why it ended, with the words of the conventions', async () => {
  const { spans } = await everything()
  const chats = spans.filter(({ name }) => name.startsWith('chat'))
  expect(chats.at(-1)!.attributes).toMatchObject({
    'gen_ai.response.id': 'msg_42',
    'gen_ai.usage.input_tokens': 3 + 5 + 6,
    'gen_ai.usage.output_tokens': 9,
    'gen_ai.usage.reasoning.output_tokens': 4,
    'gen_ai.response.finish_reasons': ['stop'],
  })
  expect(chats[0]!.attributes['gen_ai.response.finish_reasons']).toEqual(['tool_call'])
  expect(finishReasons).toEqual(
    expect.arrayContaining(['end', 'tool_use', 'length', 'refusal'].map(names.finishReason)),
  )
  const messages = JSON.parse(String(chats.at(-1)!.attributes['gen_ai.input.messages'])) as { role: string }[]
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
  expect(messageRoles).toEqual(expect.arrayContaining(messages.map(({ role }) => role)))
})

test('DR03 measurements have the names, units and attributes of the conventions, or names of ours', async () => {
  const { metrics } = await everything()
  const all = metrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics))
  expect(all.map(({ descriptor }) => descriptor.name).sort()).toEqual(Object.keys(metricConventions).sort())
  for (const { descriptor, dataPoints } of all) {
    const { unit, required, attributes } = metricConventions[descriptor.name]!
    expect(descriptor.unit).toBe(unit)
    for (const point of dataPoints) {
      const used = Object.keys(point.attributes)
      expect(used).toEqual(expect.arrayContaining([...required]))
      expect(used.filter((one) => !isOurs(one) && !attributes.includes(one))).toEqual([])
    }
  }
})

test.each(['google', 'azure', 'bedrock', 'mistral', 'moonshot', 'xai', 'anthropic', 'openai', 'groq', 'deepseek'])(
  'DR03 %s has a name of the conventions',
  (provider) => expect(providerNames).toContain(names.providerValue(provider)),
)

test('DR03 a worker measures how long messages waited, and a server its sessions by state', async () => {
  const { options, metrics } = memorySdk()
  const store = createMemoryStore()
  const session = await createSession({ store, id: 'one' })
  const ask = tool('ask', (_, ctx) => ctx.suspend('When?'))
  const agent = createAgent({ provider: scripted([call('1', 'ask', {})]), tools: { ask }, session })
  onTestFinished(() => agent.destroy())
  await agent.run({ prompt: 'Go.' })
  const work = createWorkMetrics(options)
  let asked = 0
  const stop = work.watchSessions({
    list(query) {
      asked++
      return store.list(query)
    },
  })
  work.dispatched(1500, { 'libero.kind': 'chat' })
  const collect = async () => {
    metrics.reset()
    await options.meterProvider.forceFlush()
    const all = metrics.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics))
    return Object.fromEntries(all.map(({ descriptor, dataPoints }) => [descriptor.name, dataPoints]))
  }
  const first = await collect()
  expect(first['libero.dispatch.wait']![0]).toMatchObject({
    value: { sum: 1.5 },
    attributes: { 'libero.kind': 'chat' },
  })
  const states = first['libero.sessions']!.map(({ attributes, value }) => [attributes['libero.session.state'], value])
  expect(Object.fromEntries(states)).toEqual({ working: 0, waiting: 1, interrupted: 0, failed: 0, parked: 0 })
  stop() // the store may be closed now
  const before = asked
  await collect()
  expect(asked).toBe(before)
})
