export { checkMcpServers, type McpServerConfig } from './config.ts'
export type {
  McpConnections,
  McpConnector,
  McpPrompt,
  McpPromptMessages,
  McpResource,
  McpResourceContent,
  McpResourceTemplate,
  McpServer,
} from './connections.ts'
export { createMemoryMcpMemory, type McpMemory, type RememberedServer } from './memory.ts'
