import { show } from '../../core/behavior.ts'
import { type Clock, createIds, systemClock } from '../../core/clock.ts'
import { didYouMean } from '../../core/nearest.ts'
import type { SessionStore } from '../../core/store.ts'
import type { NewSchedule, Schedule, ScheduleBook, ScheduleState } from '../../plugins/schedule.ts'
import { checkSchedule } from './check-schedule.ts'
import { loadCron, type NextCron } from './cron.ts'
import { nextDue } from './next-due.ts'
import {
  changedBy,
  itemOf,
  type ScheduleChangeMessage,
  type ScheduleLedger,
  type ScheduleRecord,
} from './schedule-ledger.ts'
import { ScheduleReader, sendChange } from './schedule-log.ts'

/** Reads and changes the schedules of a store, from any process. A scheduler over that store fires them. */
export function createScheduleBook({
  store,
  clock = systemClock,
  newId = createIds(),
}: {
  readonly store: SessionStore
  readonly clock?: Clock
  readonly newId?: () => string
}): ScheduleBook {
  const reader = new ScheduleReader(store)

  /** Sends a change, and applies it to the ledger. */
  async function send(ledger: ScheduleLedger, key: string, change: ScheduleChangeMessage): Promise<void> {
    const item = itemOf(key, change)
    await sendChange(store, item)
    ledger.applyMessage(item)
  }

  function stateOf({ schedule, runs, lastRunAt, since }: ScheduleRecord, cron: NextCron | undefined): ScheduleState {
    const due = dueOrNone({ schedule, runs, since, ...(lastRunAt !== undefined && { lastRunAt }) }, clock.now(), cron)
    return {
      ...schedule,
      runs,
      ...(lastRunAt !== undefined && { lastRunAt }),
      ...(due !== undefined && { nextRunAt: due }),
    }
  }

  return {
    async add(given, { key } = {}) {
      const schedule = readNew(given, { id: newId(), createdAt: clock.now() })
      const clientKey = `add:${key ?? newId()}`
      const ledger = await reader.current()
      const known = ledger.seenKeys.get(clientKey)
      const cron = await cronFor([schedule])
      if (known === undefined) {
        checkSchedule(schedule, { now: clock.now(), cron })
        await send(ledger, clientKey, { op: 'add', schedule })
      }
      const kept = ledger.schedules.get(known ?? schedule.id)
      // Added before under this key, and over since.
      return kept ? stateOf(kept, cron) : { ...schedule, id: known ?? schedule.id, runs: 0 }
    },

    async list(agentId) {
      const { schedules: kept } = await reader.current()
      const wanted = [...kept.values()].filter(({ schedule }) => agentId === undefined || schedule.agentId === agentId)
      // The list works without the package for cron.
      const cron = await cronFor(wanted.map(({ schedule }) => schedule)).catch(() => undefined)
      return wanted.map((one) => stateOf(one, cron))
    },

    async update(id, change, { key } = {}) {
      const fields = readChange(change)
      const clientKey = `update:${key ?? newId()}`
      const ledger = await reader.current()
      const found = ledger.schedules.get(id)
      if (!found) throw new Error(noSchedule(id, ledger))
      const schedule = changedBy(found.schedule, fields)
      const cron = await cronFor([schedule])
      if (!ledger.seenKeys.has(clientKey)) {
        const now = clock.now()
        checkSchedule(schedule, { now, cron, progress: found, changed: new Set(Object.keys(fields)) })
        await send(ledger, clientKey, { op: 'update', id, fields, at: now })
      }
      return stateOf(ledger.schedules.get(id)!, cron)
    },

    async remove(id, { key } = {}) {
      const clientKey = `remove:${key ?? newId()}`
      const ledger = await reader.current()
      if (ledger.seenKeys.has(clientKey)) return true
      if (!ledger.schedules.has(id)) return false
      await send(ledger, clientKey, { op: 'remove', id })
      return true
    },
  }
}

/** Removes all schedules of an agent, and returns their number. */
export async function removeSchedulesOf(book: ScheduleBook, agentId: string): Promise<number> {
  const own = await book.list(agentId)
  for (const { id } of own) await book.remove(id)
  return own.length
}

const fieldsOfChange = ['name', 'when', 'message', 'enabled', 'activeHours', 'maxRuns', 'deleteAfterRun']
const fieldsOfNew = [...fieldsOfChange, 'id', 'agentId', 'kind', 'madeFrom']

/** Fields that are `undefined` are left out. */
function readNew(given: NewSchedule, made: { readonly id: string; readonly createdAt: number }): Schedule {
  return { id: made.id, ...readFields(given, fieldsOfNew), createdAt: made.createdAt } as Schedule
}

function readChange(change: unknown): Record<string, unknown> {
  const fields = readFields(change, fieldsOfChange)
  if (Object.keys(fields).length === 0)
    throw new TypeError(
      `This cannot be changed: nothing is said that should be; name one of ${fieldsOfChange.join(', ')}`,
    )
  return fields
}

function readFields(given: unknown, known: readonly string[]): Record<string, unknown> {
  if (typeof given !== 'object' || given === null)
    throw new TypeError(`This cannot be scheduled: a schedule is an object, got ${show(given)}`)
  const fields = Object.entries(given).filter(([, value]) => value !== undefined)
  const strange = fields.find(([name]) => !known.includes(name))?.[0]
  if (strange !== undefined)
    throw new TypeError(`This cannot be scheduled: there is no field ${show(strange)}${didYouMean(strange, known)}`)
  return structuredClone(Object.fromEntries(fields))
}

async function cronFor(schedules: readonly Schedule[]): Promise<NextCron | undefined> {
  return schedules.some(({ when }) => when?.type === 'cron') ? loadCron() : undefined
}

function dueOrNone(kept: Omit<ScheduleRecord, 'madeBy'>, now: number, cron: NextCron | undefined): number | undefined {
  if (kept.schedule.when.type === 'cron' && !cron) return undefined
  try {
    return nextDue(kept.schedule, kept, now, { cron })
  } catch {
    return undefined // the scheduler reports the problem
  }
}

function noSchedule(id: string, { schedules: kept }: ScheduleLedger): string {
  const ids = [...kept.keys()]
  return `There is no schedule ${show(id)}${didYouMean(id, ids)}; list() names those there are`
}
