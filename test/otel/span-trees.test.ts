import { fileURLToPath } from 'node:url'
import { propagation } from '@opentelemetry/api'
import { expect, onTestFinished, test } from 'vitest'
import type { LogEntry } from '../../src/core/log.ts'
import type { ToolDef } from '../../src/core/tool.ts'
import { createAgent, createMemoryStore, createSession, createSpawnTool, loadSession } from '../../src/index.ts'
import { tracing } from '../../src/otel/index.ts'
import { call, scripted, tool } from '../../src/testing/index.ts'
import type { ModelEvent, SessionStore } from '../../src/types.ts'
import { strictModel } from '../stories/compaction-kit.ts'
import { look, memorySdk, secret, toldBy, traced, tree, useContexts } from './otel-kit.ts'

useContexts()

const reply = (text: string): ModelEvent[] => [
  { type: 'text', delta: text },
  { type: 'reply', content: [{ type: 'text', text }], usage: { input: 3, output: 2 }, stop: 'end' },
]

test('DR01 a tool that throws is an error of its span, and the run goes on', async () => {
  const broken: ToolDef = { ...look, execute: async () => Promise.reject(new Error(`no eyes ${secret}`)) }
  const { spans } = await traced({ script: [[call('1', 'look', {})], 'Done.'], tools: { look: broken } })
  expect(tree(spans)).toEqual([
    'invoke_agent clerk',
    '  chat script-1',
    '  execute_tool look !tool_error',
    '  chat script-1',
  ])
})

test('DR01 each attempt of a model call is a span, with the code of the service', async () => {
  const events: ModelEvent[] = [
    { type: 'text', delta: 'Hal' },
    { type: 'retry', attempt: 2, reason: `overloaded ${secret}`, code: 'overloaded_error' },
    { type: 'retry', attempt: 3, reason: 'the line was cut' },
    ...reply('Hallo.'),
  ]
  const { spans, metrics } = await traced({ script: [events] })
  expect(tree(spans)).toEqual([
    'invoke_agent clerk',
    ...['  chat script-1 !overloaded_error (gen_ai.client.operation.exception)'],
    ...['  chat script-1 !_OTHER attempt 2 (gen_ai.client.operation.exception)', '  chat script-1 attempt 3'],
  ])
  expect(toldBy(spans)).not.toContain('sk-ant')
  const durations = metrics
    .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics))
    .find(({ descriptor }) => descriptor.name === 'gen_ai.client.operation.duration')!
  expect(durations.dataPoints.map(({ attributes }) => attributes['error.type'])).toContain('overloaded_error')
})

test('DR01 a model that fails for good fails its span and the run, with what was said masked', async () => {
  const { spans } = await traced({ script: [new Error(`overloaded ${secret}`)] })
  expect(tree(spans)).toEqual([
    'invoke_agent clerk !AgentProviderError (gen_ai.client.operation.exception)',
    '  chat script-1 !AgentProviderError (gen_ai.client.operation.exception)',
  ])
  expect(toldBy(spans)).toContain('overloaded [REDACTED')
})

test('DR01 decisions and compactions are events', async () => {
  let calls = 0
  const { spans } = await traced({
    script: [],
    tools: { look: { ...look, execute: async () => 'x'.repeat(2000), effects: ['fs.read'] } },
    agent: {
      provider: strictModel({
        window: 100_000,
        answer: () => (++calls < 5 ? [call(`${calls}`, 'look', {})] : 'Done.'),
      }),
      authority: { mode: 'yolo' },
      behavior: { compactStrategy: 'summary', compactThreshold: 3000, compactKeepTurns: 1 },
    },
  })
  const [root] = tree(spans)
  expect(root).toContain('(libero.approval)')
  expect(root).toContain('(libero.compaction)')
  expect(spans.map(({ attributes }) => attributes['libero.model.cause'])).toContain('compaction')
})

test('DR01 a sub-agent and its attempts are inside the call that started it', async () => {
  const { spans } = await traced({
    script: [
      [call('1', 'spawn', { task: 'sub' })],
      [{ type: 'retry', attempt: 2, reason: 'busy', code: 'busy' }, ...reply('From below.')],
      'Done.',
    ],
    tools: { spawn: createSpawnTool() },
  })
  expect(tree(spans)).toEqual([
    'invoke_agent clerk',
    '  chat script-1',
    '  execute_tool spawn',
    '    invoke_agent',
    '      chat script-1 !busy (gen_ai.client.operation.exception)',
    '      chat script-1 attempt 2',
    '  chat script-1',
  ])
})

test('DR02 an MCP server gets the span of its call and the baggage of the program in _meta, and there is no second span', async () => {
  // It injects no traceparent: that is ours.
  propagation.setGlobalPropagator({
    inject: (_, carrier, setter) => setter.set(carrier, 'baggage', 'team=tools'),
    extract: (active) => active,
    fields: () => ['baggage'],
  })
  onTestFinished(() => propagation.disable())
  const server = fileURLToPath(new URL('../cli/mcp-server.mjs', import.meta.url))
  const { spans, agent } = await traced({
    script: [[call('1', 'mcp_demo_ask', { text: 'meta' })], 'Done.'],
    agent: { mcpServers: [{ name: 'demo', transport: 'stdio', command: process.execPath, args: [server, 'demo'] }] },
  })
  expect(tree(spans)).toEqual([
    'invoke_agent clerk',
    '  chat script-1',
    '  execute_tool mcp_demo_ask',
    '  chat script-1',
  ])
  const span = spans.find(({ name }) => name.startsWith('execute_tool'))!
  expect(span.attributes).toMatchObject({
    'gen_ai.tool.type': 'extension',
    'mcp.method.name': 'tools/call',
    'libero.mcp.server': 'demo',
  })
  const { traceId, spanId } = span.spanContext()
  const told = JSON.stringify(agent.turns)
  expect(told).toContain(`00-${traceId}-${spanId}-01`)
  expect(told).toContain('team=tools')
})

const ask = tool(
  'ask',
  (_, ctx) => ctx.answer?.map((block) => ('text' in block ? block.text : '')).join('') ?? ctx.suspend('When?'),
)

/** A run that was suspended, in a store. */
async function suspended(): Promise<{ store: SessionStore; trace: string }> {
  const store = createMemoryStore()
  const session = await createSession({ store, id: 's' })
  const { spans, agent } = await traced({
    script: [[call('1', 'ask', {})]],
    tools: { ask },
    agent: { session },
  })
  expect(tree(spans)).toEqual(['invoke_agent clerk', '  chat script-1', '  execute_tool ask suspended'])
  await agent.destroy()
  const { traceId, spanId } = spans.at(-1)!.spanContext()
  return { store, trace: `00-${traceId}-${spanId}-01` }
}

async function goOn(store: SessionStore) {
  const { options, exporter } = memorySdk()
  const session = (await loadSession(store, 's'))!
  const agent = createAgent({
    ...{ provider: scripted('Done.'), name: 'clerk', tools: { ask }, session },
    extensions: [tracing(options)],
  })
  onTestFinished(() => agent.destroy())
  await session.answer('1', { content: 'now' })
  await agent.run()
  return exporter.getFinishedSpans()
}

test('DR02 a run that goes on after a suspension is a new trace, linked to the span that the log kept', async () => {
  const { store, trace } = await suspended()
  const spans = await goOn(store)
  expect(tree(spans)).toEqual(['invoke_agent clerk -> link', '  execute_tool ask attempt 2', '  chat script-1'])
  const { traceId, spanId } = spans.at(-1)!.links[0]!.context
  expect(`00-${traceId}-${spanId}-01`).toBe(trace)
  expect(spans.at(-1)!.spanContext().traceId).not.toBe(traceId)
})

test('DR02 a run that another process takes over says so', async () => {
  const { store, trace } = await suspended()
  const elsewhere = createMemoryStore()
  const lease = await elsewhere.lease('s', { owner: 'dead', ttlMs: 1000, create: true })
  const entries = (await store.read('s')).map(
    (entry): LogEntry => (entry.type === 'run_started' ? { ...entry, processId: 'dead' } : entry),
  )
  await elsewhere.append('s', entries, lease)
  await elsewhere.lease('s', { owner: 'dead', ttlMs: 0, epoch: lease.epoch })
  const spans = await goOn(elsewhere)
  expect(tree(spans)[0]).toBe('invoke_agent clerk (libero.takeover) -> link')
  expect(trace).toContain(spans.at(-1)!.links[0]!.context.spanId)
})
