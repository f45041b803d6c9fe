import type { Attributes, ObservableResult } from '@opentelemetry/api'
import type { SessionStatus } from '../core/session-summary.ts'
import type { SessionStore } from '../core/store.ts'
import { version } from '../core/version.ts'
import { metrics } from './api.ts'
import * as names from './names.ts'
import type { TracingOptions } from './telemetry.ts'

/** Measurements for servers and workers: of sessions that agents of any process work on. */
export function createWorkMetrics({ meterProvider }: Pick<TracingOptions, 'meterProvider'> = {}): {
  /** A message waited so long, in milliseconds, until a worker began to process it. */
  dispatched(waitMs: number, attributes?: Attributes): void
  /** Counts the sessions of a store by status, whenever measurements are collected. Returns a function that ends it. */
  watchSessions(store: Pick<SessionStore, 'list'>): () => void
} {
  const meter = (meterProvider ?? metrics).getMeter('libero', version)
  const advice = { explicitBucketBoundaries: names.agentSeconds }
  const wait = meter.createHistogram(names.dispatchWait, { unit: 's', advice })
  const sessions = meter.createObservableGauge(names.sessions, { unit: '{session}' })
  return {
    dispatched: (waitMs, attributes) => wait.record(waitMs / 1000, attributes),
    watchSessions(store) {
      const observe = async (result: ObservableResult): Promise<void> => {
        const counts = await Promise.all(counted.map((status) => countSessions(store, status)))
        for (const [i, status] of counted.entries()) result.observe(counts[i]!, { [names.sessionState]: status })
      }
      sessions.addCallback(observe)
      return () => sessions.removeCallback(observe)
    },
  }
}

/** All but `idle`: those are every session that ever ended well, and to count them is to read the whole list. */
const counted = ['working', 'waiting', 'interrupted', 'failed', 'parked'] as const satisfies readonly SessionStatus[]

const pageSize = 1000
const mostPages = 10

/** At most `pageSize` times `mostPages`. Children count with their parents. */
async function countSessions(store: Pick<SessionStore, 'list'>, status: SessionStatus): Promise<number> {
  let count = 0
  let cursor: string | undefined
  for (let page = 0; page < mostPages; page++) {
    const query = { status, parent: null, limit: pageSize, ...(cursor !== undefined && { cursor }) }
    const { sessions, next } = await store.list(query)
    count += sessions.length
    if (next === undefined) return count
    cursor = next
  }
  return count
}
