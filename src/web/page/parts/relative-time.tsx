import { useEffect, useState } from 'preact/hooks'

/** How long ago something was, with the exact time on hover. It goes on by itself, once a minute. */
export function RelativeTime({ at }: { readonly at: number }) {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 60_000)
    return () => clearInterval(timer)
  }, [])
  return (
    <time class="time" dateTime={new Date(at).toISOString()} title={new Date(at).toLocaleString()}>
      {relativeTime(at, now)}
    </time>
  )
}

/** In words: `now`, `5 min ago`, `3 h ago`, `2 d ago`, then the date. */
export function relativeTime(at: number, now: number): string {
  const minutes = Math.floor((now - at) / 60_000)
  if (minutes < 1) return 'now'
  if (minutes < 60) return `${minutes} min ago`
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ago`
  if (minutes < 7 * 24 * 60) return `${Math.floor(minutes / (24 * 60))} d ago`
  return new Date(at).toISOString().slice(0, 10)
}
