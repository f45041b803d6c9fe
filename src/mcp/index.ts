/** `libero/mcp`: tools of MCP servers for agents, and agents as MCP servers. */

export type { Clock } from '../core/clock.ts'
export type { AgentError } from '../core/errors.ts'
export type { HookContexts } from '../core/hook-map.ts'
export type { Hooks } from '../core/hooks.ts'
export type { ExtensionHost } from '../core/run.ts'
export { checkMcpServers, type McpServerConfig, readMcpEntry } from './config.ts'
export type { ConnectMcpOptions } from './connect.ts'
export {
  connectMcpServers,
  loginMcpServer,
  type McpConnections,
  type McpConnector,
  type McpHost,
  type McpPrompt,
  type McpPromptArgument,
  type McpPromptMessages,
  type McpResource,
  type McpResourceContent,
  type McpResourceTemplate,
  type McpServer,
} from './connections.ts'
export { createFileMcpMemory, createMemoryMcpMemory, type McpMemory, type RememberedServer } from './memory.ts'
export type { McpLoginOptions } from './oauth/browser-login.ts'
export { createMemoryMcpCredentialStore, type McpCredentialStore } from './oauth/credential-store.ts'
export { createFileMcpCredentialStore } from './oauth/file-credential-store.ts'
export type { McpLogin } from './oauth/login-mcp-server.ts'
export { McpLoginRequiredError } from './oauth/login-required.ts'
export { logoutMcpServer, type McpLogout, type McpLogoutOptions } from './oauth/logout-mcp-server.ts'
export { type McpAuthProvider, McpOAuthProvider, type McpOAuthProviderOptions } from './oauth/mcp-oauth-provider.ts'
export { createMcpAgentServer, type McpAgentServer, type McpNodeListener } from './serve/agent-server.ts'
export { createMcpToken, type McpHttpOptions } from './serve/http-guard.ts'
export type { McpStdioOptions } from './serve/make-server.ts'
export type {
  AgentRequest,
  ClientQuestion,
  ClientUser,
  MakeAgent,
  McpAgentServerOptions,
  OwnedAgent,
} from './serve/served-agents.ts'
export { unpinnedRunner } from './unpinned-runner.ts'
