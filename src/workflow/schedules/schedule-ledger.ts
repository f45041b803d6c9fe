import { isRecord } from '../../core/is-record.ts'
import type { EntryBody, InboxItem, LogEntry } from '../../core/log.ts'
import { parsedJson } from '../../core/plain-json.ts'
import type { Schedule } from '../../plugins/schedule.ts'
import type { Progress } from './next-due.ts'

/** A schedule and its progress, by the log. */
export interface ScheduleRecord extends Progress {
  readonly schedule: Schedule
  readonly since: number
  /** The key of the message that created it: runs of an earlier schedule with the same id do not count for it. */
  readonly madeBy: string
}

/** All schedules, by their log. Fed entry by entry; messages of the inbox may be applied after them. */
export class ScheduleLedger {
  readonly schedules: Map<string, ScheduleRecord>
  /** The keys of the last messages, with their schedules. Stores know all keys, and take none twice. */
  readonly seenKeys: Map<string, string>

  constructor(from?: ScheduleLedger) {
    this.schedules = new Map(from?.schedules)
    this.seenKeys = new Map(from?.seenKeys)
  }

  /** A ledger from a checkpoint. Of the entries before it only the keys are needed. */
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

  /** Returns the id of the schedule that changed. Ignores entries of other kinds. */
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
    if (this.seenKeys.size < 2 * maxSeenKeys) return
    for (const key of [...this.seenKeys.keys()].slice(0, maxSeenKeys)) this.seenKeys.delete(key)
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

const maxSeenKeys = 5000

function idOf(change: ScheduleChangeMessage): string {
  return change.op === 'add' ? change.schedule.id : change.id
}

/** `null` removes a field. */
export function changedBy(schedule: Schedule, fields: Readonly<Record<string, unknown>>): Schedule {
  const { id, agentId, createdAt, kind } = schedule
  const merged = Object.entries({ ...schedule, ...fields }).filter(([, value]) => value !== null && value !== undefined)
  return { ...Object.fromEntries(merged), id, agentId, createdAt, ...(kind && { kind }) } as Schedule
}

/** A change of the schedules, as a message to their owner. */
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

/** The owner of the state entries about the runs of a schedule. */
export function stateOwner(id: string): string {
  return `schedule:${id}`
}

/** The inbox message of a change. An `answer` to no call is the only kind of message that needs no turn for its delivery. */
export function itemOf(clientKey: string, change: ScheduleChangeMessage): InboxItem {
  return { clientKey, mode: 'answer', content: [{ type: 'text', text: JSON.stringify(change) }] }
}

/** The change in an inbox message; undefined if there is none. */
function readChange(content: InboxItem['content']): ScheduleChangeMessage | undefined {
  const [block] = content
  if (block?.type !== 'text') return undefined
  const change = parsedJson(block.text)
  if (!isRecord(change)) return undefined
  const { op, id, fields, schedule, at } = change
  if (op === 'add') return isSchedule(schedule) ? { op, schedule } : undefined
  if (typeof id !== 'string') return undefined
  if (op === 'remove') return { op, id }
  return op === 'update' && isRecord(fields) && typeof at === 'number' ? { op, id, fields, at } : undefined
}

/** Checks the shape only: the values were checked when the change was sent. */
function isSchedule(value: unknown): value is Schedule {
  if (!isRecord(value) || !isRecord(value.when)) return false
  const { id, agentId, message, createdAt } = value
  return [id, agentId, message].every((one) => typeof one === 'string') && typeof createdAt === 'number'
}

/** All schedules after entry `upTo`: a reader may begin there. */
export interface Checkpoint {
  readonly upTo: number
  readonly kept: readonly ScheduleRecord[]
}

const owner = 'schedules:book'

/** Another format gets another number; a reader that does not know it reads the entries instead. */
const version = 1

/**
 * `upTo` is part of it, because other entries may be logged between `upTo` and this one, as a change from another
 * process.
 */
export function checkpointEntry(checkpoint: Checkpoint): EntryBody {
  return { type: 'state', owner, value: { version, ...checkpoint } }
}

/** The checkpoint in an entry; undefined if there is none, or none that is valid. */
export function readCheckpoint(entry: LogEntry): Checkpoint | undefined {
  if (entry.type !== 'state' || entry.owner !== owner || !isRecord(entry.value)) return undefined
  const { upTo, kept, version: written } = entry.value
  if (written !== version || !Number.isInteger(upTo) || !Array.isArray(kept)) return undefined
  if ((upTo as number) < 0 || (upTo as number) >= entry.seq || !kept.every(isScheduleRecord)) return undefined
  return { upTo: upTo as number, kept }
}

function isScheduleRecord(value: unknown): value is ScheduleRecord {
  if (!isRecord(value) || !isSchedule(value.schedule) || typeof value.madeBy !== 'string') return false
  const { runs, since, lastRunAt, firing } = value
  const isTime = (time: unknown): boolean => time === undefined || typeof time === 'number'
  return typeof runs === 'number' && typeof since === 'number' && isTime(lastRunAt) && isTime(firing)
}

/** The fewest entries between two checkpoints. */
export const leastCheckpoint = 1000
/** The approximate size of an entry: with it at most half of a log are checkpoints. */
const bytesOfEntry = 200

/** After how many entries the next checkpoint is written. */
export function checkpointEvery(kept: readonly ScheduleRecord[]): number {
  return Math.max(leastCheckpoint, Math.ceil(JSON.stringify(kept).length / bytesOfEntry))
}
