import { useEffect, useState } from 'preact/hooks'
import { timeAgo } from '../libero.ts'

/** How long ago something was, with the exact time on hover. It goes on by itself, once a minute. */
export function RelativeTime({ at }: { readonly at: number }) {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 60_000)
    return () => clearInterval(timer)
  }, [])
  const date = dateOf(at)
  return (
    <time class="time" dateTime={date.toISOString()} title={date.toLocaleString()}>
      {timeAgo(date.getTime(), now)}
    </time>
  )
}

/** Imported sessions may have times that are none of a date; the nearest one stands for them. */
export const dateOf = (at: number): Date => new Date(Math.max(-lastTime, Math.min(lastTime, at)))
const lastTime = 8.64e15
