/** Every public type in one place, for code that only needs to name them. */
export type { Agent, AgentParts } from './core/agent.ts'
export type { Effect } from './core/authority.ts'
export type { Behavior, ResolvedBehavior, ThinkingDecay, ToolBudget } from './core/behavior.ts'
export type { Clock } from './core/clock.ts'
export type {
  ExecOptions,
  ExecResult,
  ExecutionCapabilities,
  ExecutionContext,
  ExecutionHandle,
  SpawnConfig,
} from './core/execution.ts'
export type { Child, ChildPreset, ForkOptions } from './core/fork.ts'
export type { AgentHookMap, McpToolHookContext, ToolHookContext } from './core/hook-map.ts'
export type { Handler, HandlerMap, Unhook } from './core/hooks.ts'
export type { Interact, InteractionRequest, InteractionResponse } from './core/interaction.ts'
export type { CallOutcome, EntryBody, EntryOf, InboxItem, Log, LogEntry, RunStatus } from './core/log.ts'
export type {
  ClassifiedError,
  ModelEvent,
  ModelReply,
  ModelRequest,
  Provider,
  ProviderCapabilities,
  ProviderMeta,
  StopReason,
} from './core/provider.ts'
export type { AgentHandlers, Extension, ExtensionHost, Run, RunOptions } from './core/run.ts'
export type {
  BlobStore,
  Fence,
  Lease,
  LeaseRequest,
  Session,
  SessionInfo,
  SessionStore,
  StoreChange,
} from './core/store.ts'
export type { ThinkingLevel } from './core/thinking.ts'
export type {
  JsonSchema,
  ReplayClass,
  StandardSchema,
  ToolContext,
  ToolDef,
  ToolResult,
  ToolSpec,
  TypedTool,
} from './core/tool.ts'
export type { Coercion, ValidationResult } from './core/tool-input.ts'
export type { RunRecord } from './core/transcript.ts'
export type {
  DocumentBlock,
  ImageBlock,
  Message,
  PromptPart,
  SessionContentBlock,
  SessionTurn,
  TextBlock,
  ThinkingBlock,
  ToolCallBlock,
  ToolOutput,
  ToolResultBlock,
  ToolResultContent,
  TurnUsage,
} from './core/turn.ts'
export type { AgentStats, ChildRunStats, ModelTotals, TurnRange } from './core/usage.ts'
export type { McpConnections, McpConnector, McpServerConfig } from './mcp/extension.ts'
export type { AgentOptions, Preset } from './presets/preset.ts'
