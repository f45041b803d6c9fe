import type { Message } from '../../core/turn.ts'
import { newestWithin, unitBefore } from '../tokens/newest-within.ts'

/**
 * The newest messages that fit 70 % of a context window, by estimate; never a call without its results, and never
 * nothing. A conversation that fits is given back as it is. No size, or 0, means no limit.
 */
export function fitHistory(messages: readonly Message[], contextWindowSize: number | undefined): readonly Message[] {
  if (contextWindowSize === undefined || contextWindowSize === 0 || messages.length === 0) return messages
  if (!(contextWindowSize > 0))
    throw new RangeError(
      `contextWindowSize must be a number of tokens above 0, or 0 for no limit, got ${String(contextWindowSize)}`,
    )
  const last = unitBefore(messages, messages.length)
  // Not times 0.7, which makes 62.99 of 90.
  const start = Math.min(newestWithin(messages, (contextWindowSize * 70) / 100), last)
  return start === 0 ? messages : messages.slice(start)
}
