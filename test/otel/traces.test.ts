import { context, propagation, type TracerProvider, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import type { ToolDef } from '../../src/core/tool.ts'
import { createAgent, createMemoryStore, createProcessContext, createSession } from '../../src/index.ts'
import { type TracingOptions, traceAgent } from '../../src/otel/index.ts'
import { call, type Step, scripted } from '../../src/testing/index.ts'
import { shell } from '../../src/tools/index.ts'

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(w3c)
})
afterAll(() => {
  context.disable()
  propagation.disable()
})

/** `traceparent` as the SDK writes it; its own propagator is in a package that nothing else needs. */
const w3c = {
  inject(from: Parameters<typeof trace.getSpanContext>[0], carrier: Record<string, string>) {
    const span = trace.getSpanContext(from)
    if (span) carrier.traceparent = `00-${span.traceId}-${span.spanId}-01`
  },
  extract(
    to: Parameters<typeof trace.getSpanContext>[0],
    carrier: object,
    getter: { get(carrier: object, key: string): unknown },
  ) {
    const [, traceId, spanId] = /^00-(\w{32})-(\w{16})-/.exec(String(getter.get(carrier, 'traceparent'))) ?? []
    return traceId && spanId ? trace.setSpanContext(to, { traceId, spanId, traceFlags: 1, isRemote: true }) : to
  },
  fields: () => ['traceparent'],
} as never

const secret = 'sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKlMnOpQrStUvWxYz-AAAA'

interface Traced {
  readonly script: readonly Step[]
  readonly tools?: Record<string, ToolDef>
  readonly options?: Partial<TracingOptions>
  readonly run?: object
}

async function traced({ script, tools = {}, options, run = {} }: Traced) {
  const exporter = new InMemorySpanExporter()
  const tracerProvider: TracerProvider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  })
  const metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const meterProvider = new MeterProvider({
    readers: [new PeriodicExportingMetricReader({ exporter: metrics, exportIntervalMillis: 60_000 })],
  })
  onTestFinished(() => meterProvider.shutdown())
  const agent = createAgent({
    provider: scripted(...script),
    name: 'clerk',
    tools,
    session: await createSession({ store: createMemoryStore(), id: 's' }),
    execution: createProcessContext({ sandbox: 'off' }),
  })
  onTestFinished(() => agent.destroy())
  const stop = traceAgent(agent, { tracerProvider, meterProvider, ...options })
  const stats = await agent.run({ prompt: `Hi ${secret}`, ...run }).catch((error: Error) => error)
  await meterProvider.forceFlush()
  return { agent, stats, stop, spans: exporter.getFinishedSpans(), metrics: metrics.getMetrics(), exporter }
}

/** Spans as an indented tree, children in the order of their begin. */
function tree(spans: readonly ReadableSpan[], parent?: string, depth = 0): string[] {
  return spans
    .filter((span) => span.parentSpanContext?.spanId === parent)
    .toSorted((a, b) => a.startTime[0] - b.startTime[0] || a.startTime[1] - b.startTime[1])
    .flatMap((span) => [`${'  '.repeat(depth)}${span.name}`, ...tree(spans, span.spanContext().spanId, depth + 1)])
}

const look: ToolDef = {
  spec: { name: 'look', description: 'Looks', inputSchema: { type: 'object' } },
  execute: async () => `seen ${trace.getActiveSpan()?.spanContext().spanId}, key ${secret}`,
}

test('A237 runs, model calls, tools and sub-agents are one trace, and a tool runs inside its span', async () => {
  const delegate: ToolDef = {
    spec: { name: 'delegate', description: 'Asks another agent', inputSchema: { type: 'object' } },
    async execute(_input, ctx) {
      const child = await ctx.createChild({})
      return (await child.run({ prompt: 'sub' })).text
    },
  }
  const { spans, agent } = await traced({
    script: [[call('1', 'look', {}), call('2', 'delegate', {})], 'From below.', 'Done.'],
    tools: { look, delegate },
  })
  expect(tree(spans)).toEqual([
    'invoke_agent clerk',
    '  chat script-1',
    '  execute_tool look',
    '  execute_tool delegate',
    expect.stringMatching(/^ {4}invoke_agent/),
    '      chat script-1',
    '  chat script-1',
  ])
  const tool = spans.find(({ name }) => name === 'execute_tool look')!
  expect(JSON.stringify(agent.turns)).toContain(`seen ${tool.spanContext().spanId}`)
  expect(tool.attributes).toMatchObject({
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'look',
    'gen_ai.tool.call.id': '1',
    'gen_ai.tool.type': 'function',
  })
  const chat = spans.find(({ name }) => name === 'chat script-1')!
  expect(chat.attributes).toMatchObject({
    'gen_ai.provider.name': 'scripted',
    'gen_ai.request.model': 'script-1',
    'gen_ai.usage.input_tokens': expect.any(Number),
    'gen_ai.conversation.id': 's',
  })
  expect(spans.at(-1)!.attributes).toMatchObject({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'clerk',
    'libero.run.status': 'completed',
  })
})

test('A237 taken away again, tracing leaves the agent as it was', async () => {
  const { agent, stop, exporter } = await traced({ script: ['One.', 'Two.'] })
  stop()
  exporter.reset()
  expect((await agent.run({ prompt: 'again' })).text).toBe('Two.')
  expect(exporter.getFinishedSpans()).toEqual([])
})

test('A237 without content no prompt, argument, result or answer is in a span', async () => {
  const script: Step[] = [[call('1', 'look', { where: 'the-argument' })], 'the-answer']
  const { spans } = await traced({ script, tools: { look } })
  expect(JSON.stringify(spans.map(({ attributes, events, status }) => [attributes, events, status]))).not.toMatch(
    /the-argument|the-answer|seen|sk-ant/,
  )
})

test('A237 with content it is masked and cut', async () => {
  const long: ToolDef = { ...look, execute: async () => `key ${secret} ${'x'.repeat(50_000)}` }
  const { spans } = await traced({
    script: [[call('1', 'look', { key: secret })], 'the-answer'],
    tools: { look: long },
    options: { captureContent: true },
  })
  const text = JSON.stringify(spans.map(({ attributes }) => attributes))
  expect(text).toContain('the-answer')
  expect(text).not.toContain('sk-ant')
  const result = spans.find(({ name }) => name === 'execute_tool look')!.attributes['gen_ai.tool.call.result']
  expect(String(result).length).toBeLessThanOrEqual(8 * 1024)
})

test('A237 a failing model and a failing tool are errors of their spans', async () => {
  const broken: ToolDef = { ...look, execute: async () => Promise.reject(new Error('no eyes')) }
  const { spans } = await traced({
    script: [[call('1', 'look', {})], new Error(`overloaded ${secret}`)],
    tools: { look: broken },
  })
  const failed = spans.filter(({ status }) => status.code === 2).map(({ name }) => name)
  expect(failed).toEqual(expect.arrayContaining(['execute_tool look', 'chat script-1', 'invoke_agent clerk']))
  expect(JSON.stringify(spans.map(({ status }) => status))).not.toContain('sk-ant')
})

test('A237 commands get the context of their call as TRACEPARENT, and a message brings one along as meta', async () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  const { spans, agent } = await traced({
    script: [[call('1', 'shell', { command: 'echo "parent=$TRACEPARENT"' })], 'Done.'],
    tools: { shell },
    run: { meta: { traceparent: `00-${traceId}-b7ad6b7169203331-01` } },
  })
  const tool = spans.find(({ name }) => name === 'execute_tool shell')!
  expect(tool.spanContext().traceId).toBe(traceId)
  expect(JSON.stringify(agent.turns)).toContain(`parent=00-${traceId}-${tool.spanContext().spanId}-01`)
})

test('A237 durations and tokens are histograms', async () => {
  const { metrics } = await traced({ script: [[call('1', 'look', {})], 'Done.'], tools: { look } })
  const names = metrics.flatMap(({ scopeMetrics }) =>
    scopeMetrics.flatMap((scope) => scope.metrics.map(({ descriptor }) => descriptor.name)),
  )
  expect(names.sort()).toEqual([
    'gen_ai.client.operation.duration',
    'gen_ai.client.token.usage',
    'gen_ai.execute_tool.duration',
    'gen_ai.invoke_agent.duration',
  ])
})
