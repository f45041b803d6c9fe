import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { messageOf } from '../core/errors.ts'
import { version } from '../core/version.ts'
import { peerPackages } from '../platform/peer-packages.ts'
import { createRedactor } from '../platform/redact.ts'
import type { Encoding, ExportedSignals } from './exported-signals.ts'
import type { TracingOptions } from './telemetry.ts'

/** The SDK of OpenTelemetry at work. */
export interface TelemetryExport {
  /** For `tracing`. */
  readonly options: TracingOptions
  /** Sends what is left, for at most two seconds. Resolves with why something could not be sent. */
  close(): Promise<string | undefined>
}

/** How long the end of the process may wait for a collector. */
const closeMs = 2000

/** Needed whatever is sent, beside an exporter for each signal. */
const packages = [
  '@opentelemetry/api',
  '@opentelemetry/context-async-hooks',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-metrics',
  '@opentelemetry/sdk-trace-base',
] as const

const exporters = { json: 'otlp-http', protobuf: 'otlp-proto' } as const
const traceExporter = (encoding: Encoding) => `@opentelemetry/exporter-trace-${exporters[encoding]}`
const metricExporter = (encoding: Encoding) => `@opentelemetry/exporter-metrics-${exporters[encoding]}`

/** Packages of the SDK are missing. */
export class MissingPackagesError extends Error {
  constructor({ traces, metrics }: ExportedSignals, cause: unknown) {
    const all = [...packages, ...(traces ? [traceExporter(traces)] : []), ...(metrics ? [metricExporter(metrics)] : [])]
    super(`the packages of OpenTelemetry cannot be loaded: npm install ${all.join(' ')}`, { cause })
  }
}

/**
 * Starts the official SDK, for this process. It reads addresses, headers, sampling and resources from the usual variables.
 * Spans are sent in the background; a collector that cannot be reached costs a message at the end and nothing else.
 */
export async function exportTelemetry(signals: ExportedSignals): Promise<TelemetryExport> {
  const sdk = loadSdk(signals)
  const { context, diag, DiagLogLevel, trace } = await import('./api.ts')
  let problem: string | undefined
  const note = (...said: unknown[]): void => void (problem ??= said.map(textOf).join(' '))
  const silent = (): void => {}
  const logger = { error: note, warn: note, info: silent, debug: silent, verbose: silent }
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })

  const failures = watchFailures()
  const named = sdk.resourceFromAttributes({ 'service.name': 'libero', 'service.version': version })
  const resource = named.merge(sdk.detectResources({ detectors: [sdk.envDetector] }))
  const spanProcessors = sdk.OTLPTraceExporter ? [new sdk.BatchSpanProcessor(new sdk.OTLPTraceExporter())] : []
  const tracerProvider = new sdk.BasicTracerProvider({ resource, spanProcessors })
  const { OTLPMetricExporter: Exporter } = sdk
  const readers = Exporter
    ? [new sdk.PeriodicExportingMetricReader({ exporter: new Exporter(), ...metricInterval(process.env) })]
    : []
  const meterProvider = new sdk.MeterProvider({ resource, readers })
  // Tools in files that make spans of their own find the same trace.
  context.setGlobalContextManager(new sdk.AsyncLocalStorageContextManager().enable())
  trace.setGlobalTracerProvider(tracerProvider)
  return {
    options: { tracerProvider, meterProvider },
    async close() {
      const sent = Promise.allSettled([tracerProvider.shutdown(), meterProvider.shutdown()])
      const results = await Promise.race([sent, after(closeMs)])
      trace.disable()
      context.disable()
      diag.disable()
      failures.stop()
      for (const result of results ?? []) if (result.status === 'rejected') note(messageOf(result.reason))
      if (results === undefined)
        problem = failures.last() ?? problem ?? `the collector did not answer within ${closeMs} ms`
      return problem === undefined ? undefined : createRedactor({ env: process.env }).text(problem).slice(0, 300)
    },
  }
}

/** The SDK reads this variable only in a package that we do not need. */
function metricInterval(env: NodeJS.ProcessEnv): { exportIntervalMillis?: number } {
  const exportIntervalMillis = Number(env.OTEL_METRIC_EXPORT_INTERVAL)
  return Number.isInteger(exportIntervalMillis) && exportIntervalMillis > 0 ? { exportIntervalMillis } : {}
}

/** What became of the newest request to the collector. The SDK tries again in silence, for longer than `close` waits. */
function watchFailures(): { last(): string | undefined; stop(): void } {
  let last: string | undefined
  const onError = (said: unknown): void => {
    const { request, error } = said as { request: ClientRequest; error: NodeJS.ErrnoException }
    // An error about several addresses of one name has no message.
    if (isExport(request)) last = `the collector cannot be reached: ${error.message || error.code}`
  }
  const onResponse = (said: unknown): void => {
    const { request, response } = said as { request: ClientRequest; response: IncomingMessage }
    const { statusCode = 0 } = response
    if (isExport(request)) last = statusCode < 400 ? undefined : `the collector answered with status ${statusCode}`
  }
  subscribe('http.client.request.error', onError)
  subscribe('http.client.response.finish', onResponse)
  return {
    last: () => last,
    stop() {
      unsubscribe('http.client.request.error', onError)
      unsubscribe('http.client.response.finish', onResponse)
    },
  }
}

const isExport = (request: ClientRequest): boolean => /OTel-OTLP-Exporter/.test(String(request.getHeader('user-agent')))

/** Required, as the API is: no bundler looks for them. */
function loadSdk(signals: ExportedSignals) {
  const { traces, metrics } = signals
  try {
    const load = peerPackages()
    return {
      ...(load('@opentelemetry/context-async-hooks') as typeof import('@opentelemetry/context-async-hooks')),
      ...(load('@opentelemetry/resources') as typeof import('@opentelemetry/resources')),
      ...(load('@opentelemetry/sdk-metrics') as typeof import('@opentelemetry/sdk-metrics')),
      ...(load('@opentelemetry/sdk-trace-base') as typeof import('@opentelemetry/sdk-trace-base')),
      // The packages for both encodings have the same classes.
      ...(traces && (load(traceExporter(traces)) as typeof import('@opentelemetry/exporter-trace-otlp-http'))),
      ...(metrics && (load(metricExporter(metrics)) as typeof import('@opentelemetry/exporter-metrics-otlp-http'))),
    }
  } catch (error) {
    throw new MissingPackagesError(signals, error)
  }
}

const textOf = (value: unknown): string => (value instanceof Error ? value.message : String(value))

/** Does not keep the process alive. */
const after = (ms: number): Promise<undefined> => new Promise((resolve) => setTimeout(resolve, ms, undefined).unref())
