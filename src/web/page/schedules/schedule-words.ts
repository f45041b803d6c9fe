import type { RemoteSchedule, RemoteScheduleTime } from '../libero.ts'

/** When a schedule runs, in words. */
export function scheduleWords(when: RemoteScheduleTime): string {
  if (when.type === 'interval') return `every ${durationWords(when.everySeconds)}`
  if (when.type === 'at') {
    const once = `on ${dateWords(Date.parse(when.at))}`
    return when.repeatEveryMinutes ? `${once}, then every ${durationWords(when.repeatEveryMinutes * 60)}` : once
  }
  return `${cronWords(when.expression)}${when.timeZone === undefined ? '' : ` (${when.timeZone})`}`
}

/** When it runs next, in words: `in 5 minutes`, `tomorrow at 09:00`. */
export function nextWords(
  { nextRunAt, enabled = true }: Pick<RemoteSchedule, 'nextRunAt' | 'enabled'>,
  now: number,
): string {
  if (!enabled) return 'paused'
  if (nextRunAt === undefined) return 'over'
  const seconds = Math.round((nextRunAt - now) / 1000)
  if (seconds <= 0) return 'now'
  if (seconds < 3600 * 4) return `in ${durationWords(seconds < 120 ? seconds : Math.round(seconds / 60) * 60)}`
  return dateWords(nextRunAt, now)
}

/** Such as `90 seconds`, `5 minutes`, `2 hours 30 minutes`, `1 day`. */
export function durationWords(seconds: number): string {
  if (seconds < 60 || seconds % 60 !== 0) return counted(seconds, 'second')
  const units: readonly (readonly [number, string])[] = [
    [Math.floor(seconds / 86_400), 'day'],
    [Math.floor((seconds % 86_400) / 3600), 'hour'],
    [Math.floor((seconds % 3600) / 60), 'minute'],
  ]
  return units.flatMap(([count, unit]) => (count > 0 ? [counted(count, unit)] : [])).join(' ')
}

const counted = (count: number, unit: string): string => `${count} ${unit}${count === 1 ? '' : 's'}`

function dateWords(at: number, now = Date.now()): string {
  const date = new Date(at)
  const time = `${two(date.getHours())}:${two(date.getMinutes())}`
  const days = Math.round((new Date(at).setHours(0, 0, 0, 0) - new Date(now).setHours(0, 0, 0, 0)) / 86_400_000)
  if (days === 0) return `today at ${time}`
  if (days === 1) return `tomorrow at ${time}`
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} at ${time}`
}

const two = (value: number): string => String(value).padStart(2, '0')

const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] as const

/** The common forms in words; any other expression as it is. */
export function cronWords(expression: string): string {
  const [minute = '', hour = '', day = '', month = '', weekday = '', ...more] = expression.trim().split(/\s+/)
  const asIs = `by ${expression}`
  if (more.length > 0 || month !== '*' || day !== '*') return asIs
  if (hour === '*' && weekday === '*') {
    if (minute === '*') return 'every minute'
    const [, step] = /^\*\/(\d+)$/.exec(minute) ?? []
    if (step !== undefined) return `every ${step} minutes`
    return /^\d+$/.test(minute) ? `every hour at :${minute.padStart(2, '0')}` : asIs
  }
  if (!/^\d+$/.test(minute) || !/^\d+$/.test(hour)) return asIs
  const time = `at ${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`
  if (weekday === '*') return `every day ${time}`
  if (weekday === '1-5') return `Monday to Friday ${time}`
  const named = weekday.split(',').map((one) => (/^[0-7]$/.test(one) ? days[Number(one)] : undefined))
  return named.includes(undefined) ? asIs : `every ${named.join(', ')} ${time}`
}
