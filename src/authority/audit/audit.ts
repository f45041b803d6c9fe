import type { AuditRecord, AuditSink } from '../../core/authority.ts'

/** Keeps every record in memory, in the order in which they came: for tests, and for programs with a log of their own. */
export interface MemoryAudit extends AuditSink {
  readonly records: readonly AuditRecord[]
}

/** An audit that ends with the process. */
export function createMemoryAudit(): MemoryAudit {
  const records: AuditRecord[] = []
  return {
    records,
    write(record) {
      records.push(structuredClone(record))
    },
  }
}

/** One sink out of several. A record is written when all have it; it fails when one does, after the others had it. */
export function teeAudit(...sinks: readonly AuditSink[]): AuditSink {
  return {
    async write(record) {
      const outcomes = await Promise.allSettled(sinks.map(async (sink) => sink.write(record)))
      for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    },
  }
}
