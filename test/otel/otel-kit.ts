import { context, propagation, trace } from '@opentelemetry/api'
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
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import type { ToolDef } from '../../src/core/tool.ts'
import { createAgent, createMemoryStore, createProcessContext, createSession } from '../../src/index.ts'
import { type TracingOptions, tracing } from '../../src/otel/index.ts'
import { type Step, scripted } from '../../src/testing/index.ts'
import type { AgentOptions } from '../../src/types.ts'

/** Lets spans find their parents, as a program does that uses the SDK. It sets no propagator: ours must do without. */
export function useContexts(): void {
  beforeAll(() => void context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()))
  afterAll(() => {
    context.disable()
    propagation.disable()
  })
}

export const secret = 'sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKlMnOpQrStUvWxYz-AAAA'

/** The real SDK, which keeps what it would send. */
export function memorySdk() {
  const exporter = new InMemorySpanExporter()
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const metrics = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter: metrics, exportIntervalMillis: 60_000 })
  const meterProvider = new MeterProvider({ readers: [reader] })
  onTestFinished(() => meterProvider.shutdown())
  return { exporter, metrics, options: { tracerProvider, meterProvider } }
}

interface Traced {
  readonly script: readonly Step[]
  readonly tools?: Record<string, ToolDef>
  readonly options?: Partial<TracingOptions>
  readonly agent?: Partial<AgentOptions>
  readonly run?: object
}

/** Runs an agent once with a script, traced. */
export async function traced({ script, tools = {}, options, agent: more = {}, run = {} }: Traced) {
  const sdk = memorySdk()
  const agent = createAgent({
    provider: scripted(...script),
    name: 'clerk',
    tools,
    session: await createSession({ store: createMemoryStore(), id: 's' }),
    execution: createProcessContext({ sandbox: 'off' }),
    extensions: [tracing({ ...sdk.options, ...options })],
    ...more,
  })
  onTestFinished(() => agent.destroy())
  const stats = await agent.run({ prompt: `Hi ${secret}`, ...run }).catch((error: Error) => error)
  await sdk.options.meterProvider.forceFlush()
  return { agent, stats, spans: sdk.exporter.getFinishedSpans(), metrics: sdk.metrics.getMetrics() }
}

/** Spans as an indented tree, children in the order of their begin, with errors, attempts and events. */
export function tree(spans: readonly ReadableSpan[]): string[] {
  const known = new Set(spans.map((span) => span.spanContext().spanId))
  const isRoot = ({ parentSpanContext: parent }: ReadableSpan): boolean => !parent || !known.has(parent.spanId)
  const under = (inside: (span: ReadableSpan) => boolean, depth: number): string[] =>
    spans
      .filter(inside)
      .toSorted((a, b) => a.startTime[0] - b.startTime[0] || a.startTime[1] - b.startTime[1])
      .flatMap((span) => [
        `${'  '.repeat(depth)}${lineOf(span)}`,
        ...under(({ parentSpanContext: parent }) => parent?.spanId === span.spanContext().spanId, depth + 1),
      ])
  return under(isRoot, 0)
}

function lineOf({ name, attributes, events, links }: ReadableSpan): string {
  const attempt = attributes['libero.attempt']
  const marks = [
    attributes['error.type'] !== undefined && `!${attributes['error.type']}`,
    typeof attempt === 'number' && attempt > 1 && `attempt ${attempt}`,
    attributes['libero.call.suspended'] !== undefined && 'suspended',
    ...events.map((event) => `(${event.name})`),
    ...links.map(() => '-> link'),
  ]
  return [name, ...marks.filter((mark) => mark !== false)].join(' ')
}

/** Everything that spans tell, as one text. */
export const toldBy = (spans: readonly ReadableSpan[]): string =>
  JSON.stringify(spans.map(({ name, attributes, events, status, links }) => [name, attributes, events, status, links]))

export const look: ToolDef = {
  spec: { name: 'look', description: 'Looks', inputSchema: { type: 'object' } },
  execute: async () => `seen ${trace.getActiveSpan()?.spanContext().spanId}, key ${secret}`,
}
