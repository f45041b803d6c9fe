/** `libero/client`: sessions and agents of a server of `libero/server`, from a browser or any other program. */

export type { Clock } from '../core/clock.ts'
export type { RemoteOptions } from './connection.ts'
export { createRemoteAgent, type RemoteAgent, type RemoteAgentOptions, type RemoteRun } from './create-remote-agent.ts'
export { createRemoteClient, type RemoteClient } from './create-remote-client.ts'
export type { FollowOptions } from './follow.ts'
export { RemoteProblem } from './remote-problem.ts'
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
  RemoteModel,
  RemoteRollback,
  RemoteRollbackPlan,
  RemoteRollbackRequest,
  RemoteSearchHit,
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
} from './remote-types.ts'
export type { RemoteEvent, RemoteEventsOptions } from './session-events.ts'
