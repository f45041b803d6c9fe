import { visibleName } from '../../platform/visible-text.ts'
import type { ScheduleState, ScheduleTime } from '../../plugins/schedule.ts'
import { cutToWidth } from '../../tui/terminal/text-width.ts'

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000]

/** The time until a moment in words; beyond a day, the local time. */
export function timeIn(at: number, now: number): string {
  const left = at - now
  if (left <= 0) return 'now'
  if (left < minute) return 'in less than a minute'
  if (left < hour) return `in ${Math.round(left / minute)} min`
  if (left < day) return `in ${Math.round(left / hour)} h`
  return localTime(at)
}

/** `2026-12-01 09:00` in this machine's time zone. */
export function localTime(at: number): string {
  const date = new Date(at)
  const two = (value: number): string => String(value).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`
}

/** When a schedule wakes its agent. */
export function whenWords({ when, activeHours, maxRuns, deleteAfterRun }: ScheduleState): string {
  const hours = activeHours && `from ${activeHours.from} to ${activeHours.to}${zoned(activeHours.timeZone)}`
  const most = maxRuns !== undefined && `at most ${maxRuns} ${maxRuns === 1 ? 'time' : 'times'}`
  const once = deleteAfterRun && when.type !== 'at' && 'once'
  return visibleName([timeWords(when), hours, most, once].filter(Boolean).join(', '))
}

function timeWords(when: ScheduleTime): string {
  if (when.type === 'interval') return `every ${spanWords(when.everySeconds)}`
  if (when.type === 'cron') return `cron ${when.expression}${zoned(when.timeZone)}`
  const again = when.repeatEveryMinutes === undefined ? '' : `, then every ${spanWords(when.repeatEveryMinutes * 60)}`
  return `at ${when.at}${again}`
}

const zoned = (timeZone: string | undefined): string => (timeZone === undefined ? '' : ` ${timeZone}`)

function spanWords(seconds: number): string {
  for (const [unit, length] of [
    ['d', 86_400],
    ['h', 3600],
    ['m', 60],
  ] as const)
    if (seconds % length === 0) return `${seconds / length}${unit}`
  return `${seconds}s`
}

/** The next run of a schedule in words. */
export function nextWords({ enabled = true, nextRunAt }: ScheduleState, now: number): string {
  if (!enabled) return 'paused'
  return nextRunAt === undefined ? 'over' : timeIn(nextRunAt, now)
}

/** The message of a schedule, on a line of a list. */
export const messageLine = ({ message }: Pick<ScheduleState, 'message'>): string =>
  cutToWidth(visibleName(message.replace(/\s+/g, ' ').slice(0, 500)), 80)
