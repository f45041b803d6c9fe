import { isRecord } from '../../core/is-record.ts'
import type { InboxItem, LogEntry } from '../../core/log.ts'
import type { Schedule } from '../../plugins/schedule.ts'
import type { Progress } from './next-due.ts'
import { readChange, type ScheduleChangeMessage, stateOwner } from './schedule-change.ts'

/** A schedule as the log tells of it. */
export interface KeptSchedule extends Progress {
  readonly schedule: Schedule
  readonly since: number
  /** The message that made it. What a run of an earlier schedule of the same id has to say does not count for it. */
  readonly madeBy: string
}

/** All schedules that a log amounts to. Fed entry by entry; what still waits in the inbox may be heard after them. */
export class ScheduleLedger {
  readonly kept: Map<string, KeptSchedule>
  /** The last messages that were heard, and the schedule each was about. Stores know all keys, and take none twice. */
  readonly heard: Map<string, string>

  constructor(from?: ScheduleLedger) {
    this.kept = new Map(from?.kept)
    this.heard = new Map(from?.heard)
  }

  /** What a checkpoint says. Of the entries before it only their keys are wanted. */
  static of(kept: readonly KeptSchedule[], before: readonly LogEntry[]): ScheduleLedger {
    const ledger = new ScheduleLedger()
    for (const entry of before) {
      if (entry.type !== 'input') continue
      const change = readChange(entry.content)
      if (change) ledger.#remember(entry.clientKey, idOf(change))
    }
    for (const one of kept) ledger.kept.set(one.schedule.id, one)
    return ledger
  }

  /** Says which schedule this changed. Entries of other kinds are passed over. */
  apply(entry: LogEntry): string | undefined {
    if (entry.type === 'input') return this.hear(entry)
    if (entry.type === 'state') return this.#ran(entry.owner, entry.value)
    return undefined
  }

  hear({ clientKey, content }: Pick<InboxItem, 'clientKey' | 'content'>): string | undefined {
    if (this.heard.has(clientKey)) return undefined
    const change = readChange(content)
    if (!change) return undefined
    this.#remember(clientKey, idOf(change))
    if (change.op === 'add') {
      const { schedule } = change
      this.kept.set(schedule.id, { schedule, since: schedule.createdAt, madeBy: clientKey, runs: 0 })
      return schedule.id
    }
    const { id } = change
    const found = this.kept.get(id)
    if (!found) return undefined
    if (change.op === 'remove') this.kept.delete(id)
    else {
      const schedule = changedBy(found.schedule, change.fields)
      const isRetimed = ['when', 'activeHours', 'enabled'].some((field) => field in change.fields)
      const { firing, ...rest } = found
      this.kept.set(id, {
        ...rest,
        schedule,
        ...(isRetimed ? { since: change.at } : firing !== undefined && { firing }),
      })
    }
    return id
  }

  #remember(clientKey: string, id: string): void {
    this.heard.set(clientKey, id)
    if (this.heard.size < 2 * mostHeard) return
    for (const key of [...this.heard.keys()].slice(0, mostHeard)) this.heard.delete(key)
  }

  #ran(owner: string, value: unknown): string | undefined {
    if (!owner.startsWith(stateOwner('')) || !isRecord(value)) return undefined
    const id = owner.slice(stateOwner('').length)
    const found = this.kept.get(id)
    if (!found || value.of !== found.madeBy) return undefined
    const { runs, lastRunAt, isOver, firing } = value
    const { firing: _, ...rest } = found
    if (isOver === true) this.kept.delete(id)
    else if (typeof firing === 'number') this.kept.set(id, { ...rest, firing })
    else if (typeof runs === 'number' && typeof lastRunAt === 'number') this.kept.set(id, { ...rest, runs, lastRunAt })
    return id
  }
}

const mostHeard = 5000

function idOf(change: ScheduleChangeMessage): string {
  return change.op === 'add' ? change.schedule.id : change.id
}

/** `null` takes a field away. */
export function changedBy(schedule: Schedule, fields: Readonly<Record<string, unknown>>): Schedule {
  const { id, agentId, createdAt, kind } = schedule
  const merged = Object.entries({ ...schedule, ...fields }).filter(([, value]) => value !== null && value !== undefined)
  return { ...Object.fromEntries(merged), id, agentId, createdAt, ...(kind && { kind }) } as Schedule
}
