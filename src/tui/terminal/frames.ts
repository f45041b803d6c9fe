import type { Clock } from '../../core/clock.ts'

interface FramesOptions {
  draw(): void
  /** Whether the picture changes without further calls. */
  isAnimated(): boolean
  readonly clock: Clock
}

/** Schedules drawing: at once or with the next frame after a change, and repeatedly while something is animated. */
export function createFrames({ draw, isAnimated, clock }: FramesOptions) {
  let drawnAt = Number.NEGATIVE_INFINITY
  let due = Number.POSITIVE_INFINITY
  let cancel: (() => void) | undefined
  const at = (time: number): void => {
    if (time >= due) return
    cancel?.()
    due = time
    cancel = clock.timer(Math.max(0, time - clock.now()), frame)
  }
  const frame = (): void => {
    stop()
    drawnAt = clock.now()
    draw()
    if (isAnimated()) at(drawnAt + animationMs)
  }
  const stop = (): void => {
    cancel?.()
    cancel = undefined
    due = Number.POSITIVE_INFINITY
  }
  return {
    /** Reports that there is something new to draw. */
    changed: (): void => (clock.now() - drawnAt >= frameMs ? frame() : at(drawnAt + frameMs)),
    /** Stops drawing until the next change. */
    stop,
  }
}

const frameMs = 40
const animationMs = 100

/** A clock whose timers do not keep the process alive. */
export const unrefClock: Clock = {
  now: () => performance.now(),
  timer(ms, fn) {
    const id = setTimeout(fn, ms)
    id.unref()
    return () => clearTimeout(id)
  },
}
