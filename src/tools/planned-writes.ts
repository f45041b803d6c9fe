import type { Log } from '../core/log.ts'
import type { ToolContext } from '../core/tool.ts'
import { inTurn } from './in-turn.ts'

/** What a call was about to do to a file. */
export interface PlannedWrite {
  /** `ToolContext.idempotencyKey`. */
  readonly key: string
  readonly callId: string
  readonly path: string
  /** What names the file as it was; `null` when there was none. */
  readonly before: string | null
  /** The digest of what it was to become. */
  readonly after: string
}

type PlanContext = Pick<ToolContext, 'log' | 'signal' | 'callId' | 'idempotencyKey' | 'attempt'>

const owner = 'file-write'

/** What an earlier attempt of this call, cut off by a crash, was about to write. */
export function plannedWriteOf({ log, idempotencyKey, attempt }: PlanContext): PlannedWrite | undefined {
  return attempt > 1 ? plansIn(log).find(({ key }) => key === idempotencyKey) : undefined
}

/** Notes in the log what this call is about to write. Must be awaited before the write. */
export function planWrite(ctx: PlanContext, plan: Pick<PlannedWrite, 'path' | 'before' | 'after'>): Promise<void> {
  const { log, signal, callId, idempotencyKey: key } = ctx
  // One after the other: of an owner's entries only the latest counts, so each must hold what the others are about to do.
  return inTurn(log, owner, signal, async () => {
    const others = plansIn(log).filter((one) => one.key !== key && log.transcript.wasInterrupted(one.callId))
    await log.append({ type: 'state', owner, value: { writes: [...others, { key, callId, ...plan }] } })
  })
}

/** A log may come from anywhere. */
function plansIn(log: Log): readonly PlannedWrite[] {
  const value = log.transcript.states.get(owner)
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
