/** View models for any screen, independent of Node. */

export type { InteractionResponse } from '../core/interaction.ts'
export type { PendingAnswer, PendingCall } from '../core/store.ts'
export type { AgentInstanceMessage } from '../plugins/message.ts'
export {
  type ApprovalAnswer,
  type ApprovalCard,
  type ApprovalChoice,
  type ApprovalDetails,
  type ApprovalPrompt,
  answerApproval,
  approvalOfPending,
  approvalOfPrompt,
  approvalPendingAnswers,
  approvalResponse,
  isPendingApproval,
} from './approval-card.ts'
export { type Card, type CardOutcome, expireCard, withdrawCard } from './card-status.ts'
export {
  createRowHeights,
  createScrolledList,
  type ListWindow,
  type RowHeights,
  type ScrolledList,
  type ScrolledListOptions,
  type WindowOptions,
  windowOf,
} from './list-window.ts'
export { type ChatTurn, createMessageList, isFaded, type MessageList } from './message-list.ts'
export { DEFAULT_PERSIST_EXCLUDE_TOOLS } from './persist-excludes.ts'
export {
  type QuestionAnswer,
  type QuestionCard,
  type QuestionPrompt,
  questionOfPending,
  questionOfPrompt,
  questionPendingAnswer,
  questionResponse,
  submitQuestion,
  toggleOption,
} from './question-card.ts'
export {
  createRendererRegistry,
  messageKinds,
  type RendererRegistry,
  type RendererRegistryOptions,
} from './renderers.ts'
export { createStreamingText, type StreamingOptions, type StreamingText, streamingOpacity } from './streaming-text.ts'
export { type TokenCounts, type TokenRing, tokenRing } from './token-ring.ts'
export { type TurnAction, turnActions } from './turn-actions.ts'
