import type { Extension } from '../../core/run.ts'
import type { SessionStore } from '../../core/store.ts'
import type { TelemetryExport } from '../../otel/export-telemetry.ts'
import type { Io } from '../io.ts'

// Every command loads this file, so it loads nothing itself.

/** The SDK of a process, which all its agents share. */
const started = new WeakMap<Io, Promise<TelemetryExport | undefined>>()

/** Traces agents if the variables of OpenTelemetry ask for it. Without them, nothing of OpenTelemetry is loaded. */
export async function telemetryExtensions(io: Io): Promise<Extension[]> {
  const exporting = await exportOf(io)
  return exporting ? [(await import('../../otel/tracing.ts')).tracing(exporting.options)] : []
}

/** Counts the sessions of a store for the same measurements. Returns a function that ends it. */
export async function measureSessions(io: Io, store: SessionStore): Promise<() => void> {
  const exporting = await exportOf(io)
  if (!exporting) return () => {}
  return (await import('../../otel/work-metrics.ts')).createWorkMetrics(exporting.options).watchSessions(store)
}

/** Records how long the jobs of a worker waited, for the same measurements. Undefined if nothing is exported. */
export async function measureWaits(io: Io): Promise<((waitMs: number) => void) | undefined> {
  const exporting = await exportOf(io)
  if (!exporting) return undefined
  const { dispatched } = (await import('../../otel/work-metrics.ts')).createWorkMetrics(exporting.options)
  return (waitMs) => dispatched(waitMs)
}

function exportOf(io: Io): Promise<TelemetryExport | undefined> {
  const known = started.get(io) ?? start(io)
  started.set(io, known)
  return known
}

/** Sends what is left. Called at the end of a command, also after a signal. */
export async function closeTelemetry(io: Io): Promise<void> {
  const problem = await (await started.get(io))?.close()
  started.delete(io)
  if (problem !== undefined) await warn(io, `some traces or metrics were not sent: ${problem}`)
}

/** A run does not depend on its trace: a notice says what is wrong, and the run continues without one. */
async function start(io: Io): Promise<TelemetryExport | undefined> {
  if (!Object.keys(io.env).some((name) => name.startsWith('OTEL_'))) return undefined
  const { exportedSignals } = await import('../../otel/exported-signals.ts')
  const signals = exportedSignals(io.env)
  for (const problem of signals.problems) await warn(io, problem)
  if (!signals.traces && !signals.metrics) return undefined
  try {
    return await (await import('../../otel/export-telemetry.ts')).exportTelemetry(signals)
  } catch (error) {
    await warn(io, `traces and metrics are not exported: ${(error as Error).message}`)
    return undefined
  }
}

async function warn(io: Io, text: string): Promise<void> {
  const { fullyVisible } = await import('../../platform/visible-text.ts')
  io.err(`libero: ${fullyVisible(text)}`)
}
