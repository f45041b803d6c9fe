import type { Client } from '@modelcontextprotocol/client'
import { systemClock } from '../core/clock.ts'
import { type HookContexts, hookNames } from '../core/hook-map.ts'
import { Hooks } from '../core/hooks.ts'
import type { ExtensionHost } from '../core/run.ts'
import type { ToolDef } from '../core/tool.ts'
import { checkMcpServers, defaultCallTimeout, type McpServerConfig } from './config.ts'
import type { McpConnections, McpHost, McpServer } from './connections.ts'
import { secretsOf } from './error-text.ts'
import { withoutSecrets } from './failures.ts'
import { createMemoryMcpMemory, type McpMemory } from './memory.ts'
import { credentialHeader } from './oauth/login-required.ts'
import type { McpOAuthProvider } from './oauth/mcp-oauth-provider.ts'
import { ServerConnection } from './server-connection.ts'

export interface ConnectMcpOptions {
  /**
   * The auth provider of a server: ours, or an `OAuthClientProvider` or `AuthProvider` of the official client. Called for
   * servers with `auth: 'oauth'`, and for those that answer with 401.
   */
  readonly buildAuthProvider?: (config: McpServerConfig) => McpOAuthProvider | object | undefined
  /** Facts about servers from earlier connections. Default: an empty memory that ends with these connections. */
  readonly memory?: McpMemory
  /** A signal that closes a server, for example when its project is no longer trusted. */
  readonly until?: (config: McpServerConfig) => AbortSignal | undefined
  /** With more bytes of tool definitions than this, the tools of servers without `disclosure` become lazy. Default: no limit. */
  readonly lazyAbove?: number
  /** Default: the global one, with the checks of `createMcpFetch`. */
  readonly fetch?: typeof globalThis.fetch
}

/**
 * Connects to all servers in parallel; resolves when each is ready or has failed. A server that failed is retried in the
 * background, and its tools are added when it connects.
 */
export async function connectMcpServers(
  configs: readonly McpServerConfig[],
  host?: Partial<McpHost>,
  hooks: Hooks<HookContexts> = host?.hooks ?? silent(),
  options: ConnectMcpOptions = {},
): Promise<McpConnections> {
  checkMcpServers(configs)
  const { memory = createMemoryMcpMemory(), lazyAbove = Number.POSITIVE_INFINITY, fetch } = options
  const whole: ExtensionHost = { clock: systemClock, ...host, hooks }
  let tools: Readonly<Record<string, ToolDef>> | undefined
  const links = configs.map(
    (config) =>
      new ServerConnection(config, {
        ...whole,
        memory,
        fetch,
        authProvider: (isRequested) =>
          mayLogIn(config, isRequested) ? options.buildAuthProvider?.(config) : undefined,
        onToolsChanged: () => {
          tools = undefined
        },
      }),
  )
  const close = async (): Promise<void> => {
    await Promise.all(links.map((link) => link.close()))
  }
  host?.closeEarly?.(close)
  for (const link of links) closeOn(options.until?.(link.config), link)
  await Promise.all(links.map((link) => bootstrap(link, whole)))
  const onNameClash = reportNameClashes(whole)
  return {
    get tools() {
      tools ??= merged(links, lazyAbove, onNameClash)
      return tools
    },
    servers: links.map(serverView),
    close,
  }
}

/** All tools by name. On a name clash the server that is configured first wins. */
function merged(
  links: readonly ServerConnection[],
  lazyAbove: number,
  onNameClash: OnNameClash,
): Record<string, ToolDef> {
  const all = new Map<string, ToolDef>()
  for (const link of links)
    for (const tool of link.tools.list) {
      const other = all.get(tool.spec.name)
      if (other) onNameClash(link.config, tool, other)
      else all.set(tool.spec.name, tool)
    }
  const bytes = [...all.values()].reduce((sum, { spec }) => sum + JSON.stringify(spec).length, 0)
  if (bytes <= lazyAbove) return Object.fromEntries(all)
  return Object.fromEntries([...all].map(([name, tool]) => [name, lazy(tool)]))
}

type OnNameClash = (config: McpServerConfig, tool: ToolDef, other: ToolDef) => void

/** Reports each clash once: `mcp_a_b_c` may be `b_c` of `a`, and `c` of `a_b`. */
function reportNameClashes({ hooks }: ExtensionHost): OnNameClash {
  const reported = new Set<string>()
  return ({ name, transport }, { spec, mcp }, other) => {
    const key = `${name} ${spec.name}`
    if (reported.has(key)) return
    reported.add(key)
    const error = new Error(
      `The tool ${mcp?.tool} of the MCP server "${name}" comes to the name ${spec.name}, which one of the server "${other.mcp?.server}" has; it is left out: rename one of the servers`,
    )
    void hooks.tell('mcp:error', { name, transport, error })
  }
}

const lazy = (tool: ToolDef): ToolDef => (tool.mcp ? { ...tool, mcp: { disclosure: 'lazy', ...tool.mcp } } : tool)

/** A configured header with a credential is used as it is, without OAuth. */
function mayLogIn(config: McpServerConfig, isRequested: boolean): boolean {
  return config.auth === 'oauth' || (isRequested && credentialHeader(config) === undefined)
}

function closeOn(signal: AbortSignal | undefined, link: ServerConnection): void {
  if (signal?.aborted) void link.close()
  else signal?.addEventListener('abort', () => void link.close(), { once: true })
}

async function bootstrap(link: ServerConnection, { hooks, clock }: ExtensionHost): Promise<void> {
  const { name, transport } = link.config
  const server = { name, transport }
  await hooks.tell('mcp:bootstrap:start', server)
  const started = clock.now()
  let failure: { readonly error: unknown } | undefined
  try {
    await link.client()
  } catch (error) {
    failure = { error }
  }
  const durationMs = clock.now() - started
  const outcome = failure ? { ok: false, ...failure } : { ok: true, toolCount: link.tools.list.length }
  await hooks.tell('mcp:bootstrap:end', { ...server, durationMs, ...outcome })
  if (failure) await hooks.tell('mcp:error', { ...server, ...failure })
}

const silent = (): Hooks<HookContexts> => new Hooks(hookNames, () => {})

/** The public view of a connection: its state, and requests for prompts and resources. */
function serverView(link: ServerConnection): McpServer {
  const { config } = link
  const timeout = config.callTimeout ?? defaultCallTimeout
  async function ask<T>(question: (client: Client) => Promise<T>): Promise<T> {
    try {
      return await question(await link.client())
    } catch (error) {
      throw withoutSecrets(error, config.name, secretsOf(config))
    }
  }
  const has = (one: Client, what: 'prompts' | 'resources'): boolean => one.getServerCapabilities()?.[what] !== undefined
  return {
    name: config.name,
    transport: config.transport,
    get state() {
      return link.state
    },
    get problem() {
      return link.problem
    },
    get protocolVersion() {
      return link.opened?.client.getNegotiatedProtocolVersion()
    },
    get instructions() {
      return link.opened?.client.getInstructions()
    },
    get stderr() {
      return link.stderr
    },
    get toolNames() {
      return link.tools.list.map(({ spec }) => spec.name)
    },
    get notes() {
      return link.tools.notes
    },
    async connect() {
      link.enable()
      await link.client()
    },
    listPrompts: () =>
      ask(async (one) =>
        has(one, 'prompts') ? (await one.listPrompts(undefined, { timeout })).prompts.map(plain) : [],
      ),
    getPrompt: (name, args = {}) =>
      ask(async (one) => {
        const { description, messages } = await one.getPrompt({ name, arguments: { ...args } }, { timeout })
        return { description, messages }
      }),
    listResources: () =>
      ask(async (one) =>
        has(one, 'resources') ? (await one.listResources(undefined, { timeout })).resources.map(plain) : [],
      ),
    listResourceTemplates: () =>
      ask(async (one) =>
        has(one, 'resources')
          ? (await one.listResourceTemplates(undefined, { timeout })).resourceTemplates.map(plain)
          : [],
      ),
    readResource: (uri) => ask(async (one) => (await one.readResource({ uri }, { timeout })).contents.map(plain)),
  }
}

/** Drops the hints and icons of the server. */
function plain<T extends { _meta?: unknown; annotations?: unknown; icons?: unknown }>(
  one: T,
): Omit<T, '_meta' | 'annotations' | 'icons'> {
  const { _meta: _, annotations: __, icons: ___, ...rest } = one
  return rest
}
