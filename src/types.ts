/** Every public type of the engine. The root exports them all; `libero/types` is the same without a function. */

export type { Authority, AuthorityOptions } from './authority/authority.ts'
export type { AgentParts, MessageOptions } from './core/agent.ts'
export type {
  AroundContexts,
  AroundHandler,
  AroundKind,
  AroundModel,
  AroundOutcomes,
  AroundTool,
} from './core/around.ts'
export type {
  AuditRecord,
  AuditSink,
  CommandLine,
  DecidedBy,
  Decision,
  Effect,
  ToolOrigin,
  Verdict,
} from './core/authority.ts'
export type { Behavior, ExceededBudget, Limits, ResolvedBehavior, ThinkingDecay, ToolBudget } from './core/behavior.ts'
export type { Cancellation } from './core/cancellation.ts'
export type { Clock } from './core/clock.ts'
export type { SchemaTool, TypedTool } from './core/define-tool.ts'
export type { PromptTooLongOptions, ProviderErrorOptions, StoreErrorCode } from './core/errors.ts'
export type {
  ExecOptions,
  ExecResult,
  ExecutionCapabilities,
  ExecutionContext,
  ExecutionHandle,
  FileInfo,
  OpenFile,
  SpawnConfig,
  WriteFileOptions,
} from './core/execution.ts'
export type { CacheBreak, LimitState, McpToolHookContext } from './core/feature-hooks.ts'
export type { Child, ChildPreset, ForkOptions } from './core/fork.ts'
export type { HookContexts } from './core/hook-map.ts'
export type { Handler, HandlerMap, HookScope, Hooks, Unhook } from './core/hooks.ts'
export type { Inbox } from './core/inbox.ts'
export type {
  Interact,
  InteractionKind,
  InteractionPayloads,
  InteractionRequest,
  InteractionResponse,
} from './core/interaction.ts'
export type {
  CallOutcome,
  EntryBody,
  EntryOf,
  InboxItem,
  InputMode,
  Log,
  LogEntry,
  ParentCall,
  RunFailure,
  RunStatus,
} from './core/log.ts'
export type { Meta } from './core/meta.ts'
export type {
  ClassifiedError,
  EventIterator,
  ModelEvent,
  ModelReply,
  ModelRequest,
  Provider,
  ProviderCapabilities,
  ProviderMeta,
  Refusal,
  Repair,
  ReplyToolCall,
  StopReason,
} from './core/provider.ts'
export type { AgentHookMap, Extension, ExtensionHost, Run, RunFacts, RunOptions, SystemPrompt } from './core/run.ts'
export type { DescribedSchema, OutputOf, Schema, StandardSchema } from './core/schema.ts'
export type { SideCall, SideReply } from './core/side-call.ts'
export type {
  BlobStore,
  Fence,
  Lease,
  LeaseRequest,
  PendingAnswer,
  PendingCall,
  Session,
  SessionInfo,
  SessionStore,
  StoreChange,
} from './core/store.ts'
export type { ThinkingLevel } from './core/thinking.ts'
export type {
  FileAccess,
  FilePreview,
  FileTouch,
  JsonSchema,
  PreviewContext,
  ReplayClass,
  ToolCheck,
  ToolContext,
  ToolDef,
  ToolPreview,
  ToolResult,
  ToolSpec,
  TouchedFile,
} from './core/tool.ts'
export type { Approval, Halt, ToolHookContext } from './core/tool-hooks.ts'
export type { Coercion, ValidationResult } from './core/tool-input.ts'
export type { Toolbox, ToolCounts } from './core/toolbox.ts'
export type { RunRecord, Transcript } from './core/transcript.ts'
export type {
  DocumentBlock,
  ImageBlock,
  Message,
  PromptPart,
  ProviderData,
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
export type { LiberoAgent as Agent } from './create-agent.ts'
export type { CommandLimits } from './execution/commands/command-shell.ts'
export type { ProcessContextOptions } from './execution/process.ts'
export type { SandboxContextOptions, SandboxProvider } from './execution/sandbox.ts'
export type { LazyToolEntry } from './extensions/disclosure/lazy-tool.ts'
export type { ToolSearchInput, ToolSearchOptions } from './extensions/disclosure/tool-search.ts'
export type { McpServerConfig } from './mcp/config.ts'
export type { ConnectMcpOptions } from './mcp/connect.ts'
export type { McpConnections, McpConnector, McpServer } from './mcp/connections.ts'
export type { McpMemory } from './mcp/memory.ts'
export type { McpLoginOptions } from './mcp/oauth/browser-login.ts'
export type { McpCredentialStore } from './mcp/oauth/credential-store.ts'
export type { McpLogin } from './mcp/oauth/login-mcp-server.ts'
export type { McpAuthProvider, McpOAuthProviderOptions } from './mcp/oauth/mcp-oauth-provider.ts'
export type { AgentOptions, Preset } from './presets/preset.ts'
export type { FileMapAdapter } from './sessions/file-map/adapter-files.ts'
export type { AnthropicMessage } from './sessions/interop/anthropic.ts'
export type { OpenAIMessage } from './sessions/interop/openai.ts'
export type { JsonlStoreOptions } from './sessions/jsonl-store.ts'
export type { SessionOptions } from './sessions/leased-log.ts'
export type { RemoteStoreOptions } from './sessions/remote/options.ts'
export type { SqliteStoreOptions } from './sessions/sqlite-store.ts'
export type { Skill, SkillDefinition, SkillProblem, SkillSource, SkillsConfig } from './skills/skill.ts'
export type { InteractionToolOptions } from './tools/interaction.ts'
export type { SpawnInput, SpawnOptions } from './tools/spawn.ts'
