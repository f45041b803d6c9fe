import type { AuditRecord, AuditSink } from '../../core/authority.ts'

/** Keeps every record in memory, in order: for tests, and for programs with their own log. */
export function createMemoryAudit(): AuditSink & { readonly records: readonly AuditRecord[] } {
  const records: AuditRecord[] = []
  return {
    records,
    write(record) {
      records.push(structuredClone(record))
    },
  }
}

/** Combines several sinks. A write waits for all, and fails if one fails. */
export function teeAudit(...sinks: readonly AuditSink[]): AuditSink {
  return {
    async write(record) {
      const outcomes = await Promise.allSettled(sinks.map(async (sink) => sink.write(record)))
      for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    },
  }
}
