import type { ActiveHours, Schedule } from '../../plugins/schedule.ts'
import { isActive, nextActive } from './active-hours.ts'
import type { NextCron } from './cron.ts'

/** The progress of a schedule. */
export interface Progress {
  readonly runs: number
  /** When its last run was due. */
  readonly lastRunAt?: number
  /** A run that was begun, of a schedule that counts its runs. Its process may have died before it logged the end. */
  readonly firing?: number
  /** When its times were last changed: earlier times do not count. Default: when it was created. */
  readonly since?: number
}

interface DueOptions {
  /** Needed for schedules by cron. */
  readonly cron?: NextCron | undefined
  /** Default 60,000. */
  readonly graceMs?: number
}

/**
 * When a schedule is due next; a time in the past means now, and undefined never. Pure.
 *
 * A single time that was missed runs once, however late, within its active hours. A missed time of a repeating schedule is
 * skipped, except that the latest one still counts for `graceMs`, so that none is lost while one scheduler takes over from
 * another. Intervals count from the creation of the schedule. Outside the active hours a repeating schedule skips its
 * times, and a single time waits for the hours to begin.
 */
export function nextDue(
  schedule: Schedule,
  progress: Progress,
  now: number,
  { cron, graceMs = defaultGraceMs }: DueOptions = {},
): number | undefined {
  const { enabled = true, maxRuns = Number.POSITIVE_INFINITY, activeHours } = schedule
  const { runs, lastRunAt = Number.NEGATIVE_INFINITY, since = schedule.createdAt } = progress
  if (!enabled || runs >= maxRuns) return undefined
  // Sent again under the same key, which changes nothing; then the run is counted.
  if (progress.firing !== undefined) return progress.firing
  const { when } = schedule
  if (when.type === 'at' && when.repeatEveryMinutes === undefined) {
    const at = Date.parse(when.at)
    return lastRunAt >= at ? undefined : onceDue(nextActive(at, activeHours), activeHours, now)
  }
  const next = activeTimes(timesOf(schedule, cron), schedule)
  let late: number | undefined
  const lastRun = lastRunAt > now + wrongClockMs ? Number.NEGATIVE_INFINITY : lastRunAt
  let due = next(Math.max(since, lastRun, now - graceMs - 1))
  while (due !== undefined && due <= now) {
    late = due
    due = next(due)
  }
  return late ?? due
}

export const defaultGraceMs = 60_000

/** A last run further in the future came from a wrong clock, and is ignored. */
const wrongClockMs = 86_400_000

/** The run keeps its planned time. If it was missed, it is due now, or when the active hours begin. */
function onceDue(planned: number, hours: ActiveHours | undefined, now: number): number {
  if (planned > now || !hours || isActive(now, hours)) return planned
  return nextActive(now, hours)
}

/** The first time after a given one. */
type Times = (after: number) => number | undefined

function timesOf({ when, createdAt }: Schedule, cron: NextCron | undefined): Times {
  if (when.type === 'interval') return everyMs(createdAt + when.everySeconds * 1000, when.everySeconds * 1000)
  if (when.type === 'at') return everyMs(Date.parse(when.at), when.repeatEveryMinutes! * 60_000)
  if (!cron) throw new Error('cron schedules need the package croner, which was not loaded; run npm install croner')
  return (after) => cron(when.expression, when.timeZone, after)
}

function everyMs(first: number, every: number): Times {
  if (!(every > 0) || Number.isNaN(first)) return () => undefined // an invalid schedule in the log
  return (after) => first + Math.max(0, Math.floor((after - first) / every) + 1) * every
}

/** Each try advances at least to the next day, so that a search without a match ends soon. */
const mostTries = 800

function activeTimes(next: Times, { activeHours }: Schedule): Times {
  if (!activeHours) return next
  return (after) => {
    let from = after
    for (let i = 0; i < mostTries; i++) {
      const time = next(from)
      if (time === undefined || isActive(time, activeHours)) return time
      from = nextActive(time, activeHours) - 1
    }
    return undefined
  }
}
