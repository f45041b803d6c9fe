/** `libero/otel`: traces and metrics of agents for OpenTelemetry. */

export type { Extension } from '../core/run.ts'
export type { SessionStore } from '../core/store.ts'
export type { RedactorOptions } from '../platform/redact.ts'
export type { TracingOptions } from './telemetry.ts'
export { traceAgent, tracing } from './tracing.ts'
export { createWorkMetrics } from './work-metrics.ts'
