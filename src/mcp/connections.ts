import type { HookContexts } from '../core/hook-map.ts'
import type { Hooks } from '../core/hooks.ts'
import type { ExtensionHost } from '../core/run.ts'
import type { ToolDef } from '../core/tool.ts'
import type { McpServerConfig } from './config.ts'
import type { ConnectMcpOptions } from './connect.ts'
import type { McpLoginOptions } from './oauth/browser-login.ts'
import type { McpLogin } from './oauth/login-mcp-server.ts'

/** What a connector gives: the tools of all servers, and a way to let go of them. */
export interface McpConnections {
  /** Those there are now. Another object whenever it is another set. */
  readonly tools: Readonly<Record<string, ToolDef>>
  readonly servers?: readonly McpServer[]
  close(): Promise<void>
}

/** Makes the connections. One server that fails must not fail the others. */
export type McpConnector = (configs: readonly McpServerConfig[], host: McpHost) => Promise<McpConnections>

/** Who connects. */
export interface McpHost extends ExtensionHost {
  /** Says how to let go of everything before all is connected. Without it, an agent that ends does not wait for those that hang. */
  closeEarly?(close: () => Promise<void>): void
}

/** A server as a host program sees it. */
export interface McpServer {
  readonly name: string
  readonly transport: McpServerConfig['transport']
  /** `waiting` tries again after a pause; `needs-login` waits for `loginMcpServer`; `disabled` was given up. */
  readonly state: 'connecting' | 'ready' | 'waiting' | 'needs-login' | 'disabled' | 'closed'
  /** Why it is not ready. */
  readonly problem?: string | undefined
  /** What was agreed on, such as `2026-07-28`. */
  readonly protocolVersion?: string | undefined
  /** The server's own words. They are not put into the system prompt: whoever shows them to a model trusts them. */
  readonly instructions?: string | undefined
  /** The end of what it wrote to stderr. */
  readonly stderr?: string | undefined
  readonly toolNames: readonly string[]
  /** What it asked us to leave out, and why; for people. */
  readonly notes: readonly string[]
  /** Tries again at once, as after a login, also where it was given up. Throws what is still wrong. */
  connect(): Promise<void>
  listPrompts(): Promise<readonly McpPrompt[]>
  getPrompt(name: string, args?: Readonly<Record<string, string>>): Promise<McpPromptMessages>
  listResources(): Promise<readonly McpResource[]>
  listResourceTemplates(): Promise<readonly McpResourceTemplate[]>
  readResource(uri: string): Promise<readonly McpResourceContent[]>
}

export interface McpPrompt {
  readonly name: string
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly arguments?: readonly McpPromptArgument[] | undefined
}

export interface McpPromptArgument {
  readonly name: string
  readonly description?: string | undefined
  readonly required?: boolean | undefined
}

/** `content` blocks are as the server sent them. */
export interface McpPromptMessages {
  readonly description?: string | undefined
  readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly content: unknown }[]
}

export interface McpResource {
  readonly uri: string
  readonly name: string
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly mimeType?: string | undefined
  readonly size?: number | undefined
}

export interface McpResourceTemplate {
  readonly uriTemplate: string
  readonly name: string
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly mimeType?: string | undefined
}

/** Either `text` or `blob` (base64). */
export interface McpResourceContent {
  readonly uri: string
  readonly mimeType?: string | undefined
  readonly text?: string | undefined
  readonly blob?: string | undefined
}

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
