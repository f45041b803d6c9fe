import { fullyVisible } from '../../platform/visible-text.ts'
import type { ActiveHours, ScheduleChange, ScheduleTime } from '../../plugins/schedule.ts'
import { UsageError } from '../cli-error.ts'
import type { WhenValues } from './when-flags.ts'

/** What the flags say; nothing of what they do not. Whether it can be meant, the schedules themselves say. */
export function readWhen(values: WhenValues): Omit<ScheduleChange, 'message' | 'enabled'> {
  const { every, at, cron, zone, hours, max, once, name } = values
  if (cron !== undefined && (every !== undefined || at !== undefined))
    throw new UsageError('--cron does not go together with --every and --at; choose one of them')
  if (zone !== undefined && cron === undefined && hours === undefined)
    throw new UsageError('--zone is that of --cron or --hours; add one of them (--at names its own offset)')
  if (once && max !== undefined)
    throw new UsageError('--once and --max do not go together: with --once it is gone after its first time; choose one')
  const when = timeOf(values)
  const activeHours = hours === undefined ? undefined : hoursOf(hours, zone)
  return {
    ...(when && { when }),
    ...(activeHours && { activeHours }),
    ...(max !== undefined && { maxRuns: Number(max) }),
    ...(once && { deleteAfterRun: true }),
    ...(name !== undefined && name !== '' && { name }),
  }
}

function timeOf({ every, at, cron, zone }: WhenValues): ScheduleTime | undefined {
  if (cron !== undefined) return { type: 'cron', expression: cron, ...(zone !== undefined && { timeZone: zone }) }
  if (at !== undefined) {
    const minutes = every === undefined ? undefined : secondsOf(every) / 60
    if (minutes !== undefined && !Number.isInteger(minutes))
      throw new UsageError(`--every ${fullyVisible(every!)}: with --at it has to be whole minutes, such as 2m`)
    const repeat = minutes === undefined ? {} : { repeatEveryMinutes: minutes }
    return { type: 'at', at, ...repeat }
  }
  return every === undefined ? undefined : { type: 'interval', everySeconds: secondsOf(every) }
}

const units: Readonly<Record<string, number>> = { s: 1, m: 60, min: 60, h: 3600, d: 86_400 }

function secondsOf(text: string): number {
  const [, count, unit = 's'] = /^(\d{1,9})\s*(s|m|min|h|d)?$/.exec(text.trim()) ?? []
  if (count === undefined)
    throw new UsageError(`--every ${fullyVisible(text.slice(0, 40))}: write how long as 90s, 15m, 2h or 1d`)
  const seconds = Number(count) * units[unit]!
  if (seconds < 60) throw new UsageError(`--every ${fullyVisible(text)} is too often; a minute (1m) is the least`)
  return seconds
}

function hoursOf(text: string, zone: string | undefined): ActiveHours {
  const [, from, to] = /^(\d{1,2}:\d{2})\s*[-–]\s*(\d{1,2}:\d{2})$/.exec(text.trim()) ?? []
  if (from === undefined || to === undefined)
    throw new UsageError(`--hours ${fullyVisible(text.slice(0, 40))}: write it as 09:00-17:00`)
  return { from: from.padStart(5, '0'), to: to.padStart(5, '0'), ...(zone !== undefined && { timeZone: zone }) }
}
