import type { ActiveHours } from '../../plugins/schedule.ts'

const minute = 60_000
const day = 24 * 60 * minute

/** The first time from `at` on that is within the hours, possibly `at` itself. */
export function nextActive(at: number, hours: ActiveHours | undefined): number {
  if (!hours || isActive(at, hours)) return at
  const { from, timeZone } = hours
  const begin = at + modulo(clockTime(from)! - timeOfDay(at, timeZone), day)
  if (zoneOffset(at, timeZone) === zoneOffset(begin, timeZone)) return begin
  return firstActiveMinute(at, hours)
}

/** Whether a time is within the hours, by the local time of their zone. */
export function isActive(at: number, { from, to, timeZone }: ActiveHours): boolean {
  const time = timeOfDay(at, timeZone)
  const begin = clockTime(from)!
  const end = clockTime(to)!
  return begin < end ? time >= begin && time < end : time >= begin || time < end
}

/** `HH:MM` in ms since midnight; undefined where it is none. */
export function clockTime(text: string): number | undefined {
  const [, hours, minutes] = /^(\d{2}):(\d{2})$/.exec(text) ?? []
  if (hours === undefined) return undefined
  const time = (Number(hours) * 60 + Number(minutes)) * minute
  return Number(minutes) < 60 && time <= day ? time : undefined
}

function timeOfDay(at: number, timeZone: string | undefined): number {
  return modulo(at + zoneOffset(at, timeZone), day)
}

/** On the two days of a year on which clocks are changed an hour may be missing, or be there twice. */
function firstActiveMinute(at: number, hours: ActiveHours): number {
  const first = Math.ceil(at / minute) * minute
  for (let moment = first; moment < first + 2 * day; moment += minute) if (isActive(moment, hours)) return moment
  return first + day // hours that lie within the missing one do not come this day
}

function modulo(value: number, by: number): number {
  return ((value % by) + by) % by
}

/** The offset of a zone from UTC at a time, in ms. Default: the zone of the machine. */
function zoneOffset(at: number, timeZone: string | undefined): number {
  const parts = formatOf(timeZone).formatToParts(at)
  const fields: Record<string, number> = {}
  for (const { type, value } of parts) fields[type] = Number(value)
  const { year, month, day, hour, minute, second } = fields as Record<string, number>
  const local = Date.UTC(year!, month! - 1, day!, hour!, minute!, second!)
  return local - Math.floor(at / 1000) * 1000
}

export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name })
    return true
  } catch {
    return false
  }
}

// Creating a format takes a hundred times as long as using it.
const formats = new Map<string, Intl.DateTimeFormat>()
const mostFormats = 100

function formatOf(timeZone: string | undefined): Intl.DateTimeFormat {
  const key = timeZone ?? ''
  let format = formats.get(key)
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', {
      ...(timeZone !== undefined && { timeZone }),
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
    if (formats.size >= mostFormats) formats.clear()
    formats.set(key, format)
  }
  return format
}
