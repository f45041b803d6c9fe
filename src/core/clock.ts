/** The source of time: tests set it by hand, a replay plays it back. */
export interface Clock {
  now(): number
  /** Calls `fn` once after `ms`. Returns a function that cancels it. */
  timer(ms: number, fn: () => void): () => void
}

export const systemClock: Clock = {
  now: Date.now,
  timer(ms, fn) {
    const id = setTimeout(fn, Math.min(ms, maxTimerMs))
    return () => clearTimeout(id)
  },
}

/** `setTimeout` fires at once for longer times. */
const maxTimerMs = 2 ** 31 - 1

/** A factory of unique ids: a random prefix and a counter, cheaper than a UUID each. */
export function createIds(prefix: string = randomPrefix()): () => string {
  let n = 0
  return () => `${prefix}-${++n}`
}

function randomPrefix(): string {
  return crypto.randomUUID().replaceAll('-', '').slice(0, 20)
}
