/** Time, injected: tests turn it by hand, replay plays it back. */
export interface Clock {
  now(): number
  /** Calls `fn` once after `ms`. Returns how to call it off. */
  timer(ms: number, fn: () => void): () => void
}

export const systemClock: Clock = {
  now: Date.now,
  timer(ms, fn) {
    const id = setTimeout(fn, Math.min(ms, longestTimer))
    return () => clearTimeout(id)
  },
}

/** Beyond this a timer fires at once instead of late. */
const longestTimer = 2 ** 31 - 1

/** Ids that never repeat: a random prefix per factory and a counter, cheaper than a UUID each. */
export function createIds(prefix: string = randomPrefix()): () => string {
  let n = 0
  return () => `${prefix}-${++n}`
}

function randomPrefix(): string {
  return crypto.randomUUID().replaceAll('-', '').slice(0, 20)
}
