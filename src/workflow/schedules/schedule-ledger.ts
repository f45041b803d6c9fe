import { isRecord } from '../../core/is-record.ts'
import type { EntryBody, InboxItem, LogEntry } from '../../core/log.ts'
import type { Schedule } from '../../plugins/schedule.ts'
import type { Progress } from './next-due.ts'

/** A schedule as the log tells of it. */
export interface ScheduleRecord extends Progress {
  readonly schedule: Schedule
  readonly since: number
  /** The message that made it. What a run of an earlier schedule of the same id has to say does not count for it. */
  readonly madeBy: string
}

/** All schedules that a log amounts to. Fed entry by entry; what still waits in the inbox may be heard after them. */
export class ScheduleLedger {
  readonly schedules: Map<string, ScheduleRecord>
  /** The last messages that were heard, and the schedule each was about. Stores know all keys, and take none twice. */
  readonly seenKeys: Map<string, string>

  constructor(from?: ScheduleLedger) {
    this.schedules = new Map(from?.schedules)
    this.seenKeys = new Map(from?.seenKeys)
  }

  /** What a checkpoint says. Of the entries before it only their keys are wanted. */
  static of(kept: readonly ScheduleRecord[], before: readonly LogEntry[]): ScheduleLedger {
    const ledger = new ScheduleLedger()
    for (const entry of before) {
      if (entry.type !== 'input') continue
      const change = readChange(entry.content)
      if (change) ledger.#remember(entry.clientKey, idOf(change))
    }
    for (const one of kept) ledger.schedules.set(one.schedule.id, one)
    return ledger
  }

  /** Says which schedule this changed. Entries of other kinds are passed over. */
  apply(entry: LogEntry): string | undefined {
    if (entry.type === 'input') return this.applyMessage(entry)
    if (entry.type === 'state') return this.#ran(entry.owner, entry.value)
    return undefined
  }

  applyMessage({ clientKey, content }: Pick<InboxItem, 'clientKey' | 'content'>): string | undefined {
    if (this.seenKeys.has(clientKey)) return undefined
    const change = readChange(content)
    if (!change) return undefined
    this.#remember(clientKey, idOf(change))
    if (change.op === 'add') {
      const { schedule } = change
      this.schedules.set(schedule.id, { schedule, since: schedule.createdAt, madeBy: clientKey, runs: 0 })
      return schedule.id
    }
    const { id } = change
    const found = this.schedules.get(id)
    if (!found) return undefined
    if (change.op === 'remove') this.schedules.delete(id)
    else {
      const schedule = changedBy(found.schedule, change.fields)
      const isRetimed = ['when', 'activeHours', 'enabled'].some((field) => field in change.fields)
      const { firing, ...rest } = found
      this.schedules.set(id, {
        ...rest,
        schedule,
        ...(isRetimed ? { since: change.at } : firing !== undefined && { firing }),
      })
    }
    return id
  }

  #remember(clientKey: string, id: string): void {
    this.seenKeys.set(clientKey, id)
    if (this.seenKeys.size < 2 * mostHeard) return
    for (const key of [...this.seenKeys.keys()].slice(0, mostHeard)) this.seenKeys.delete(key)
  }

  #ran(owner: string, value: unknown): string | undefined {
    if (!owner.startsWith(stateOwner('')) || !isRecord(value)) return undefined
    const id = owner.slice(stateOwner('').length)
    const found = this.schedules.get(id)
    if (!found || value.of !== found.madeBy) return undefined
    const { runs, lastRunAt, isOver, firing } = value
    const { firing: _, ...rest } = found
    if (isOver === true) this.schedules.delete(id)
    else if (typeof firing === 'number') this.schedules.set(id, { ...rest, firing })
    else if (typeof runs === 'number' && typeof lastRunAt === 'number')
      this.schedules.set(id, { ...rest, runs, lastRunAt })
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

/** What somebody wants to be different, as a message to whoever keeps the schedules. */
export type ScheduleChangeMessage =
  | { readonly op: 'add'; readonly schedule: Schedule }
  | {
      readonly op: 'update'
      readonly id: string
      readonly fields: Readonly<Record<string, unknown>>
      readonly at: number
    }
  | { readonly op: 'remove'; readonly id: string }

/** The session that holds the schedules of a store. */
export const schedulesLogId = 'libero.schedules'

/** Under which name the runs of a schedule are kept in the log. */
export function stateOwner(id: string): string {
  return `schedule:${id}`
}

/** Changes nothing, and is there so that the log or its inbox is never empty: who reads them then never waits. */
export const greeting: InboxItem = itemOf('hello', { op: 'remove', id: '' })

/** A change, as it is sent. An `answer` to no call is the one kind of message that does not wait for a turn to deliver it. */
export function itemOf(clientKey: string, change: ScheduleChangeMessage): InboxItem {
  return { clientKey, mode: 'answer', content: [{ type: 'text', text: JSON.stringify(change) }] }
}

/** A change, as it was sent; undefined where it is none, as a log may hold anything. */
function readChange(content: InboxItem['content']): ScheduleChangeMessage | undefined {
  const [block] = content
  if (block?.type !== 'text') return undefined
  const change = parsed(block.text)
  if (!isRecord(change)) return undefined
  const { op, id, fields, schedule, at } = change
  if (op === 'add') return isSchedule(schedule) ? { op, schedule } : undefined
  if (typeof id !== 'string') return undefined
  if (op === 'remove') return { op, id }
  return op === 'update' && isRecord(fields) && typeof at === 'number' ? { op, id, fields, at } : undefined
}

/** Whether it is one as far as reading it goes; whether it can be meant was checked when it was sent. */
function isSchedule(value: unknown): value is Schedule {
  if (!isRecord(value) || !isRecord(value.when)) return false
  const { id, agentId, message, createdAt } = value
  return [id, agentId, message].every((one) => typeof one === 'string') && typeof createdAt === 'number'
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** All schedules as they were after entry `upTo`: who reads the log may begin there. */
export interface Checkpoint {
  readonly upTo: number
  readonly kept: readonly ScheduleRecord[]
}

const owner = 'schedules:book'

/** Another way to write it down gets another number; who does not know it reads what came before. */
const version = 1

/**
 * As it is written into the log. Other entries may get there between `upTo` and this one, a change from another process
 * for instance; that is why it says how far it goes.
 */
export function checkpointEntry(checkpoint: Checkpoint): EntryBody {
  return { type: 'state', owner, value: { version, ...checkpoint } }
}

/** The checkpoint that an entry is; undefined where it is none that can be begun with, as a log may hold anything. */
export function readCheckpoint(entry: LogEntry): Checkpoint | undefined {
  if (entry.type !== 'state' || entry.owner !== owner || !isRecord(entry.value)) return undefined
  const { upTo, kept, version: written } = entry.value
  if (written !== version || !Number.isInteger(upTo) || !Array.isArray(kept)) return undefined
  if ((upTo as number) < 0 || (upTo as number) >= entry.seq || !kept.every(isKept)) return undefined
  return { upTo: upTo as number, kept }
}

function isKept(value: unknown): value is ScheduleRecord {
  if (!isRecord(value) || !isSchedule(value.schedule) || typeof value.madeBy !== 'string') return false
  const { runs, since, lastRunAt, firing } = value
  const isTime = (time: unknown): boolean => time === undefined || typeof time === 'number'
  return typeof runs === 'number' && typeof since === 'number' && isTime(lastRunAt) && isTime(firing)
}

/** Fewer entries are never worth one. */
export const leastCheckpoint = 1000
/** About the size of an entry: with it a log is at most half checkpoints, however much there is to write down. */
const bytesOfEntry = 200

/** After how many entries the next checkpoint is worth its place. */
export function checkpointEvery(kept: readonly ScheduleRecord[]): number {
  return Math.max(leastCheckpoint, Math.ceil(JSON.stringify(kept).length / bytesOfEntry))
}
