import { join } from 'node:path'
import type { ToolDef } from '../../core/tool.ts'
import type { McpServerConfig } from '../../mcp/config.ts'
import type { ConnectMcpOptions } from '../../mcp/connect.ts'
import type { McpConnections, McpConnector } from '../../mcp/connections.ts'
import type { Config } from '../config/config.ts'

interface ConnectorOptions {
  /** When this signal aborts, the server is disconnected. */
  readonly until?: (config: McpServerConfig) => AbortSignal | undefined
  /** As of `connectMcpServers`. */
  readonly lazyAbove?: number
  /** Tools to leave out, by name. */
  readonly withoutTools?: readonly string[]
}

/** Connects with the stored logins and known servers of the user's folder. Loads the MCP client on first use. */
export function connectorFor(home: string, { withoutTools = [], ...more }: ConnectorOptions = {}): McpConnector {
  return async (configs, host) => {
    const { connectMcpServers } = await import('../../mcp/connect.ts')
    const options = { ...(await ownOptions(home)), ...more }
    return withoutNamed(await connectMcpServers(configs, host, host.hooks, options), new Set(withoutTools))
  }
}

/** Connects by the user's settings: without excluded tools, and with schemas on demand if there are many. */
export function userConnector(
  home: string,
  { withoutTools, toolDisclosure }: Pick<Config, 'withoutTools' | 'toolDisclosure'>,
  more: Pick<ConnectorOptions, 'until'> = {},
): McpConnector {
  return connectorFor(home, {
    ...more,
    ...(withoutTools && { withoutTools }),
    ...(toolDisclosure === undefined && { lazyAbove }),
  })
}

/** In bytes of schemas, about 8,000 tokens; above this they are loaded on demand, unless the settings say otherwise. */
const lazyAbove = 32_768

async function ownOptions(home: string): Promise<ConnectMcpOptions> {
  const [{ createFileMcpMemory }, { createFileMcpCredentialStore }, { McpOAuthProvider }] = await Promise.all([
    import('../../mcp/memory.ts'),
    import('../../mcp/oauth/file-credential-store.ts'),
    import('../../mcp/oauth/mcp-oauth-provider.ts'),
  ])
  const store = createFileMcpCredentialStore(home)
  return {
    memory: createFileMcpMemory(join(home, 'mcp', 'memory.json')),
    buildAuthProvider: ({ name }) => new McpOAuthProvider({ name, store }),
  }
}

/** Returns the same object for the same set of tools, so that callers can detect changes by identity. */
function withoutNamed(connections: McpConnections, names: ReadonlySet<string>): McpConnections {
  if (names.size === 0) return connections
  let all: McpConnections['tools'] | undefined
  let left: Readonly<Record<string, ToolDef>> = {}
  return {
    ...(connections.servers && { servers: connections.servers }),
    get tools() {
      if (all !== connections.tools) {
        all = connections.tools
        left = Object.fromEntries(Object.entries(all).filter(([name]) => !names.has(name)))
      }
      return left
    },
    close: () => connections.close(),
  }
}
