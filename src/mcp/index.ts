export type { McpConnections, McpConnector, McpServerConfig } from './extension.ts'
