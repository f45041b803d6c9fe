import { isRecord } from '../../core/is-record.ts'
import type { EntryBody, LogEntry } from '../../core/log.ts'
import { isSchedule } from './schedule-change.ts'
import type { KeptSchedule } from './schedule-ledger.ts'

/** All schedules as they were after entry `upTo`: who reads the log may begin there. */
export interface Checkpoint {
  readonly upTo: number
  readonly kept: readonly KeptSchedule[]
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

function isKept(value: unknown): value is KeptSchedule {
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
export function checkpointEvery(kept: readonly KeptSchedule[]): number {
  return Math.max(leastCheckpoint, Math.ceil(JSON.stringify(kept).length / bytesOfEntry))
}
