import type { Counter, Histogram, Meter } from '@opentelemetry/api'
import * as names from './names.ts'

/** What is measured, with the buckets of the conventions. */
export interface Instruments {
  readonly agent: Histogram
  readonly model: Histogram
  readonly firstChunk: Histogram
  readonly chunk: Histogram
  readonly tool: Histogram
  readonly tokens: Histogram
  readonly takeovers: Counter
}

export function createInstruments(meter: Meter): Instruments {
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
