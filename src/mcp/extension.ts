import type { Extension } from '../core/run.ts'
import type { ToolDef } from '../core/tool.ts'
import { checkTool } from '../core/toolbox.ts'
import type { McpServerConfig } from './config.ts'
import type { McpConnections, McpConnector } from './connections.ts'
import { withMcpHooks } from './tool-hooks.ts'

/** The tools of MCP servers, connected once per agent, on first need. */
export function mcpTools(configs: readonly McpServerConfig[], connect: McpConnector): Extension {
  let connecting: Promise<McpConnections> | undefined
  let connections: McpConnections | undefined
  return {
    name: 'mcp',
    async warmup(host) {
      connecting ??= connect(configs, host)
      try {
        connections = await connecting
      } catch (error) {
        connecting = undefined
        throw error
      }
    },
    start(run) {
      if (run.hasOwnTools) return
      for (const [key, tool] of Object.entries(connections?.tools ?? {})) {
        try {
          checkTool(tool, key)
          run.tools.add(withMcpHooks(tool, serverOf(tool, configs), run))
        } catch (error) {
          // One bad tool of a server must not stop a run.
          const config = configs.find(({ name }) => key.startsWith(`mcp_${name}_`)) ?? configs[0]
          void run.hooks.tell('mcp:error', {
            name: config?.name ?? key,
            transport: config?.transport ?? 'stdio',
            error,
          })
        }
      }
    },
    async dispose() {
      // A server that never answers must not hold up the end; if it comes after all, it is let go at once.
      if (!connections) void connecting?.then((late) => late.close()).catch(() => {})
      await connections?.close()
    },
  }
}

/** Where a tool comes from, by its own word or by its name `mcp_{server}_{tool}`. */
function serverOf({ mcp, spec }: ToolDef, configs: readonly McpServerConfig[]): { server: string; tool: string } {
  if (mcp) return { server: mcp.server, tool: mcp.tool }
  const server = configs.find(({ name }) => spec.name.startsWith(`mcp_${name}_`))?.name ?? ''
  return { server, tool: spec.name.slice(`mcp_${server}_`.length) }
}
