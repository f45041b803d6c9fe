/** View models for any screen, independent of Node. */

export type { InteractionResponse } from '../core/interaction.ts'
export type { PendingAnswer, PendingCall } from '../core/store.ts'
export type { AgentInstanceMessage } from '../plugins/message.ts'
export {
  type ApprovalAnswer,
  type ApprovalCall,
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
export { type Card, type CardOutcome, type CardStatus, expireCard, withdrawCard } from './card-status.ts'
export {
  createRowHeights,
  createScrolledList,
  type ListRow,
  type ListWindow,
  type RowHeights,
  type ScrolledList,
  type ScrolledListOptions,
  type WindowOptions,
  windowOf,
} from './list-window.ts'
export { type ChatTurn, createMessageList, isFaded, type MessageList, virtualisedAbove } from './message-list.ts'
export { DEFAULT_PERSIST_EXCLUDE_TOOLS } from './persist-excludes.ts'
export {
  type QuestionAnswer,
  type QuestionCard,
  type QuestionOption,
  type QuestionPrompt,
  questionOfPending,
  questionOfPrompt,
  questionPendingAnswer,
  questionResponse,
  submitQuestion,
  toggleOption,
  writeAnswer,
} from './question-card.ts'
export {
  createRendererRegistry,
  type MessageKind,
  type MessageMatch,
  messageKinds,
  type Renderer,
  type RendererRegistry,
  type RendererRegistryOptions,
} from './renderers.ts'
export {
  createStreamingText,
  type StreamedText,
  type StreamingOptions,
  type StreamingText,
  splitStreaming,
  streamingOpacity,
} from './streaming-text.ts'
export { type TokenCounts, type TokenKind, type TokenRing, type TokenSegment, tokenRing } from './token-ring.ts'
export {
  copyAll,
  copyAnswer,
  deleteTurn,
  retryTurn,
  rollbackTurn,
  type TurnAction,
  turnActions,
} from './turn-actions.ts'
