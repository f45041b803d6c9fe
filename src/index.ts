export type { Behavior, Limits, ToolBudget } from './core/behavior.ts'
export { defineTool } from './core/define-tool.ts'
export {
  AgentAbortedError,
  AgentAuthError,
  AgentBudgetError,
  AgentContextExceededError,
  AgentError,
  AgentPromptTooLongError,
  AgentProviderError,
  AgentQuotaError,
  AgentRateLimitError,
  LeaseLostError,
  SessionBusyError,
  SessionParkedError,
  StoreError,
} from './core/errors.ts'
export type { HookContexts, McpToolHookContext, ToolHookContext } from './core/hook-map.ts'
export type { AgentHookMap, Extension, Run, RunOptions } from './core/run.ts'
export { zodToJsonSchema } from './core/schema.ts'
export type { ToolContext, ToolDef, ToolResult } from './core/tool.ts'
export { type ValidationResult, validateToolArgs } from './core/tool-input.ts'
export { toolOutputByteLength, toolResultToText } from './core/tool-output.ts'
export type { PromptPart, SessionContentBlock, SessionTurn, ToolResultContent, TurnUsage } from './core/turn.ts'
export { type AgentStats, flattenTurns, statsByModel } from './core/usage.ts'
export { createAgent, type LiberoAgent as Agent } from './create-agent.ts'
export { createProcessContext, type ProcessContextOptions } from './execution/process.ts'
export { createSandboxContext, type SandboxProvider } from './execution/sandbox.ts'
export { createToolSearchTool } from './extensions/disclosure/tool-search.ts'
export { connectMcpServers, loginMcpServer } from './mcp/late.ts'
export { createMemoryMcpCredentialStore } from './mcp/oauth/credential-store.ts'
export { McpOAuthProvider } from './mcp/oauth/mcp-oauth-provider.ts'
export { type AgentOptions, composePresets, definePreset, type Preset } from './presets/preset.ts'
export { fromAnthropic, toAnthropic } from './sessions/interop/anthropic.ts'
export { autoDetectAndConvert } from './sessions/interop/detect.ts'
export { fromOpenAI, systemOf, toOpenAI } from './sessions/interop/openai.ts'
export { createMemoryStore } from './sessions/memory-store.ts'
export { createSession, loadSession } from './sessions/session.ts'
export { createFileMapStore, createJsonlStore, createRemoteStore, createSqliteStore } from './sessions/stores.ts'
export { defineSkill, type SkillsConfig } from './skills/skill.ts'
export { createInteractionTool } from './tools/interaction.ts'
export { createSpawnTool, spawn } from './tools/spawn.ts'
