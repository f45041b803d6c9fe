import { show } from '../../core/behavior.ts'
import { messageOf } from '../../core/errors.ts'
import { isRecord } from '../../core/is-record.ts'
import type { ActiveHours, Schedule, ScheduleTime } from '../../plugins/schedule.ts'
import { clockTime, isTimeZone } from './active-hours.ts'
import type { NextCron } from './cron.ts'
import { nextDue, type Progress } from './next-due.ts'

interface CheckContext {
  readonly now: number
  readonly cron: NextCron | undefined
  /** Of a schedule that is changed: how far it has come, and what is new about it. */
  readonly progress?: Progress
  readonly changed?: ReadonlySet<string>
}

/** Rejects what cannot be meant, with what would be right. */
export function checkSchedule(schedule: Schedule, context: CheckContext): void {
  const { id, agentId, name, message, maxRuns, activeHours } = schedule
  checkText('id', id, 300)
  checkText('agentId', agentId, 250)
  checkText('message', message, 20_000)
  if (name !== undefined) checkText('name', name, 200)
  if (schedule.madeFrom !== undefined) checkText('madeFrom', schedule.madeFrom, 200)
  checkFlag('enabled', schedule.enabled)
  checkFlag('deleteAfterRun', schedule.deleteAfterRun)
  if (maxRuns !== undefined && !isWhole(maxRuns, 1, 1e9))
    refuse(`maxRuns must be a whole number of at least 1, got ${show(maxRuns)}; leave it out for no limit`)
  if (schedule.kind !== undefined && !kinds.includes(schedule.kind))
    refuse(`kind must be one of ${kinds.join(', ')}, got ${show(schedule.kind)}`)
  if (activeHours !== undefined) checkHours(activeHours)
  checkTime(schedule, context)
  if (schedule.enabled !== false && hasNew(context, 'when', 'enabled', 'activeHours', 'maxRuns'))
    checkComes(schedule, context)
}

function hasNew({ changed }: CheckContext, ...fields: readonly string[]): boolean {
  return !changed || fields.some((field) => changed.has(field))
}

const kinds: readonly unknown[] = ['task', 'alarm', 'heartbeat']

function checkTime({ when, enabled = true }: Schedule, context: CheckContext): void {
  const { now, cron } = context
  if (!isRecord(when)) refuse(`when must be an object with a type of interval, at or cron, got ${show(when)}`)
  if (when.type === 'interval') checkInterval(when.everySeconds)
  else if (when.type === 'at') {
    const isAnew = hasNew(context, 'enabled') && enabled && when.repeatEveryMinutes === undefined
    const at = checkAt(when, now)
    if (at <= now && (isAnew || hasNew(context, 'when')))
      refuse(`${show(when.at)} lies in the past; it is now ${iso(now)}. Give a later time`)
  } else if (when.type === 'cron') checkCron(when, cron, now)
  else refuse(`when.type must be interval, at or cron, got ${show((when as { type: unknown }).type)}`)
}

function checkInterval(everySeconds: unknown): void {
  if (!isWhole(everySeconds, 60, tenYears / 1000))
    refuse(`everySeconds must be a whole number from 60 (a minute) to ten years, got ${show(everySeconds)}`)
}

function checkAt({ at, repeatEveryMinutes }: Extract<ScheduleTime, { type: 'at' }>, now: number): number {
  if (repeatEveryMinutes !== undefined && !isWhole(repeatEveryMinutes, 1, tenYears / 60_000))
    refuse(
      `repeatEveryMinutes must be a whole number from 1 to ten years, got ${show(repeatEveryMinutes)}; leave it out for a single time`,
    )
  return readIsoTime(at, now)
}

/** Reads an ISO time. A time without an offset is refused, as its writer may be in another time zone. */
function readIsoTime(at: unknown, now: number): number {
  const example = `write it as in ${iso(now + 3_600_000)}, which is in one hour`
  const [, date, time, offset] = (typeof at === 'string' && isoTime.exec(at)) || []
  if (date === undefined) refuse(`${show(at)} is not an ISO time; ${example}`)
  if (offset === undefined)
    refuse(
      `${show(at)} does not say in which time zone; add Z for UTC or an offset such as +01:00; it is now ${iso(now)}`,
    )
  const parsed = Date.parse(at as string)
  // Date reads the 30th of February as the 2nd of March.
  const local = Date.parse(`${date}T${time}Z`)
  if (Number.isNaN(parsed) || Number.isNaN(local) || !iso(local).startsWith(`${date}T${time!.slice(0, 5)}`))
    refuse(`${show(at)} is a time that does not exist; ${example}`)
  return parsed
}

const isoTime = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+-]\d{2}:\d{2})?$/

function checkCron(
  { expression, timeZone }: Extract<ScheduleTime, { type: 'cron' }>,
  cron: NextCron | undefined,
  now: number,
): void {
  const fields = typeof expression === 'string' && expression.length <= 300 ? expression.trim().split(/\s+/) : []
  if (fields.length !== 5 && fields.length !== 6)
    refuse(
      `cron ${show(expression)} must have five fields (minute hour day month weekday), or six with seconds first; as in "0 9 * * 1-5" for weekdays at nine`,
    )
  if (timeZone !== undefined) checkZone(timeZone)
  if (!cron) return
  try {
    cron(expression, timeZone, now)
  } catch (error) {
    refuse(`cron ${show(expression)} cannot be read: ${messageOf(error).slice(0, 200)}`)
  }
  checkCronPace(expression, (after) => cron(expression, timeZone, after), now)
}

/** Checks the next few times, as a field for seconds could mean every second. */
function checkCronPace(expression: string, next: (after: number) => number | undefined, now: number): void {
  let last = next(now)
  if (last === undefined) refuse(`cron ${show(expression)} never matches, as there is no such day; it would never run`)
  for (let i = 0; i < 10; i++) {
    const time = next(last)
    if (time === undefined) return
    if (time - last < 60_000)
      refuse(
        `cron ${show(expression)} would run ${(time - last) / 1000} seconds after it ran; at least 60 must lie between. Use one value for the seconds`,
      )
    last = time
  }
}

/** Throws on invalid hours. */
export function checkHours(hours: ActiveHours): void {
  if (!isRecord(hours)) refuse(`activeHours must be an object as in { from: "09:00", to: "17:00" }, got ${show(hours)}`)
  const { from, to, timeZone } = hours
  for (const [name, time] of [
    ['from', from],
    ['to', to],
  ])
    if (typeof time !== 'string' || clockTime(time) === undefined)
      refuse(`activeHours.${name} must be a time as in "09:00" or "22:30", got ${show(time)}`)
  if ((clockTime(to)! - clockTime(from)!) % 86_400_000 === 0)
    refuse(
      `activeHours from ${show(from)} to ${show(to)} are either none or all; leave activeHours out for the whole day`,
    )
  if (timeZone !== undefined) checkZone(timeZone)
}

function checkZone(timeZone: unknown): void {
  if (typeof timeZone !== 'string' || timeZone === '' || !isTimeZone(timeZone))
    refuse(`there is no time zone ${show(timeZone)}; name one as in "Europe/Berlin" or "UTC"`)
}

function checkComes(schedule: Schedule, { now, cron, progress = { runs: 0 } }: CheckContext): void {
  if (schedule.when.type === 'cron' && !cron) return
  if (progress.runs >= (schedule.maxRuns ?? Number.POSITIVE_INFINITY))
    refuse(
      `it has run ${progress.runs} times already, so that maxRuns ${schedule.maxRuns} would end it; give more, or remove it`,
    )
  if (nextDue(schedule, { ...progress, since: now }, now, { cron }) === undefined)
    refuse('it would never run, as its times never fall into its active hours or are over; change its times')
}

function checkText(name: string, value: unknown, most: number): void {
  if (typeof value !== 'string' || value.trim() === '') refuse(`${name} must be a text, got ${show(value)}`)
  if (value.length > most) refuse(`${name} has ${value.length} characters; at most ${most} are allowed`)
}

function checkFlag(name: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'boolean') refuse(`${name} must be true or false, got ${show(value)}`)
}

const tenYears = 3653 * 86_400_000

function isWhole(value: unknown, least: number, most: number): boolean {
  return Number.isInteger(value) && (value as number) >= least && (value as number) <= most
}

function iso(at: number): string {
  return new Date(at).toISOString()
}

function refuse(problem: string): never {
  throw new TypeError(`This cannot be scheduled: ${problem}`)
}
