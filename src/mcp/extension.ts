import type { HookContexts } from '../core/hook-map.ts'
import type { HookScope } from '../core/hooks.ts'
import type { Extension, Run } from '../core/run.ts'
import type { ToolDef } from '../core/tool.ts'
import { readTool } from '../core/toolbox.ts'
import { createAcceptance } from './acceptance.ts'
import type { McpServerConfig } from './config.ts'
import type { McpConnections, McpConnector, McpServer } from './connections.ts'
import { withMcpHooks } from './tool-hooks.ts'

/** The tools of MCP servers, connected once per agent, on first need. */
export interface McpExtension extends Extension {
  /** Those that were connected to, ready or not. */
  readonly servers: readonly McpServer[]
}

export function mcpTools(configs: readonly McpServerConfig[], connect: McpConnector): McpExtension {
  let connecting: Promise<McpConnections> | undefined
  let connections: McpConnections | undefined
  let closeEarly: (() => Promise<void>) | undefined
  let connectedAt = 0
  return {
    name: 'mcp',
    get servers() {
      return connections?.servers ?? []
    },
    async warmup(host) {
      connecting ??= connect(configs, {
        ...host,
        closeEarly: (close) => {
          closeEarly = close
        },
      })
      try {
        connections = await connecting
        connectedAt = host.clock.now()
      } catch (error) {
        connecting = undefined
        throw error
      }
    },
    async start(run, hooks) {
      if (run.tools.isFixed || !connections) return
      // Somebody may have logged in since the last run.
      if (run.facts.depth === 0 && run.clock.now() - connectedAt > justNowMs) await connectWaiting(connections)
      const { tools } = connections
      const offered = createOffer(run, hooks, configs)
      offered.show(tools)
      // A server may come late, or change what it offers; the model hears of it between two turns, never within one.
      hooks.hook('request:prepare', (request) => {
        if (offered.show(connections?.tools ?? tools)) request.tools = run.tools.specs
      })
    },
    async dispose() {
      if (connections) return connections.close()
      // A server that never answers must not hold up the end; if it comes after all, it is let go at once.
      void connecting?.then((late) => late.close()).catch(() => {})
      await closeEarly?.()
    },
  }
}

const justNowMs = 1000

async function connectWaiting({ servers = [] }: McpConnections): Promise<void> {
  const waiting = servers.filter(({ state }) => state === 'needs-login')
  await Promise.allSettled(waiting.map((server) => server.connect()))
}

/** What a run has of its servers. */
function createOffer(run: Run, hooks: HookScope<HookContexts>, configs: readonly McpServerConfig[]) {
  const ours = new Map<string, ToolDef>()
  const accept = createAcceptance(hooks)
  let shown: McpConnections['tools'] | undefined

  function add(tool: ToolDef, key: string): void {
    try {
      run.tools.add(withMcpHooks(accept(readTool(tool, key)), originOf(tool, configs), run))
      ours.set(key, tool)
    } catch (error) {
      // One bad tool of a server must not stop a run.
      const config = configs.find(({ name }) => key.startsWith(`mcp_${name}_`)) ?? configs[0]
      const about = { name: config?.name ?? key, transport: config?.transport ?? 'stdio' }
      void run.hooks.tell('mcp:error', { ...about, error })
    }
  }

  return {
    /** Says whether anything is otherwise than before. */
    show(tools: McpConnections['tools']): boolean {
      if (tools === shown) return false
      shown = tools
      for (const [key, tool] of ours) {
        if (tools[key] === tool) continue
        ours.delete(key)
        run.tools.remove(tool.spec.name)
      }
      for (const [key, tool] of Object.entries(tools)) if (!ours.has(key)) add(tool, key)
      return true
    },
  }
}

/** Where a tool comes from, by its own word or by its name `mcp_{server}_{tool}`. */
function originOf({ mcp, spec }: ToolDef, configs: readonly McpServerConfig[]): NonNullable<ToolDef['mcp']> {
  const config = configs.find(({ name }) => (mcp ? name === mcp.server : spec.name.startsWith(`mcp_${name}_`)))
  const { name: server = '', disclosure } = config ?? {}
  const known = mcp ?? { server, tool: spec.name.slice(`mcp_${server}_`.length) }
  return { ...(disclosure && { disclosure }), ...known }
}
