import type { Clock } from '../core/clock.ts'

/** The time limits of one call. */
export interface CallDeadline {
  /** The server sent something: restarts the limit on silence, not the total limit. */
  restart(): void
  /** Stops both limits, while a person is asked. Returns a function that resumes them. */
  pause(): () => void
  end(): void
}

interface CallDeadlineLimits {
  readonly silentMs: number
  readonly totalMs: number
}

/** Calls `onTimeout` once, with the limit that was exceeded. */
export function createCallDeadline(
  clock: Clock,
  { silentMs, totalMs }: CallDeadlineLimits,
  onTimeout: (why: string) => void,
): CallDeadline {
  let left = totalMs
  let since = clock.now()
  let pauses = 0
  let cancelTimer: (() => void) | undefined
  let isOver = false

  function start(): void {
    cancelTimer?.()
    if (isOver || pauses > 0) return
    const total = left - (clock.now() - since)
    const isSilence = silentMs <= total
    cancelTimer = clock.timer(Math.max(0, Math.min(silentMs, total)), () => {
      end()
      onTimeout(
        isSilence ? `no answer and no progress for ${seconds(silentMs)}` : `no answer within ${seconds(totalMs)}`,
      )
    })
  }

  function end(): void {
    isOver = true
    cancelTimer?.()
  }

  start()
  return {
    restart: start,
    pause() {
      if (pauses++ === 0) {
        left -= clock.now() - since
        cancelTimer?.()
      }
      let isPaused = true
      return () => {
        if (!isPaused) return
        isPaused = false
        if (--pauses > 0) return
        since = clock.now()
        start()
      }
    },
    end,
  }
}

const seconds = (ms: number): string => `${Number((ms / 1000).toFixed(1))} s`
