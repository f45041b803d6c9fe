import type { HookContexts } from '../core/hook-map.ts'
import type { Hooks } from '../core/hooks.ts'
import type { ExtensionHost } from '../core/run.ts'
import type { McpServerConfig } from './config.ts'
import type { ConnectMcpOptions } from './connect.ts'
import type { McpConnections } from './connections.ts'
import type { McpLogin } from './oauth/login-mcp-server.ts'
import type { McpLoginOptions } from './oauth/login-options.ts'

/** `connectMcpServers` of `libero/mcp`, loaded when it is called. */
export async function connectMcpServers(
  configs: readonly McpServerConfig[],
  host?: Partial<ExtensionHost>,
  hooks?: Hooks<HookContexts>,
  options?: ConnectMcpOptions,
): Promise<McpConnections> {
  return (await import('./connect.ts')).connectMcpServers(configs, host, hooks, options)
}

/** `loginMcpServer` of `libero/mcp`, loaded when it is called. */
export async function loginMcpServer(config: McpServerConfig, options: McpLoginOptions): Promise<McpLogin> {
  return (await import('./oauth/login-mcp-server.ts')).loginMcpServer(config, options)
}
