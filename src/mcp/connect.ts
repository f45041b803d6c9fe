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
import { hasAuthorizationHeader } from './oauth/login-required.ts'
import type { McpAuthProvider } from './oauth/mcp-oauth-provider.ts'
import { ServerConnection } from './server-connection.ts'

export interface ConnectMcpOptions {
  /** Who signs in. Asked for servers with `auth: 'oauth'`, and for those that turn out to want it. */
  readonly buildAuthProvider?: (config: McpServerConfig) => McpAuthProvider | undefined
  /** What is known about servers from earlier. Default: nothing, and forgotten with these connections. */
  readonly memory?: McpMemory
  /** When a server has to go, as when the project that brought it is not trusted any more. */
  readonly until?: (config: McpServerConfig) => AbortSignal | undefined
  /** How many bytes of tool definitions are shown as they are; beyond, those of servers that say nothing about it are lazy. Default: all. */
  readonly lazyAbove?: number
  /** Default: the global one, behind our own guards. */
  readonly fetch?: typeof globalThis.fetch
}

/**
 * Connects to all servers side by side; resolves when each is ready or has failed. A server that failed is tried again in the
 * background, and its tools join when it comes.
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
        authProvider: (isWanted) => (maySignIn(config, isWanted) ? options.buildAuthProvider?.(config) : undefined),
        onTools: () => {
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
  const onDouble = tellDoubles(whole)
  return {
    get tools() {
      tools ??= merged(links, lazyAbove, onDouble)
      return tools
    },
    servers: links.map(serverView),
    close,
  }
}

/** All tools by name. Where two servers come to the same name, the one that was named first has it. */
function merged(links: readonly ServerConnection[], lazyAbove: number, onDouble: OnDouble): Record<string, ToolDef> {
  const all = new Map<string, ToolDef>()
  for (const link of links)
    for (const tool of link.tools.list) {
      const other = all.get(tool.spec.name)
      if (other) onDouble(link.config, tool, other)
      else all.set(tool.spec.name, tool)
    }
  const bytes = [...all.values()].reduce((sum, { spec }) => sum + JSON.stringify(spec).length, 0)
  if (bytes <= lazyAbove) return Object.fromEntries(all)
  return Object.fromEntries([...all].map(([name, tool]) => [name, lazy(tool)]))
}

type OnDouble = (config: McpServerConfig, tool: ToolDef, other: ToolDef) => void

/** Says it once of each: `mcp_a_b_c` may be `b_c` of `a`, and `c` of `a_b`. */
function tellDoubles({ hooks }: ExtensionHost): OnDouble {
  const told = new Set<string>()
  return ({ name, transport }, { spec, mcp }, other) => {
    const key = `${name} ${spec.name}`
    if (told.has(key)) return
    told.add(key)
    const error = new Error(
      `The tool ${mcp?.tool} of the MCP server "${name}" comes to the name ${spec.name}, which one of the server "${other.mcp?.server}" has; it is left out: rename one of the servers`,
    )
    void hooks.tell('mcp:error', { name, transport, error })
  }
}

const lazy = (tool: ToolDef): ToolDef => (tool.mcp ? { ...tool, mcp: { disclosure: 'lazy', ...tool.mcp } } : tool)

/** A header of one's own is how one signs in; only who has none is offered another way. */
function maySignIn(config: McpServerConfig, isWanted: boolean): boolean {
  return config.auth === 'oauth' || (isWanted && !hasAuthorizationHeader(config))
}

function closeOn(signal: AbortSignal | undefined, link: ServerConnection): void {
  if (signal?.aborted) void link.close()
  else signal?.addEventListener('abort', () => void link.close(), { once: true })
}

async function bootstrap(link: ServerConnection, { hooks, clock }: ExtensionHost): Promise<void> {
  const { name, transport } = link.config
  const about = { name, transport }
  await hooks.tell('mcp:bootstrap:start', about)
  const started = clock.now()
  let failure: { readonly error: unknown } | undefined
  try {
    await link.client()
  } catch (error) {
    failure = { error }
  }
  const durationMs = clock.now() - started
  const outcome = failure ? { ok: false, ...failure } : { ok: true, toolCount: link.tools.list.length }
  await hooks.tell('mcp:bootstrap:end', { ...about, durationMs, ...outcome })
  if (failure) await hooks.tell('mcp:error', { ...about, ...failure })
}

const silent = (): Hooks<HookContexts> => new Hooks(hookNames, () => {})

/** What a host program gets of a link: to look at, and to ask for prompts and resources. */
export function serverView(link: ServerConnection): McpServer {
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
      link.forgive()
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

/** Without what is of no use to a program: hints and icons, which are the server's own word. */
function plain<T extends { _meta?: unknown; annotations?: unknown; icons?: unknown }>(
  one: T,
): Omit<T, '_meta' | 'annotations' | 'icons'> {
  const { _meta: _, annotations: __, icons: ___, ...rest } = one
  return rest
}
