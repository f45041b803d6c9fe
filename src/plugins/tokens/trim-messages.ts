import type { Message } from '../../core/turn.ts'
import { messageTokens } from './message-tokens.ts'

/**
 * Leaves out the oldest messages until the rest fits into this number of tokens, if necessary all. A result goes with its
 * call. A list that fits is returned as it is.
 */
export function trimMessages(messages: readonly Message[], targetTokens: number): readonly Message[] {
  if (!(targetTokens >= 0))
    throw new RangeError(`trimMessages needs a target of 0 tokens or more, got ${String(targetTokens)}`)
  const start = newestWithin(messages, targetTokens)
  return start === 0 ? messages : messages.slice(start)
}

/** The index from which on the messages fit into this number of tokens. Calls are not separated from their results. */
function newestWithin(messages: readonly Message[], tokens: number): number {
  let start = messages.length
  let sum = 0
  for (let i = start - 1; i >= 0; i--) {
    const message = messages[i]!
    sum += messageTokens(message).total
    if (sum > tokens) return start
    if (i === 0 || !hasResults(message)) start = i
  }
  return start
}

/** The index of the message before `end`, or of the calls it answers. */
function unitBefore(messages: readonly Message[], end: number): number {
  let start = end - 1
  while (start > 0 && hasResults(messages[start]!)) start--
  return Math.max(start, 0)
}

/** Whether a message has tool results. */
export const hasResults = (message: Message): boolean => message.content.some((block) => block.type === 'tool_result')

/**
 * The newest messages that fit into 70 % of a context window, by estimate; never a call without its results, and at least
 * one message. A conversation that fits is returned as it is. No size, or 0, means no limit.
 */
export function fitHistory(messages: readonly Message[], contextWindowSize: number | undefined): readonly Message[] {
  if (contextWindowSize === undefined || contextWindowSize === 0 || messages.length === 0) return messages
  if (!(contextWindowSize > 0))
    throw new RangeError(
      `contextWindowSize must be a number of tokens above 0, or 0 for no limit, got ${String(contextWindowSize)}`,
    )
  const last = unitBefore(messages, messages.length)
  // Not times 0.7, which gives 62.99 for 90.
  const start = Math.min(newestWithin(messages, (contextWindowSize * 70) / 100), last)
  return start === 0 ? messages : messages.slice(start)
}
