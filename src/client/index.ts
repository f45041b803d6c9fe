/** `libero/client`: sessions and agents of a server of `libero/server`, from a browser or any other program. */

export type { Clock } from '../core/clock.ts'
export type { RemoteOptions } from './connection.ts'
export { createRemoteAgent, type RemoteAgent, type RemoteAgentOptions, type RemoteRun } from './create-remote-agent.ts'
export { createRemoteClient, type RemoteClient } from './create-remote-client.ts'
export type { FollowOptions } from './follow.ts'
export type {
  NewRemoteAgent,
  NewRemoteSchedule,
  RemoteActiveHours,
  RemoteAgentAnswer,
  RemoteAgentChange,
  RemoteAgentContent,
  RemoteAgentDefaults,
  RemoteAgentInstance,
  RemoteAgentMessage,
  RemoteAgentPage,
  RemoteAgentPending,
  RemoteAgentQuery,
  RemoteAgentSettings,
  RemoteAgentState,
  RemoteAgentSummary,
  RemoteDefinition,
  RemoteMessageMetadata,
  RemotePluginSettings,
  RemoteRollback,
  RemoteRollbackPlan,
  RemoteSchedule,
  RemoteScheduleChange,
  RemoteScheduleTime,
  RemoteTokens,
  RemoteToolRule,
} from './remote-agent-types.ts'
export type { RemoteAgents } from './remote-agents.ts'
export type { RemoteHost } from './remote-host.ts'
export type {
  RemoteAbout,
  RemoteAuditQuery,
  RemoteAuditRecord,
  RemoteConfinement,
  RemoteExplanation,
  RemoteGrant,
  RemoteMcpServer,
  RemoteMcpTest,
  RemoteMode,
  RemoteModel,
  RemotePolicyCase,
  RemotePolicyResults,
  RemotePolicyTest,
  RemoteProvider,
  RemoteRuleEntry,
  RemoteRuleSettings,
  RemoteRules,
  RemoteSkill,
  RemoteTool,
  RemoteWikiNode,
} from './remote-host-types.ts'
export { RemoteProblem } from './remote-problem.ts'
export type { RemoteSchedules } from './remote-schedules.ts'
export type {
  ChosenRemoteSettings,
  RemoteCommand,
  RemoteCommandResult,
  RemoteCompletions,
  RemoteContext,
  RemoteDiff,
  RemoteFiles,
  RemoteFork,
  RemoteHit,
  RemoteModelChoice,
  RemoteRollbackRequest,
  RemoteSearchHit,
  RemoteSessionRollback,
  RemoteSessionRollbackPlan,
  RemoteSessionSettings,
  RemoteSettingsChange,
  RemoteWhy,
} from './remote-session-types.ts'
export type { RemoteSessionWork } from './remote-session-work.ts'
export type { RemoteSessions } from './remote-sessions.ts'
export type {
  NewRemoteSession,
  RemoteAnswer,
  RemoteChange,
  RemoteContent,
  RemoteDraft,
  RemoteEntries,
  RemoteEntryRange,
  RemoteIndex,
  RemoteMessage,
  RemotePendingCall,
  RemoteSession,
  RemoteSessionPage,
  RemoteSessionQuery,
  RemoteUsage,
  SentMessage,
  ToolUsageSum,
  UsageDimension,
  UsageRow,
  UsageSum,
} from './remote-types.ts'
export type { RemoteWebhook, RemoteWebhookEvent, RemoteWebhooks } from './remote-webhooks.ts'
export type { RemoteEvent, RemoteEventsOptions } from './session-events.ts'
