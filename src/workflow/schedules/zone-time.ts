/** How far a zone is ahead of UTC at a moment, in ms. Without a zone: that of the machine. */
export function zoneOffset(at: number, timeZone: string | undefined): number {
  const parts = formatOf(timeZone).formatToParts(at)
  const fields: Record<string, number> = {}
  for (const { type, value } of parts) fields[type] = Number(value)
  const { year, month, day, hour, minute, second } = fields as Record<string, number>
  const local = Date.UTC(year!, month! - 1, day!, hour!, minute!, second!)
  return local - Math.floor(at / 1000) * 1000
}

/** Whether there is a zone of that name. */
export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name })
    return true
  } catch {
    return false
  }
}

// Making one takes a hundred times as long as using it.
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
