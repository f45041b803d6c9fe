import { Validator } from '@cfworker/json-schema'
import { describe, expect, test } from 'vitest'
import type { Agent } from '../core/agent.ts'
import type { EntryBody } from '../core/log.ts'
import type { AgentHookMap, RunOptions } from '../core/run.ts'
import type { SessionStore } from '../core/store.ts'
import type { JsonSchema, ToolDef } from '../core/tool.ts'
import { createAgent } from '../create-agent.ts'
import { createMemoryStore } from '../sessions/memory-store.ts'
import { createSession } from '../sessions/session.ts'
import { call, memoryExecution, type Step, scripted, tool } from '../testing/index.ts'
import { createSpawnTool } from '../tools/spawn.ts'
import type { ChildEvent, Provisional, ProvisionalEvent } from './events.ts'
import { type AgentEvent, type DurableEvent, durable, eventSchema, followEvents } from './index.ts'

interface Plan {
  readonly steps: readonly Step[]
  readonly tools?: readonly ToolDef[]
  readonly hooks?: (agent: Agent) => AgentHookMap
  readonly options?: RunOptions
}

interface Recording {
  readonly events: (DurableEvent | ProvisionalEvent)[]
  readonly children: ChildEvent[]
  readonly store: SessionStore
  readonly agent: Agent
}

const picture = { type: 'image', mediaType: 'image/png', data: 'aGk=' } as const
const look = tool('look', () => ({ output: [{ type: 'text', text: 'seen' }, picture], details: { n: [1] } }))
const busy = tool('busy', (_, { progress }) => {
  progress('half')
  return 'done'
})
const broken = tool('broken', () => {
  throw new Error('no luck')
})
const ask = tool('ask', (_, { suspend }) => suspend('waiting for an answer'))
const pure = tool('pure', () => 'same', { replay: 'pure', isConcurrencySafe: true })
const strict = tool('strict', () => 'fine')
Object.assign(strict.spec.inputSchema, { properties: { n: { type: 'integer' } }, required: ['n'] })
const retrying: Step = [
  { type: 'start' },
  { type: 'text', delta: 'half a' },
  { type: 'retry', attempt: 2, reason: 'overloaded', delayMs: 10 },
  { type: 'text', delta: 'whole' },
  { type: 'reply', content: [{ type: 'text', text: 'whole' }], usage: { input: 1, output: 2, cost: 0.1 }, stop: 'end' },
]
const unreadable: Step = [
  {
    type: 'reply',
    content: [{ ...call('c1', 'look'), input: '[1, 2' }],
    usage: { input: 1, output: 2 },
    stop: 'tool_use',
  },
]

const streamed = ['stream_started', 'text'] as const
const called = ['stream_started', 'tool_start', 'tool_args', 'tool_end', 'call_started', 'call_result'] as const
const always = ['run_started', 'turn', 'turn_started', 'attempt', 'run_ended'] as const

/** Each run, and which types of events it has beside those that every run has. */
const runs: Record<string, Plan & { shows: readonly (EntryBody['type'] | Provisional['type'])[] }> = {
  'a run with tools': {
    steps: [{ thinking: 'hm', calls: [call('c1', 'look'), call('c2', 'busy'), call('c3', 'broken')] }, 'done'],
    tools: [look, busy, broken],
    shows: [...streamed, ...called, 'thinking', 'tool_progress'],
  },
  'a run whose calls never run': {
    steps: [[call('c1', 'strict', { n: 'x' }), call('c2', 'loook'), call('c3', 'pure'), call('c4', 'pure')], 'done'],
    tools: [look, strict, pure],
    hooks: () => ({ 'tool:gate': (gate) => void (gate.callId === 'c3' && Object.assign(gate, { block: true })) }),
    shows: [...streamed, ...called.filter((type) => type !== 'call_started')],
  },
  'a run with arguments that cannot be read': {
    steps: [unreadable, 'done'],
    tools: [look],
    shows: [...streamed, 'call_result'],
  },
  'a run whose provider fails': {
    steps: [new Error('the service is down')],
    shows: ['turn_failed'],
  },
  'a run that is aborted in the middle of a text': {
    steps: ['a text of several pieces'],
    hooks: (agent) => ({ 'stream:text': () => agent.abort() }),
    shows: [...streamed, 'turn_failed'],
  },
  'a run that is aborted before a call': {
    steps: [[call('c1', 'look'), call('c2', 'look')]],
    tools: [look],
    hooks: (agent) => ({ 'tool:gate': () => agent.abort() }),
    shows: called.filter((type) => type !== 'call_started'),
  },
  'a run that is steered': {
    steps: [[call('c1', 'busy'), call('c2', 'busy')], 'as you wish'],
    tools: [busy],
    hooks: (agent) => ({ 'tool:after': () => agent.steer('stop that') }),
    shows: [...streamed, ...called, 'tool_progress', 'input'],
  },
  'a run whose stream is retried': { steps: [retrying], shows: [...streamed, 'stream_void'] },
  'a run that spawns a child': {
    steps: [[call('c1', 'spawn', { task: 'look' })], 'said the child', 'said the parent'],
    tools: [createSpawnTool()],
    shows: [...streamed, ...called],
  },
  'a run that is suspended': {
    steps: [[call('c1', 'ask')]],
    tools: [ask],
    shows: called.filter((type) => type !== 'call_result'),
  },
  'a run with structured output': {
    steps: ['done', [call('o', '__output__', { n: 1 })]],
    options: { behavior: { schema: { type: 'object', properties: { n: { type: 'integer' } } } } },
    shows: [...streamed, 'usage', 'state'],
  },
}

describe.each(Object.entries(runs))('%s', (_, { shows, ...plan }) => {
  test('shows what it is there for, in events of the described shape', async () => {
    const { events } = await record(plan)
    expect(new Set(events.map(typeOf))).toEqual(new Set([...always, ...shows]))
    expect(events.filter((event) => !isValid(event))).toEqual([])
  })

  test('its durable events are dense and equal to a replay from the store', async () => {
    const { events, store } = await record(plan)
    const live = events.filter((event) => event.durable)
    expect(live.map(({ seq, entry }) => [seq, entry.seq])).toEqual(live.map((_, i) => [i + 1, i + 1]))
    expect(live).toEqual((await store.read('s')).map(durable))
  })

  test('its provisional events are numbered and say after which entry they came', async () => {
    const { events } = await record(plan)
    let [head, n] = [0, 0]
    for (const event of events) {
      if (event.durable) head = event.seq
      else expect({ after: event.after, n: event.n }).toEqual({ after: head, n: ++n })
    }
    expect(n).toBeGreaterThan(0)
  })

  test('its events survive JSON', async () => {
    const { events } = await record(plan)
    expect(JSON.parse(JSON.stringify(events))).toEqual(events)
  })
})

test('the events of children come wrapped with their id and depth, numbered by their own logs', async () => {
  const spawn = createSpawnTool()
  const nested = [[call('c1', 'spawn', { task: 'a' })], [call('c2', 'spawn', { task: 'b' })], 'leaf', 'child', 'root']
  const { children, store } = await record({ steps: nested, tools: [spawn] })
  expect(children.every(isValid)).toBe(true)
  for (const [id, depth] of [
    ['s/c1', 1],
    ['s/c1/c2', 2],
  ] as const) {
    const own = children.filter(({ child }) => child.id === id)
    const lasting = own.flatMap(({ event }) => (event.durable ? [event] : []))
    expect(new Set(own.map(({ child }) => child.depth))).toEqual(new Set([depth]))
    expect(lasting).toEqual((await store.read(id)).map(durable))
    expect(own.some(({ event }) => !event.durable && event.type === 'text')).toBe(true)
  }
})

test('streamed text belongs to its turn and attempt, and a retry makes it void', async () => {
  const { events } = await record({ steps: [retrying] })
  const shown = events.flatMap((event) => (event.durable ? [] : [event]))
  const { turnId } = shown[0]!
  expect(shown.map(({ durable: _, after: __, n: ___, ...event }) => event)).toEqual([
    { type: 'turn_started', turnId, step: 1 },
    { type: 'stream_started', turnId, attempt: 1 },
    { type: 'text', turnId, attempt: 1, delta: 'half a' },
    { type: 'stream_void', turnId, attempt: 2, reason: 'overloaded', delayMs: 10 },
    { type: 'text', turnId, attempt: 2, delta: 'whole' },
  ])
})

test('a turn that fails shows the text that had come', async () => {
  const { events } = await record(runs['a run that is aborted in the middle of a text']!)
  const failed = events.find((event) => typeOf(event) === 'turn_failed')
  expect(failed).toMatchObject({ stop: 'aborted', error: 'The run was aborted', partial: 'a text o' })
})

test('the log of a child has the same shape and names its parent', async () => {
  const { store, agent } = await record(runs['a run that spawns a child']!)
  const child = (await store.read('s/c1')).map(durable)
  expect(child.map((event) => isValid(event))).toEqual(child.map(() => true))
  const parent = { session: 's', runId: agent.session!.runs[0]!.id, callId: 'c1' }
  expect(child[0]!.entry).toMatchObject({ type: 'run_started', parent })
})

test('two followers each count for themselves, and one that leaves receives nothing more', async () => {
  const agent = createAgent({ provider: scripted('one', 'two'), execution: memoryExecution() })
  const [stayed, left]: [AgentEvent[], AgentEvent[]] = [[], []]
  followEvents(agent, (event) => stayed.push(event))
  const unfollow = followEvents(agent, (event) => left.push(event))
  await agent.run({ prompt: 'a' })
  expect(left).toEqual(stayed)
  unfollow()
  const heard = [...left]
  await agent.run({ prompt: 'b' })
  expect(left).toEqual(heard)
  expect(stayed.map(typeOf)).toEqual([...heard, ...heard].map(typeOf))
})

test('a follower that throws does not disturb the run', async () => {
  const hooks = { 'hook:error': () => {} }
  const agent = createAgent({ provider: scripted('fine'), execution: memoryExecution(), hooks })
  followEvents(agent, () => {
    throw new Error('a broken screen')
  })
  expect(await agent.run({ prompt: 'a' })).toMatchObject({ text: 'fine', stopReason: 'end' })
})

async function record({ steps, tools = [], hooks, options }: Plan): Promise<Recording> {
  const store = createMemoryStore()
  const session = await createSession({ store, id: 's' })
  const byName = Object.fromEntries(tools.map((one) => [one.spec.name, one]))
  const agent = createAgent({ provider: scripted(...steps), session, tools: byName, execution: memoryExecution() })
  const events: (DurableEvent | ProvisionalEvent)[] = []
  const children: ChildEvent[] = []
  followEvents(agent, (event) => ('child' in event ? children.push(event) : events.push(event)))
  // However it ends, the last event says so.
  await agent.run({ prompt: 'go', ...options, ...(hooks && { hooks: hooks(agent) }) }).catch(() => {})
  return { events, children, store, agent }
}

const typeOf = (event: AgentEvent): string => (event.durable ? event.entry.type : event.type)

/** The schema itself lets fields pass that it does not know; in this test an unknown field means that the schema lacks it. */
const strictly = new Validator(closed(eventSchema), '2020-12')
const isValid = (event: AgentEvent): boolean => strictly.validate(event).valid

function closed(schema: JsonSchema): JsonSchema {
  const copy: Record<string, unknown> = structuredClone(schema)
  for (const [key, value] of Object.entries(copy))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) copy[key] = closed(value as JsonSchema)
  return 'required' in copy ? { ...copy, additionalProperties: false } : copy
}
