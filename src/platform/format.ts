/** `0.4 s`, `12 s`, `3 min 5 s`. */
export function formatDuration(ms: number): string {
  const seconds = Math.max(0, ms) / 1000
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`
  const whole = Math.round(seconds)
  if (whole < 60) return `${whole} s`
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60]
  if (hours > 0) return minutes > 0 ? `${hours} h ${minutes} min` : `${hours} h`
  return whole % 60 > 0 ? `${minutes} min ${whole % 60} s` : `${minutes} min`
}

/** `12,345`. Not with `Intl`, which is slow to load. */
export const formatCount = (count: number): string => String(count).replace(/\B(?=(?:\d{3})+$)/g, ',')

/** `1 line`, `2 lines`, `2 entries`. */
export const pluralize = (count: number, noun: string): string =>
  `${formatCount(count)} ${count === 1 ? noun : `${noun.replace(/([^aeo])y$/, '$1ie')}s`}`

/** `$0.0123`, `$1.20`. */
export function formatCost(dollars: number): string {
  if (dollars === 0) return '$0'
  if (dollars < 0.0001) return 'less than $0.0001'
  return `$${dollars.toFixed(dollars < 1 ? 4 : 2)}`
}

/** `812 bytes`, `12 kB`, `3.4 MB`. */
export function formatSize(bytes: number): string {
  if (bytes < 1000) return pluralize(bytes, 'byte')
  if (bytes < 1_000_000) return `${Math.round(bytes / 1000)} kB`
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000]

/** `just now`, `5 min ago`; after two weeks the date. */
export function timeAgo(at: number, now: number): string {
  const past = now - at
  if (past < minute) return 'just now'
  if (past < hour) return `${Math.floor(past / minute)} min ago`
  if (past < day) return `${Math.floor(past / hour)} h ago`
  if (past < 14 * day) return `${Math.floor(past / day)} d ago`
  return new Date(at).toISOString().slice(0, 10)
}

/** `2026-01-31 09:30 UTC`. */
export function formatDate(at: number): string {
  const date = new Date(at)
  return Number.isNaN(date.getTime()) ? 'unknown' : `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}
