import type {
  Attributes,
  Context,
  Counter,
  Histogram,
  Meter,
  Span,
  SpanOptions,
  Tracer,
  TracerProvider,
} from '@opentelemetry/api'
import { AgentProviderError, messageOf } from '../core/errors.ts'
import { version } from '../core/version.ts'
import { createRedactor, type Redactor, type RedactorOptions, redactedStart } from '../platform/redact.ts'
import { createNoopMeter, metrics, spanError, trace } from './api.ts'
import * as names from './names.ts'

export interface TracingOptions {
  /** Default: the global one. */
  readonly tracerProvider?: TracerProvider
  /** Default: the global one. */
  readonly meterProvider?: { getMeter(name: string, version?: string): Meter }
  /**
   * Prompts, replies, arguments and results become attributes, masked and cut at 8 KB. Default: what the variable
   * `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` says, else false.
   */
  readonly captureContent?: boolean
  /** Masked in content and errors, besides texts that look like a secret. Default: the secrets of the environment. */
  readonly redact?: RedactorOptions
  /** The version of the conventions: with `1.36` the provider is `gen_ai.system`. Default `latest`. */
  readonly semconv?: 'latest' | '1.36'
}

/** Where spans and measurements go, and what they may contain. */
export interface Telemetry {
  readonly tracer: Tracer
  readonly instruments: Instruments
  /** There is a program to measure for. */
  readonly isMeasured: boolean
  readonly redactor: Redactor
  readonly capturesContent: boolean
  /** The attribute for a provider. */
  provider(name: string): Attributes
}

export function createTelemetry(options: TracingOptions = {}): Telemetry {
  const { captureContent = isCaptureWanted(process.env), redact = { env: process.env }, semconv = 'latest' } = options
  if (semconv !== 'latest' && semconv !== '1.36')
    throw new TypeError(`The option "semconv" must be 'latest' or '1.36', got ${JSON.stringify(semconv)}`)
  const providerName = semconv === '1.36' ? names.system : names.providerName
  const meter = (options.meterProvider ?? metrics).getMeter('libero', version)
  return {
    tracer: (options.tracerProvider ?? trace).getTracer('libero', version),
    instruments: createInstruments(meter),
    isMeasured: meter !== createNoopMeter(),
    redactor: createRedactor(redact),
    capturesContent: captureContent,
    provider: (name) => ({ [providerName]: names.providerValue(name) }),
  }
}

/** Besides `true`, the conventions know where to put content; spans are the only place that we have. */
function isCaptureWanted(env: Readonly<Record<string, string | undefined>>): boolean {
  const wanted = env.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT?.trim().toLowerCase()
  return wanted === 'true' || wanted === 'span_only' || wanted === 'span_and_event'
}

/** A span with its duration, which is also recorded as a measurement. */
export interface TimedSpan {
  readonly span: Span
  /** Seconds since it began. */
  seconds(): number
}

export function startSpan({ tracer }: Telemetry, name: string, options: SpanOptions, parent: Context): TimedSpan {
  const begun = performance.now()
  return { span: tracer.startSpan(name, options, parent), seconds: () => (performance.now() - begun) / 1000 }
}

/** The end of a span that failed: its `error.type`, and the message of the error, masked. */
export interface Failure {
  readonly type: string
  readonly message: string
}

/** An error as a failure: the service's own code, else the name of its class. */
export function failureOf(error: unknown): Failure {
  const { providerCode } = error instanceof AgentProviderError ? error : {}
  return { type: providerCode ?? (error instanceof Error ? error.name : names.otherError), message: messageOf(error) }
}

/** Marks a span as failed. The stack of an error is left out: it repeats the message, unmasked. */
export function markFailed({ redactor }: Telemetry, span: Span, { type, message }: Failure): void {
  const masked = redactedStart(redactor, message, 1024)
  span.addEvent(names.exceptionEvent, { [names.exceptionType]: type, [names.exceptionMessage]: masked })
  span.setAttribute(names.errorType, type)
  span.setStatus({ code: spanError, message: masked })
}

/** What is measured, with the buckets of the conventions. */
interface Instruments {
  readonly agent: Histogram
  readonly model: Histogram
  readonly firstChunk: Histogram
  readonly chunk: Histogram
  readonly tool: Histogram
  readonly tokens: Histogram
  readonly takeovers: Counter
}

function createInstruments(meter: Meter): Instruments {
  const histogram = (name: string, unit = 's', buckets = names.seconds): Histogram =>
    meter.createHistogram(name, { unit, advice: { explicitBucketBoundaries: buckets } })
  return {
    agent: histogram(names.agentDuration, 's', names.agentSeconds),
    model: histogram(names.modelDuration),
    firstChunk: histogram(names.firstChunkTime),
    chunk: histogram(names.chunkTime),
    tool: histogram(names.toolDuration),
    tokens: histogram(names.tokenUsage, '{token}', names.tokens),
    takeovers: meter.createCounter(names.takeovers, { unit: '{run}' }),
  }
}
