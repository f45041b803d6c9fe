/** All that the page uses of the library. Nothing else of it is imported: a boundary checks that this runs in a browser. */

export { attachedPath, withoutAttached } from '../../chat/attached-text.ts'
export { callOutcome, callTitle } from '../../chat/describe-call.ts'
export { diffCounts } from '../../chat/diff-counts.ts'
export { readCommandLine } from '../../chat/read-command-line.ts'
export { type DiffRow, readDiff } from '../../chat/read-diff.ts'
export * from '../../chat/view-models.ts'
export * from '../../client/index.ts'
export type * from '../../client/remote-agent-types.ts'
export type * from '../../client/remote-host-types.ts'
export type * from '../../client/remote-session-types.ts'
export type * from '../../client/remote-types.ts'
export type { SessionStatus } from '../../core/session-summary.ts'
export type { EditPreview, FilePreview, ToolPreview } from '../../core/tool.ts'
export type { SessionContentBlock, ToolOutput } from '../../core/turn.ts'
export { replacesReply } from '../../events/replaces-reply.ts'
export { formatDuration, formatSize, pluralize, timeAgo } from '../../platform/format.ts'
export { fullyVisible, visibleName, visibleText } from '../../platform/visible-text.ts'
export type { PersistentList } from '../../view/persistent-list.ts'
export type {
  AnswerRow,
  ApprovalView,
  CallResultView,
  CallRow,
  CompactionRow,
  MessageRow,
  NoticeRow,
} from '../../view/rows.ts'
export type { ChildView, JobView, QueuedMessage, TodoView, UsageView } from '../../view/session-view.ts'
export { foldOnwards } from '../../view/session-view.ts'
export type { RendererKit, WaitingForPerson } from '../page-renderers.ts'
