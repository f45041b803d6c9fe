import type { HookContexts } from '../core/hook-map.ts'
import type { Hooks } from '../core/hooks.ts'
import type { ExtensionHost } from '../core/run.ts'
import type { ToolDef } from '../core/tool.ts'
import type { McpServerConfig } from './config.ts'
import type { ConnectMcpOptions } from './connect.ts'
import type { McpLoginOptions } from './oauth/browser-login.ts'

/** Connections to servers, with their tools. */
export interface McpConnections {
  /** The current tools. A new object whenever they change. */
  readonly tools: Readonly<Record<string, ToolDef>>
  readonly servers?: readonly McpServer[]
  close(): Promise<void>
}

/** Connects to servers. The failure of one must not affect the others. */
export type McpConnector = (configs: readonly McpServerConfig[], host: McpHost) => Promise<McpConnections>

export interface McpHost extends ExtensionHost {
  /** Passes a function that closes everything while servers are still connecting. Without it, an agent that ends does not wait for them. */
  closeEarly?(close: () => Promise<void>): void
}

/** A server, for the host program. */
export interface McpServer {
  readonly name: string
  readonly transport: McpServerConfig['transport']
  /** `waiting` retries after a delay; `needs-login` waits for `loginMcpServer`; `disabled` failed too often. */
  readonly state: 'connecting' | 'ready' | 'waiting' | 'needs-login' | 'disabled' | 'closed'
  /** Why it is not ready. */
  readonly problem?: string | undefined
  /** The negotiated version, such as `2026-07-28`. */
  readonly protocolVersion?: string | undefined
  /** The instructions of the server. They are not put into the system prompt; showing them to a model means trusting the server. */
  readonly instructions?: string | undefined
  /** The end of its stderr. */
  readonly stderr?: string | undefined
  readonly toolNames: readonly string[]
  /** What was left out of its tools, and why; for people. */
  readonly notes: readonly string[]
  /** Connects at once, for example after a login; also a disabled server. Throws the reason if that fails. */
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

/** `content` is as the server sent it. */
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
export async function loginMcpServer(
  config: McpServerConfig,
  options: McpLoginOptions,
): Promise<{ readonly name: string; readonly issuer: string; readonly scopes: readonly string[] }> {
  return (await import('./oauth/login-mcp-server.ts')).loginMcpServer(config, options)
}
