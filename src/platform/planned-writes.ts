import type { Log } from '../core/log.ts'

/** The write that a call recorded in the log before doing it. */
export interface PlannedWrite {
  /** `ToolContext.idempotencyKey`. */
  readonly key: string
  readonly callId: string
  readonly path: string
  /** Identifies the content before the write; `null` if there was no file. */
  readonly before: string | null
  /** The digest of the content to write. */
  readonly after: string
  /** What the tool will tell of it, plain JSON. */
  readonly report?: unknown
}

/** The owner of the `state` entries that have the planned writes. */
export const plannedWritesOwner = 'file-write'

/** The write that a call with this key planned before its process died. */
export const plannedWriteWith = (log: Log, key: string): PlannedWrite | undefined =>
  plannedWritesIn(log).find((plan) => plan.key === key)

/** The writes that the calls under way have planned. Checks the shape, because a log may have been imported. */
export function plannedWritesIn(log: Log): readonly PlannedWrite[] {
  const value = log.transcript.states.get(plannedWritesOwner)
  const writes = typeof value === 'object' && value !== null && 'writes' in value ? value.writes : undefined
  return Array.isArray(writes) ? writes.filter(isPlan) : []
}

function isPlan(value: unknown): value is PlannedWrite {
  if (typeof value !== 'object' || value === null) return false
  const { key, callId, before, after } = value as Partial<PlannedWrite>
  return (
    typeof key === 'string' &&
    typeof callId === 'string' &&
    typeof after === 'string' &&
    (before === null || typeof before === 'string')
  )
}
