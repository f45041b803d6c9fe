/** `libero/mcp`: tools of MCP servers for agents, and agents as MCP servers. */

export type { Clock } from '../core/clock.ts'
export type { AgentError } from '../core/errors.ts'
export type { HookContexts } from '../core/hook-map.ts'
export type { Hooks } from '../core/hooks.ts'
export type { ExtensionHost } from '../core/run.ts'
export { checkMcpServers, type McpServerConfig } from './config.ts'
export type { ConnectMcpOptions } from './connect.ts'
export type {
  McpConnections,
  McpConnector,
  McpHost,
  McpPrompt,
  McpPromptArgument,
  McpPromptMessages,
  McpResource,
  McpResourceContent,
  McpResourceTemplate,
  McpServer,
} from './connections.ts'
export { createFileMcpMemory } from './file-memory.ts'
export { connectMcpServers, loginMcpServer } from './lazy.ts'
export { createMemoryMcpMemory, type McpMemory, type RememberedServer } from './memory.ts'
export { createMemoryMcpCredentialStore, type McpCredentialStore } from './oauth/credential-store.ts'
export { createFileMcpCredentialStore } from './oauth/file-credential-store.ts'
export type { McpLogin } from './oauth/login-mcp-server.ts'
export type { McpLoginOptions } from './oauth/login-options.ts'
export { McpLoginRequiredError } from './oauth/login-required.ts'
export { logoutMcpServer, type McpLogout, type McpLogoutOptions } from './oauth/logout-mcp-server.ts'
export { type McpAuthProvider, McpOAuthProvider, type McpOAuthProviderOptions } from './oauth/mcp-oauth-provider.ts'
export { readMcpEntry } from './read-entry.ts'
export { createMcpFace, type McpFace, type McpNodeListener } from './serve/face.ts'
export type { McpFaceOptions } from './serve/face-options.ts'
export { createMcpToken, type McpHttpOptions } from './serve/http-guard.ts'
export type { AgentWish, ClientPerson, ClientQuestion, MakeAgent, OwnedAgent } from './serve/seat.ts'
export type { McpStdioOptions } from './serve/stdio-options.ts'
export { unpinnedRunner } from './unpinned-runner.ts'
