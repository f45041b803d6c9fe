/**
 * `libero/ai-sdk`: sessions as messages of the AI SDK and back, without the package `ai`. Apart from `libero/server`,
 * because a page needs it to show a conversation before it follows it.
 */

export type { LogEntry } from '../core/log.ts'
export type { Message, SessionTurn } from '../core/turn.ts'
export { answersAreComplete } from './answers-are-complete.ts'
export { fromUIMessages } from './from-ui-messages.ts'
export { toUIMessages } from './to-ui-messages.ts'
export type { UIMessage } from './ui-message.ts'
