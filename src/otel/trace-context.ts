import type { Context, SpanContext } from '@opentelemetry/api'
import type { Meta } from '../core/meta.ts'
import { context, isSpanContextValid, propagation, trace } from './api.ts'

/**
 * The headers that lead other processes to the span that is active now: those of the program's propagator, and
 * `traceparent` even if it has none.
 */
export function traceHeaders(): Readonly<Record<string, string>> {
  const active = context.active()
  const headers: Record<string, string> = {}
  propagation.inject(active, headers)
  const span = trace.getSpanContext(active)
  if (headers.traceparent === undefined && span && isSpanContextValid(span)) headers.traceparent = traceparentOf(span)
  return headers
}

/** The context in which a run begins: that of the message it answers, else the active one. */
export function parentContext(meta: Meta | undefined): Context {
  const active = context.active()
  if (!meta) return active
  const given = propagation.extract(active, meta, metaGetter)
  if (given !== active) return given
  const span = typeof meta.traceparent === 'string' ? spanContextOf(meta.traceparent) : undefined
  return span ? trace.setSpanContext(active, span) : active
}

/** The span that a `traceparent` names; `undefined` if it names none. */
export function spanContextOf(traceparent: string): SpanContext | undefined {
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
