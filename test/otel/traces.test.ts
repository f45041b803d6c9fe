import type { Histogram } from '@opentelemetry/sdk-metrics'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { ToolDef } from '../../src/core/tool.ts'
import { createAgent } from '../../src/index.ts'
import { traceAgent, tracing } from '../../src/otel/index.ts'
import { agentSeconds, seconds, tokens } from '../../src/otel/names.ts'
import { call, type Step, scripted } from '../../src/testing/index.ts'
import { shell } from '../../src/tools/index.ts'
import { look, memorySdk, secret, toldBy, traced, tree, useContexts } from './otel-kit.ts'

useContexts()

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
  const { options, exporter } = memorySdk()
  const agent = createAgent({ provider: scripted('One.', 'Two.') })
  const stop = traceAgent(agent, options)
  await agent.run({ prompt: 'go' })
  expect(tree(exporter.getFinishedSpans())).toEqual(['invoke_agent', '  chat script-1'])
  stop()
  exporter.reset()
  expect((await agent.run({ prompt: 'again' })).text).toBe('Two.')
  expect(exporter.getFinishedSpans()).toEqual([])
})

test('A237 without content no prompt, argument, result or answer is in a span', async () => {
  const script: Step[] = [[call('1', 'look', { where: 'the-argument' })], 'the-answer']
  const { spans } = await traced({ script, tools: { look } })
  expect(toldBy(spans)).not.toMatch(/the-argument|the-answer|seen|sk-ant/)
})

test('A237 with content it is masked and cut', async () => {
  const long: ToolDef = { ...look, execute: async () => `key ${secret} ${'x'.repeat(50_000)}` }
  const { spans } = await traced({
    script: [[call('1', 'look', { key: secret })], 'the-answer'],
    tools: { look: long },
    options: { captureContent: true },
  })
  const text = toldBy(spans)
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
  expect(toldBy(spans)).not.toContain('sk-ant')
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

test('DR03 durations, chunks and tokens are histograms with the buckets of the conventions', async () => {
  const { metrics } = await traced({ script: [[call('1', 'look', {})], 'Done.'], tools: { look } })
  const names = metrics.flatMap(({ scopeMetrics }) =>
    scopeMetrics.flatMap((scope) => scope.metrics.map(({ descriptor }) => descriptor.name)),
  )
  expect(names.sort()).toEqual([
    'gen_ai.client.operation.duration',
    'gen_ai.client.operation.time_per_output_chunk',
    'gen_ai.client.operation.time_to_first_chunk',
    'gen_ai.client.token.usage',
    'gen_ai.execute_tool.duration',
    'gen_ai.invoke_agent.duration',
  ])
  const boundaries = (name: string) =>
    metrics
      .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics))
      .filter(({ descriptor }) => descriptor.name === name)
      .flatMap(({ dataPoints }) => dataPoints.map(({ value }) => (value as Histogram).buckets.boundaries))[0]
  expect(boundaries('gen_ai.invoke_agent.duration')).toEqual(agentSeconds)
  expect(boundaries('gen_ai.client.operation.time_per_output_chunk')).toEqual(seconds)
  expect(boundaries('gen_ai.client.token.usage')).toEqual(tokens)
})

test('DR03 with the conventions of 1.36 the provider is gen_ai.system; another version is refused', async () => {
  const { spans } = await traced({ script: ['Hi.'], options: { semconv: '1.36' } })
  expect(spans[0]!.attributes).toMatchObject({ 'gen_ai.system': 'scripted' })
  expect(spans[0]!.attributes).not.toHaveProperty('gen_ai.provider.name')
  expect(() => tracing({ semconv: '1.0' as never })).toThrow(`must be 'latest' or '1.36', got "1.0"`)
})

test('DR04 the variable of the conventions switches content on: prompts, replies, arguments, results', async () => {
  vi.stubEnv('OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT', 'true')
  onTestFinished(() => void vi.unstubAllEnvs())
  const { spans } = await traced({
    script: [[call('1', 'look', { where: 'the-argument' })], 'the-answer'],
    tools: { look },
    agent: { system: 'the-system' },
    run: { prompt: `the-prompt ${secret}` },
  })
  const text = toldBy(spans)
  for (const word of ['the-system', 'the-prompt', 'the-argument', 'seen', 'the-answer']) expect(text).toContain(word)
  expect(text).not.toContain('sk-ant')
  const last = spans.filter(({ name }) => name === 'chat script-1').at(-1)!
  expect(JSON.parse(String(last.attributes['gen_ai.input.messages']))).toMatchObject([
    { role: 'user', parts: [{ type: 'text' }] },
    { role: 'assistant', parts: [{ type: 'tool_call', id: '1', name: 'look' }] },
    { role: 'tool', parts: [{ type: 'tool_call_response', id: '1' }] },
  ])
})
