import type { Message } from '../../core/turn.ts'
import { messageTokens } from './message-tokens.ts'

/** Where the newest messages begin that are within so many tokens. Calls and their results are on the same side. */
export function newestWithin(messages: readonly Message[], tokens: number): number {
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

/** Where the message that ends before `end` begins, with the calls it answers. */
export function unitBefore(messages: readonly Message[], end: number): number {
  let start = end - 1
  while (start > 0 && hasResults(messages[start]!)) start--
  return Math.max(start, 0)
}

/** Whether a message answers calls. */
export const hasResults = (message: Message): boolean => message.content.some((block) => block.type === 'tool_result')
