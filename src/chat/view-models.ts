/** View models for any screen, independent of Node. */

export {
  type EditDecision,
  parseEditOutcomesFromResult,
  withEditDecisions as injectOutcomesIntoInput,
} from '../core/edit-outcomes.ts'
export type { InteractionResponse } from '../core/interaction.ts'
export type { LogEntry } from '../core/log.ts'
export type { PendingAnswer, PendingCall } from '../core/store.ts'
export type { ChildSessionEvent, SessionEvent } from '../events/event-queue.ts'
export type { AgentEvent } from '../events/events.ts'
export type { AgentInstanceMessage } from '../plugins/message.ts'
export type { TokenBreakdown } from '../plugins/tokens/token-breakdown.ts'
export type { Row } from '../view/rows.ts'
export { emptyView, foldEntries, foldEvent, type SessionView } from '../view/session-view.ts'
export { createViewHistory } from '../view/view-history.ts'
export {
  type ApprovalAnswer,
  type ApprovalCard,
  answerApproval,
  approvalOfPending,
  approvalOfPrompt,
  approvalPendingAnswers,
  approvalResponse,
  isPendingApproval,
} from './approval-card.ts'
export { type CardOutcome, expireCard, withdrawCard } from './card-status.ts'
export { createScrolledList, type ScrolledList } from './list-window.ts'
export { createMessageList, type MessageList } from './message-list.ts'
export { DEFAULT_PERSIST_EXCLUDE_TOOLS } from './persist-excludes.ts'
export {
  type QuestionCard,
  questionOfPending,
  questionOfPrompt,
  questionPendingAnswer,
  questionResponse,
  submitQuestion,
  toggleOption,
  writeAnswer,
} from './question-card.ts'
export { createRendererRegistry, messageKinds, type RendererRegistry } from './renderers.ts'
export { createStreamingText, streamingOpacity } from './streaming-text.ts'
export { tokenRing } from './token-ring.ts'
export { type TurnAction, turnActions } from './turn-actions.ts'
