import {
  type Attributes,
  type Context,
  context,
  metrics,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'
import type { Agent } from '../core/agent.ts'
import type { AroundModel, AroundOutcomes, AroundTool } from '../core/around.ts'
import { messageOf } from '../core/errors.ts'
import { useTraceContext } from '../core/meta.ts'
import type { RunFacts } from '../core/run.ts'
import { version } from '../core/version.ts'
import { createRedactor, type RedactorOptions, redactedStart } from '../platform/redact.ts'
import { createHistograms } from './histograms.ts'
import * as names from './names.ts'

export interface TracingOptions {
  /** Default: the global one. */
  readonly tracerProvider?: TracerProvider
  /** Default: the global one. */
  readonly meterProvider?: Parameters<typeof metrics.setGlobalMeterProvider>[0]
  /** Arguments and results of tools and replies of models become attributes, masked and cut at 8 KB. Default false. */
  readonly captureContent?: boolean
  /** Masked in content, besides texts that look like a secret. */
  readonly redact?: RedactorOptions
}

const mostContent = 8 * 1024

/**
 * Makes spans and histograms of an agent's runs, model calls and tool calls, and of those of its children, by the GenAI
 * conventions of OpenTelemetry. Tools, MCP servers and commands run inside the span of their call. Returns a function that
 * removes it; it changes nothing of what the agent does.
 */
export function traceAgent(agent: Pick<Agent, 'hooks' | 'meta' | 'name'>, options: TracingOptions = {}): () => void {
  const { captureContent = false, redact } = options
  const tracer = (options.tracerProvider ?? trace).getTracer('libero', version)
  const histograms = createHistograms((options.meterProvider ?? metrics).getMeter('libero', version))
  const redactor = createRedactor(redact ?? { env: process.env })
  const open = new Map<string, Span>()
  useTraceContext(headersOf)

  /** Runs the work inside a span, which ends with it. */
  async function inSpan<Outcome>(
    span: Span,
    parent: Context,
    work: () => Promise<Outcome>,
    onDone: (outcome: Outcome | undefined, error: unknown) => void,
  ): Promise<void> {
    try {
      onDone(await context.with(trace.setSpan(parent, span), work), undefined)
    } catch (error) {
      span.recordException(error instanceof Error ? error : new Error(messageOf(error)))
      span.setStatus({ code: SpanStatusCode.ERROR, message: redactor.text(messageOf(error)) })
      span.setAttribute(names.errorType, error instanceof Error ? error.name : 'Error')
      onDone(undefined, error)
      throw error
    } finally {
      span.end()
    }
  }

  const content = (value: unknown): string => redactedStart(redactor, textOf(value), mostContent)

  async function run(facts: RunFacts, next: () => Promise<AroundOutcomes['run']>): Promise<void> {
    const parent = facts.meta ? propagation.extract(context.active(), facts.meta, metaGetter) : context.active()
    const name = facts.agent ?? agent.name
    const attributes: Attributes = {
      [names.operation]: 'invoke_agent',
      [names.providerName]: agent.meta.name,
      [names.requestModel]: agent.meta.defaultModel,
      [names.runId]: facts.runId,
      ...(name !== undefined && { [names.agentName]: name }),
      ...(facts.sessionId !== undefined && { [names.conversationId]: facts.sessionId }),
    }
    const kind = SpanKind.INTERNAL
    const span = tracer.startSpan(
      name === undefined ? 'invoke_agent' : `invoke_agent ${name}`,
      { kind, attributes },
      parent,
    )
    const begun = performance.now()
    open.set(facts.runId, span)
    await inSpan(span, parent, next, (stats, error) => {
      open.delete(facts.runId)
      if (stats)
        span.setAttributes({
          [names.inputTokens]: stats.totalIn,
          [names.outputTokens]: stats.totalOut,
          [names.runStatus]: stats.status,
          ...(stats.cost !== undefined && { [names.cost]: stats.cost }),
        })
      histograms.agent.record((performance.now() - begun) / 1000, { ...timed(attributes), ...failure(error) })
    })
  }

  async function model(call: AroundModel, next: () => Promise<AroundOutcomes['model']>): Promise<void> {
    const attributes: Attributes = {
      [names.operation]: 'chat',
      [names.providerName]: call.provider,
      [names.requestModel]: call.model,
      ...(call.cause !== undefined && { [names.modelCause]: call.cause }),
      ...(call.run.sessionId !== undefined && { [names.conversationId]: call.run.sessionId }),
    }
    const parent = context.active()
    const span = tracer.startSpan(`chat ${call.model}`, { kind: SpanKind.CLIENT, attributes }, parent)
    const begun = performance.now()
    open.set(call.turnId, span)
    await inSpan(span, parent, next, (reply, error) => {
      open.delete(call.turnId)
      span.setAttribute(names.callAttempt, call.attempt)
      const common = { ...timed(attributes), ...failure(error) }
      histograms.model.record((performance.now() - begun) / 1000, common)
      if (!reply) return
      span.setAttributes({
        ...usageOf(reply.usage),
        [names.responseModel]: reply.usage.model ?? call.model,
        [names.finishReasons]: [reply.stop],
        ...(captureContent && { [names.outputMessages]: content(reply.content) }),
      })
      histograms.tokens.record(allInput(reply.usage), { ...common, [names.tokenType]: 'input' })
      histograms.tokens.record(reply.usage.output, { ...common, [names.tokenType]: 'output' })
    })
  }

  async function tool(call: AroundTool, next: () => Promise<AroundOutcomes['tool']>): Promise<void> {
    const attributes: Attributes = {
      [names.operation]: 'execute_tool',
      [names.toolName]: call.name,
      [names.toolType]: call.mcp ? 'extension' : 'function',
      [names.toolCallId]: call.callId,
      [names.callAttempt]: call.attempt,
      ...(call.mcp && { [names.mcpServer]: call.mcp.server, [names.mcpMethod]: 'tools/call' }),
      ...(captureContent && { [names.toolArguments]: content(call.input) }),
    }
    const parent = context.active()
    const span = tracer.startSpan(`execute_tool ${call.name}`, { kind: SpanKind.INTERNAL, attributes }, parent)
    const begun = performance.now()
    await inSpan(span, parent, next, (result, error) => {
      if (result?.isError) {
        span.setStatus({ code: SpanStatusCode.ERROR })
        span.setAttribute(names.errorType, 'tool_error')
      }
      if (result?.suspended !== undefined) span.setAttribute(names.suspended, result.suspended)
      if (result && captureContent) span.setAttribute(names.toolResult, content(result.output))
      const failed = error !== undefined ? failure(error) : result?.isError ? { [names.errorType]: 'tool_error' } : {}
      histograms.tool.record((performance.now() - begun) / 1000, { [names.toolName]: call.name, ...failed })
    })
  }

  const { hooks } = agent
  const stops = [
    hooks.around('run', run),
    hooks.around('model', model),
    hooks.around('tool', tool),
    hooks.hook('stream:retry', ({ turnId, attempt, reason }) => {
      open.get(turnId)?.addEvent('gen_ai.client.operation.exception', { attempt, reason: redactor.text(reason) })
    }),
    hooks.hook('tool:decision', ({ name, callId, decision, approver }) => {
      const person = approver === undefined ? {} : { approver }
      trace.getActiveSpan()?.addEvent(names.approvalEvent, {
        [names.toolName]: name,
        [names.toolCallId]: callId,
        decision: decision.verdict,
        ...person,
      })
    }),
    hooks.hook('compaction:after', () => void trace.getActiveSpan()?.addEvent(names.compactionEvent)),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}

type Usage = AroundOutcomes['model']['usage']

/** The conventions count the tokens of the cache as input. */
const allInput = ({ input, cacheRead = 0, cacheCreation = 0 }: Usage): number => input + cacheRead + cacheCreation

const usageOf = (usage: Usage): Attributes => ({
  [names.inputTokens]: allInput(usage),
  [names.outputTokens]: usage.output,
  ...(usage.cacheRead !== undefined && { [names.cacheReadTokens]: usage.cacheRead }),
  ...(usage.cacheCreation !== undefined && { [names.cacheCreationTokens]: usage.cacheCreation }),
  ...(usage.cost !== undefined && { [names.cost]: usage.cost }),
})

/** The attributes of histograms: few values each. */
const timed = (attributes: Attributes): Attributes =>
  Object.fromEntries(
    [names.operation, names.providerName, names.requestModel, names.agentName].flatMap((name) =>
      attributes[name] === undefined ? [] : [[name, attributes[name]]],
    ),
  )

const failure = (error: unknown): Attributes =>
  error === undefined ? {} : { [names.errorType]: error instanceof Error ? error.name : 'Error' }

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** `meta` of a message may carry a `traceparent`: the run is part of that trace. */
const metaGetter = {
  keys: (meta: object): string[] => Object.keys(meta),
  get: (meta: object, key: string): string | undefined => {
    const value = (meta as Record<string, unknown>)[key]
    return typeof value === 'string' ? value : undefined
  },
}

/** The headers that lead other processes to the span that is active now. */
function headersOf(): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {}
  propagation.inject(context.active(), headers)
  return headers
}
