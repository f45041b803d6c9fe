import type { JsonSchema } from '../../core/tool.ts'
import type { ActiveHours, ScheduleTime } from '../schedule.ts'

/** How a model says when something is to be done. */
export interface TimeFields {
  readonly everySeconds?: number
  readonly at?: string
  readonly repeatEveryMinutes?: number
  readonly cron?: string
  readonly timeZone?: string
}

/** The rest of what it may say of a schedule. */
export interface ScheduleFields extends TimeFields {
  readonly message?: string
  readonly name?: string | null
  readonly enabled?: boolean
  readonly activeHours?: ActiveHours | null
  readonly maxRuns?: number | null
  readonly deleteAfterRun?: boolean
}

/** Their schemas. A field that may be taken away is described with `null` beside its own type. */
export function scheduleProperties(options: { readonly clearable: boolean }): Readonly<Record<string, JsonSchema>> {
  const orNull = (type: string) => ({ type: options.clearable ? [type, 'null'] : type })
  return {
    message: { type: 'string', description: 'What you will be told when it is time. Say all you will need to know.' },
    everySeconds: { type: 'integer', description: 'Again and again, after so many seconds. At least 60.' },
    at: { type: 'string', description: 'At an ISO time with Z or an offset, such as 2026-03-01T09:00:00+01:00.' },
    repeatEveryMinutes: { type: 'integer', description: 'With "at": again and again from then on. At least 1.' },
    cron: {
      type: 'string',
      description: 'Five fields: minute hour day month weekday; "0 9 * * 1-5" is weekdays at 9.',
    },
    timeZone: { type: 'string', description: 'With "cron", such as Europe/Berlin.' },
    name: { ...orNull('string'), description: 'A short name.' },
    enabled: { type: 'boolean', description: 'False: it waits until it is switched on.' },
    activeHours: {
      ...orNull('object'),
      description: 'Only within these hours, which may go over midnight.',
      properties: {
        from: { type: 'string', description: 'As in 22:00.' },
        to: { type: 'string', description: 'As in 06:30.' },
        timeZone: { type: 'string' },
      },
      required: ['from', 'to'],
    },
    maxRuns: { ...orNull('integer'), description: 'Ends after so many runs.' },
    deleteAfterRun: { type: 'boolean', description: 'Removed after its next run.' },
  }
}

/** The fields that are not about time, as they are. */
export function restOf<Fields extends ScheduleFields>(fields: Fields): Omit<Fields, keyof TimeFields> {
  const { everySeconds: _every, at: _at, repeatEveryMinutes: _repeat, cron: _cron, timeZone: _zone, ...rest } = fields
  return rest
}

/** What the fields about time amount to; undefined where none was given. */
export function timeOf(fields: TimeFields): ScheduleTime | undefined {
  const { everySeconds, at, repeatEveryMinutes, cron, timeZone } = fields
  const given = Object.entries({ everySeconds, at, cron }).filter(([, value]) => value !== undefined)
  if (given.length > 1)
    throw new Error(`${given.map(([name]) => `"${name}"`).join(' and ')} exclude each other; give one of them`)
  if (repeatEveryMinutes !== undefined && at === undefined)
    throw new Error('"repeatEveryMinutes" goes with "at", which says when it begins; give both, or "everySeconds"')
  if (timeZone !== undefined && cron === undefined)
    throw new Error('"timeZone" goes with "cron"; a time in "at" has its zone as an offset, such as +01:00')
  if (everySeconds !== undefined) return { type: 'interval', everySeconds }
  if (at !== undefined) return { type: 'at', at, ...(repeatEveryMinutes !== undefined && { repeatEveryMinutes }) }
  if (cron !== undefined) return { type: 'cron', expression: cron, ...(timeZone !== undefined && { timeZone }) }
  return undefined
}
