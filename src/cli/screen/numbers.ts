/** `0.4 s`, `12 s`, `3 min 5 s`. */
export function shownTime(ms: number): string {
  const seconds = Math.max(0, ms) / 1000
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`
  const whole = Math.round(seconds)
  if (whole < 60) return `${whole} s`
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60]
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${whole % 60} s`
}

/** `12,345`. By hand: to know every language's way takes longer than everything else at the end of a run. */
export const shownCount = (count: number): string => String(count).replace(/\B(?=(?:\d{3})+$)/g, ',')

/** `1 line`, `2 lines`. */
export const counted = (count: number, noun: string): string => `${shownCount(count)} ${noun}${count === 1 ? '' : 's'}`

/** `$0.0123`, `$1.20`: two digits that say something. */
export function shownCost(dollars: number): string {
  if (dollars === 0) return '$0'
  if (dollars < 0.0001) return 'less than $0.0001'
  return `$${dollars.toFixed(dollars < 1 ? 4 : 2)}`
}

/** `812 bytes`, `12 kB`, `3.4 MB`. */
export function shownSize(bytes: number): string {
  if (bytes < 1000) return counted(bytes, 'byte')
  if (bytes < 1_000_000) return `${Math.round(bytes / 1000)} kB`
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}
