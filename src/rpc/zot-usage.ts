import type { TurnUsage } from '../events/events.ts'
import type { ZotUsage } from './frames.ts'

/** Nothing spent yet. */
export const nothing: ZotUsage = Object.freeze({ input: 0, output: 0, cache_read: 0, cache_write: 0, cost_usd: 0 })

/** A sum with one more model call; what has no known price costs nothing here. */
export function plus(
  sum: ZotUsage,
  { input, output, cacheRead = 0, cacheCreation = 0, cost = 0 }: TurnUsage,
): ZotUsage {
  return {
    input: sum.input + input,
    output: sum.output + output,
    cache_read: sum.cache_read + cacheRead,
    cache_write: sum.cache_write + cacheCreation,
    cost_usd: sum.cost_usd + cost,
  }
}
