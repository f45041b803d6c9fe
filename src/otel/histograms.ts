import type { Histogram, Meter } from '@opentelemetry/api'
import * as names from './names.ts'

/** The histograms of the conventions, with their buckets. */
export function createHistograms(meter: Meter): Readonly<Record<'agent' | 'model' | 'tool' | 'tokens', Histogram>> {
  const duration = (name: string): Histogram =>
    meter.createHistogram(name, { unit: 's', advice: { explicitBucketBoundaries: names.seconds } })
  return {
    agent: duration(names.agentDuration),
    model: duration(names.modelDuration),
    tool: duration(names.toolDuration),
    tokens: meter.createHistogram(names.tokenUsage, {
      unit: '{token}',
      advice: { explicitBucketBoundaries: names.tokens },
    }),
  }
}
