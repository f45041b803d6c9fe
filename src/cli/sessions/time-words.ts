const [minute, hour, day] = [60_000, 3_600_000, 86_400_000]

/** How long ago something was, as people say it. */
export function ago(at: number, now: number): string {
  const past = now - at
  if (past < minute) return 'just now'
  if (past < hour) return `${Math.floor(past / minute)} min ago`
  if (past < day) return `${Math.floor(past / hour)} h ago`
  if (past < 14 * day) return `${Math.floor(past / day)} d ago`
  return new Date(at).toISOString().slice(0, 10)
}

/** `2026-01-31 09:30 UTC`: the same wherever it is read. */
export function dateOf(at: number): string {
  const date = new Date(at)
  return Number.isNaN(date.getTime()) ? 'unknown' : `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}
