import type { Message } from '../../core/turn.ts'
import { newestWithin } from './newest-within.ts'

/**
 * Leaves out the oldest messages until the rest is within so many tokens; all of them if need be. A result goes with its
 * call. A list that is within them is given back as it is.
 */
export function trimMessages(messages: readonly Message[], targetTokens: number): readonly Message[] {
  if (!(targetTokens >= 0))
    throw new RangeError(`trimMessages needs a target of 0 tokens or more, got ${String(targetTokens)}`)
  const start = newestWithin(messages, targetTokens)
  return start === 0 ? messages : messages.slice(start)
}
