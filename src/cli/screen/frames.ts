import type { Clock } from '../../core/clock.ts'

/** When to draw: at once where it has been a while, else with the next frame; and again and again while something moves. */
export interface Frames {
  /** Something is to be seen that was not there before. */
  changed(): void
  /** Draws nothing until the next change. */
  stop(): void
}

interface FramesOptions {
  draw(): void
  /** Whether the picture changes by itself. */
  isMoving(): boolean
  readonly clock: Clock
}

export function createFrames({ draw, isMoving, clock }: FramesOptions): Frames {
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
    if (isMoving()) at(drawnAt + movingMs)
  }
  const stop = (): void => {
    cancel?.()
    cancel = undefined
    due = Number.POSITIVE_INFINITY
  }
  return {
    changed: () => (clock.now() - drawnAt >= frameMs ? frame() : at(drawnAt + frameMs)),
    stop,
  }
}

const frameMs = 40
const movingMs = 100

/** A spinner keeps no process alive. */
export const unrefClock: Clock = {
  now: () => performance.now(),
  timer(ms, fn) {
    const id = setTimeout(fn, ms)
    id.unref()
    return () => clearTimeout(id)
  },
}
