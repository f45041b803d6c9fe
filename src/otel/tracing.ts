import type { Attributes, Context, Link, Span, SpanContext } from '@opentelemetry/api'
import type { Agent } from '../core/agent.ts'
import type { AroundModel, AroundOutcomes, AroundTool } from '../core/around.ts'
import type { HookContexts } from '../core/hook-map.ts'
import type { Hooks } from '../core/hooks.ts'
import { type Meta, useTraceContext } from '../core/meta.ts'
import type { Extension, RunFacts } from '../core/run.ts'
import { context, isSpanContextValid, propagation, spanError, spanKind, trace } from './api.ts'
import { contentOf } from './content.ts'
import { ModelSpans } from './model-spans.ts'
import * as names from './names.ts'
import {
  createTelemetry,
  failureOf,
  markFailed,
  startSpan,
  type Telemetry,
  type TimedSpan,
  type TracingOptions,
} from './telemetry.ts'

/**
 * Makes spans and measurements of an agent's runs, model calls and tool calls, and of those of its children, by the GenAI
 * conventions of OpenTelemetry. Tools, MCP servers and commands run inside the span of their call. Returns a function that
 * removes it; it changes nothing of what the agent does.
 */
export function traceAgent(agent: Pick<Agent, 'hooks'>, options: TracingOptions = {}): () => void {
  return install(agent.hooks, createTelemetry(options))
}

/** `traceAgent` as an extension, for `createAgent({ extensions: [tracing()] })`. */
export function tracing(options: TracingOptions = {}): Extension {
  const telemetry = createTelemetry(options)
  const traced = new WeakSet<AgentHooks>()
  return {
    name: 'tracing',
    async warmup({ hooks }) {
      if (traced.has(hooks)) return // a warmup that failed is tried again
      traced.add(hooks)
      install(hooks, telemetry)
    },
  }
}

type AgentHooks = Hooks<HookContexts>
type Next<Kind extends keyof AroundOutcomes> = () => Promise<AroundOutcomes[Kind]>

function install(hooks: AgentHooks, telemetry: Telemetry): () => void {
  const { instruments, redactor, capturesContent, isMeasured } = telemetry
  /** The runs that are recorded. Without an SDK, or if the run was not sampled, the work of a run makes no spans. */
  const runs = new Map<string, Span>()
  const calls = new Map<string, ModelSpans>()
  let hearsChunks = false
  useTraceContext(traceHeaders)

  async function run(facts: RunFacts, next: Next<'run'>): Promise<void> {
    const { runId, agent: name, sessionId, continues } = facts
    const attributes: Attributes = {
      [names.operation]: 'invoke_agent',
      [names.runId]: runId,
      ...(name !== undefined && { [names.agentName]: name }),
      ...(sessionId !== undefined && { [names.conversationId]: sessionId }),
      ...(continues && { [names.continuedRun]: continues.runId }),
    }
    const parent = parentContext(facts.meta)
    const title = name === undefined ? 'invoke_agent' : `invoke_agent ${name}`
    const started = startSpan(telemetry, title, { kind: spanKind.internal, attributes, links: linksOf(facts) }, parent)
    const { span } = started
    if (span.isRecording() || isMeasured) {
      runs.set(runId, span)
      hearChunks()
    }
    if (continues?.isFromElsewhere) {
      span.addEvent(names.takeoverEvent, { [names.continuedRun]: continues.runId })
      instruments.takeovers.add(1)
    }
    const dimensions = name === undefined ? {} : { [names.agentName]: name }
    try {
      const stats = await inside(parent, span, next)
      span.setAttributes({
        [names.inputTokens]: stats.totalIn,
        [names.outputTokens]: stats.totalOut,
        [names.runStatus]: stats.status,
        ...(stats.cost !== undefined && { [names.cost]: stats.cost }),
      })
      instruments.agent.record(started.seconds(), dimensions)
    } catch (error) {
      const failure = failureOf(error)
      markFailed(telemetry, span, failure)
      instruments.agent.record(started.seconds(), { ...dimensions, [names.errorType]: failure.type })
      throw error
    } finally {
      runs.delete(runId)
      span.end()
    }
  }

  const model = (call: AroundModel, next: Next<'model'>): Promise<unknown> => {
    const ofRun = runs.get(call.run.runId)
    return ofRun ? tracedModel(ofRun, call, next) : next()
  }

  async function tracedModel(ofRun: Span, call: AroundModel, next: Next<'model'>): Promise<void> {
    // Which model a run has is known from its first call.
    ofRun.setAttributes({ ...telemetry.provider(call.provider), [names.requestModel]: call.model })
    const parent = context.active()
    const spans = new ModelSpans(telemetry, call, parent)
    if (call.cause === undefined) calls.set(call.turnId, spans)
    try {
      spans.done(await inside(parent, spans.active, next))
    } catch (error) {
      spans.failed(error)
      throw error
    } finally {
      if (call.cause === undefined) calls.delete(call.turnId)
    }
  }

  const tool = (call: AroundTool, next: Next<'tool'>): Promise<unknown> =>
    runs.has(call.run.runId) ? tracedTool(call, next) : next()

  async function tracedTool(call: AroundTool, next: Next<'tool'>): Promise<void> {
    const { name, mcp } = call
    const attributes: Attributes = {
      [names.operation]: 'execute_tool',
      [names.toolName]: name,
      [names.toolType]: mcp ? 'extension' : 'function',
      [names.toolCallId]: call.callId,
      [names.attempt]: call.attempt,
      ...(mcp && { [names.mcpMethod]: 'tools/call', [names.mcpServer]: mcp.server, [names.mcpTool]: mcp.tool }),
      ...(capturesContent && { [names.toolArguments]: contentOf(redactor, call.input) }),
    }
    const parent = context.active()
    const started = startSpan(telemetry, `execute_tool ${name}`, { kind: spanKind.internal, attributes }, parent)
    const { span } = started
    try {
      const { isError, suspendReason, output } = await inside(parent, span, next)
      if (isError) markToolError(span)
      if (suspendReason !== undefined) span.setAttribute(names.suspended, suspendReason)
      if (capturesContent) span.setAttribute(names.toolResult, contentOf(redactor, output))
      recordTool(started, call, isError ? toolError : undefined)
    } catch (error) {
      const failure = failureOf(error)
      markFailed(telemetry, span, failure)
      recordTool(started, call, failure.type)
      throw error
    } finally {
      span.end()
    }
  }

  function recordTool({ seconds }: TimedSpan, { name, run: { agent } }: AroundTool, error: string | undefined): void {
    instruments.tool.record(seconds(), {
      [names.toolName]: name,
      ...(agent !== undefined && { [names.agentName]: agent }),
      ...(error !== undefined && { [names.errorType]: error }),
    })
  }

  /** Not before it is needed: a listener costs something for each delta. */
  function hearChunks(): void {
    if (hearsChunks) return
    hearsChunks = true
    removals.push(...followChunks(hooks))
  }

  const chunk = ({ turnId }: { readonly turnId: string }): void => calls.get(turnId)?.chunk()

  const followChunks = (hooks: AgentHooks): (() => void)[] => [
    hooks.hook('stream:text', chunk),
    hooks.hook('stream:thinking', chunk),
    hooks.hook('stream:tool:start', chunk),
    hooks.hook('stream:tool:args', chunk),
  ]

  /** What happens inside runs. A child has hooks of its own. */
  const follow = (hooks: AgentHooks): (() => void)[] => [
    hooks.hook('stream:retry', ({ turnId, ...retry }) => calls.get(turnId)?.retry(retry)),
    hooks.hook('tool:decision', addApproval),
    hooks.hook('compaction:after', addCompaction),
    hooks.hook('spawn:before', (child) => {
      follow(child.hooks)
      if (hearsChunks) followChunks(child.hooks)
    }),
  ]

  const removals = [
    hooks.around('run', run),
    hooks.around('model', model),
    hooks.around('tool', tool),
    ...follow(hooks),
  ]
  return () => {
    for (const remove of removals) remove()
  }
}

/** What the tool said is content, so it is not the message of the error. */
function markToolError(span: Span): void {
  span.setAttribute(names.errorType, toolError)
  span.setStatus({ code: spanError })
}

const toolError = 'tool_error'

/** Runs the work with its span as the active one. */
const inside = <T>(parent: Context, span: Span, work: () => Promise<T>): Promise<T> =>
  context.with(trace.setSpan(parent, span), work)

/** A run that goes on with another one is linked to the span of that one. */
function linksOf({ continues }: RunFacts): Link[] {
  const span = continues?.trace === undefined ? undefined : spanContextOf(continues.trace)
  return span ? [{ context: span, attributes: { [names.runId]: continues!.runId } }] : []
}

function addApproval({ name, callId, decision, approver }: HookContexts['tool:decision']): void {
  trace.getActiveSpan()?.addEvent(names.approvalEvent, {
    [names.toolName]: name,
    [names.toolCallId]: callId,
    [names.verdict]: decision.verdict,
    ...(approver !== undefined && { [names.approver]: approver }),
  })
}

function addCompaction({ bytesBefore, bytesAfter }: HookContexts['compaction:after']): void {
  trace
    .getActiveSpan()
    ?.addEvent(names.compactionEvent, { [names.bytesBefore]: bytesBefore, [names.bytesAfter]: bytesAfter })
}

/**
 * The headers that lead other processes to the span that is active now: those of the program's propagator, and
 * `traceparent` even if it has none.
 */
function traceHeaders(): Readonly<Record<string, string>> {
  const active = context.active()
  const headers: Record<string, string> = {}
  propagation.inject(active, headers)
  const span = trace.getSpanContext(active)
  if (headers.traceparent === undefined && span && isSpanContextValid(span)) headers.traceparent = traceparentOf(span)
  return headers
}

/** The context in which a run begins: that of the message it answers, else the active one. */
function parentContext(meta: Meta | undefined): Context {
  const active = context.active()
  if (!meta) return active
  const given = propagation.extract(active, meta, metaGetter)
  if (given !== active) return given
  const span = typeof meta.traceparent === 'string' ? spanContextOf(meta.traceparent) : undefined
  return span ? trace.setSpanContext(active, span) : active
}

/** The span that a `traceparent` names; `undefined` if it names none. */
function spanContextOf(traceparent: string): SpanContext | undefined {
  const [, traceId, spanId, flags] =
    /^[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-|$)/.exec(traceparent) ?? []
  if (traceId === undefined || spanId === undefined) return undefined
  const span = { traceId, spanId, traceFlags: Number.parseInt(flags!, 16) & 1, isRemote: true }
  return isSpanContextValid(span) ? span : undefined
}

const traceparentOf = ({ traceId, spanId, traceFlags }: SpanContext): string =>
  `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`

const metaGetter = {
  keys: (meta: Meta): string[] => Object.keys(meta),
  get: (meta: Meta, key: string): string | undefined => {
    const value = meta[key]
    return typeof value === 'string' ? value : undefined
  },
}
