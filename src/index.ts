/** The root: every type of the engine, and the functions that most programs need. None of them loads what it does not use. */

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
  SessionNotFoundError,
  SessionParkedError,
  StoreError,
} from './core/errors.ts'
export { zodToJsonSchema } from './core/schema.ts'
export { validateToolArgs } from './core/tool-input.ts'
export { toolOutputByteLength, toolResultToText } from './core/tool-output.ts'
export { flattenTurns, statsByModel } from './core/usage.ts'
export { createAgent } from './create-agent.ts'
export { createProcessContext } from './execution/process.ts'
export { createSandboxContext } from './execution/sandbox.ts'
export { createToolSearchTool } from './extensions/disclosure/tool-search.ts'
export { connectMcpServers, loginMcpServer } from './mcp/connections.ts'
export { createMemoryMcpCredentialStore } from './mcp/oauth/credential-store.ts'
export { McpOAuthProvider } from './mcp/oauth/mcp-oauth-provider.ts'
export { basicTools, glob, grep } from './presets/lazy-tools.ts'
export { composePresets, definePreset } from './presets/preset.ts'
export { fromAnthropic, toAnthropic } from './sessions/interop/anthropic.ts'
export { autoDetectAndConvert } from './sessions/interop/detect.ts'
export { fromOpenAI, systemOf, toOpenAI } from './sessions/interop/openai.ts'
export { createSession, loadSession, openSession } from './sessions/session.ts'
export {
  createFileMapStore,
  createJsonlStore,
  createMemoryStore,
  createRemoteStore,
  createSqliteStore,
} from './sessions/stores.ts'
export { defineSkill } from './skills/skill.ts'
export { createInteractionTool } from './tools/interaction.ts'
export { createSpawnTool, spawn } from './tools/spawn.ts'
export type * from './types.ts'
