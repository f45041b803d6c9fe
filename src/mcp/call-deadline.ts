import type { Clock } from '../core/clock.ts'

/** How long a call is waited for. */
export interface CallDeadline {
  /** It is alive: the time that it may be silent begins anew. What it may take in all does not. */
  heard(): void
  /** People take their time; meanwhile neither limit runs. Returns how to go on. */
  hold(): () => void
  end(): void
}

export interface CallDeadlineLimits {
  readonly silentMs: number
  readonly totalMs: number
}

/** Calls `onOver`, once, with what was too long. */
export function createCallDeadline(
  clock: Clock,
  { silentMs, totalMs }: CallDeadlineLimits,
  onOver: (why: string) => void,
): CallDeadline {
  let left = totalMs
  let since = clock.now()
  let holds = 0
  let off: (() => void) | undefined
  let isOver = false

  function start(): void {
    off?.()
    if (isOver || holds > 0) return
    const total = left - (clock.now() - since)
    const isSilence = silentMs <= total
    off = clock.timer(Math.max(0, Math.min(silentMs, total)), () => {
      end()
      onOver(isSilence ? `no answer and no progress for ${seconds(silentMs)}` : `no answer within ${seconds(totalMs)}`)
    })
  }

  function end(): void {
    isOver = true
    off?.()
  }

  start()
  return {
    heard: start,
    hold() {
      if (holds++ === 0) {
        left -= clock.now() - since
        off?.()
      }
      let isHeld = true
      return () => {
        if (!isHeld) return
        isHeld = false
        if (--holds > 0) return
        since = clock.now()
        start()
      }
    },
    end,
  }
}

const seconds = (ms: number): string => `${Number((ms / 1000).toFixed(1))} s`
