/** Every public type of the engine. The root exports them all; `libero/types` is the same without a function. */

export type { Authority, AuthorityOptions } from './authority/authority.ts'
export type { AuditRecord, AuditSink, Decision, Effect } from './core/authority.ts'
export type { Behavior, Limits } from './core/behavior.ts'
export type { Clock } from './core/clock.ts'
export type { SchemaTool, TypedTool } from './core/define-tool.ts'
export type { EditDecision } from './core/edit-outcomes.ts'
export type {
  ExecOptions,
  ExecResult,
  ExecutionContext,
  ExecutionHandle,
  SandboxSupport,
} from './core/execution.ts'
export type { HookContexts } from './core/hook-map.ts'
export type { Hooks } from './core/hooks.ts'
export type { Interact, InteractionResponse } from './core/interaction.ts'
export type { Log, LogEntry } from './core/log.ts'
export type {
  ClassifiedError,
  EventIterator,
  ModelEvent,
  ModelReply,
  ModelRequest,
  Provider,
  ProviderCapabilities,
  Refusal,
} from './core/provider.ts'
export type { AgentHookMap, Extension, ExtensionHost, Run } from './core/run.ts'
export type { Schema, StandardSchema } from './core/schema.ts'
export type {
  Fence,
  Lease,
  PendingAnswer,
  PendingCall,
  Session,
  SessionDetails,
  SessionQuery,
  SessionStore,
  SessionSummary,
} from './core/store.ts'
export type { ThinkingLevel } from './core/thinking.ts'
export type { JsonSchema, ReplayClass, ToolContext, ToolDef, ToolResult, ToolSpec } from './core/tool.ts'
export type { Approval, ToolHookContext } from './core/tool-hooks.ts'
export type { ValidationResult } from './core/tool-input.ts'
export type {
  Message,
  PromptPart,
  SessionContentBlock,
  SessionTurn,
  ToolCallBlock,
  ToolOutput,
  ToolResultContent,
  TurnUsage,
} from './core/turn.ts'
export type { AgentStats } from './core/usage.ts'
export type { LiberoAgent as Agent } from './create-agent.ts'
export type { ProcessContextOptions } from './execution/process.ts'
export type { SandboxProvider } from './execution/sandbox.ts'
export type { LazyToolEntry } from './extensions/disclosure/lazy-tool.ts'
export type { McpServerConfig } from './mcp/config.ts'
export type { ConnectMcpOptions } from './mcp/connect.ts'
export type { McpConnections, McpConnector } from './mcp/connections.ts'
export type { McpMemory } from './mcp/memory.ts'
export type { McpLoginOptions } from './mcp/oauth/browser-login.ts'
export type { McpCredentialStore } from './mcp/oauth/credential-store.ts'
export type { McpOAuthProviderOptions } from './mcp/oauth/mcp-oauth-provider.ts'
export type { AgentOptions, Preset } from './presets/preset.ts'
export type { FileMapAdapter } from './sessions/file-map/adapter-files.ts'
export type { AnthropicMessage } from './sessions/interop/anthropic.ts'
export type { OpenAIMessage } from './sessions/interop/openai.ts'
export type { JsonlStoreOptions } from './sessions/jsonl-store.ts'
export type { SessionOptions } from './sessions/leased-log.ts'
export type { RemoteStoreOptions } from './sessions/remote/options.ts'
export type { SqliteStoreOptions } from './sessions/sqlite-store.ts'
export type { Skill, SkillDefinition, SkillProblem, SkillsConfig } from './skills/skill.ts'
export type { SpawnOptions } from './tools/spawn.ts'
