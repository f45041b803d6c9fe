import { join } from 'node:path'
import type { ToolDef } from '../../core/tool.ts'
import type { McpServerConfig } from '../../mcp/config.ts'
import type { ConnectMcpOptions } from '../../mcp/connect.ts'
import type { McpConnections, McpConnector } from '../../mcp/connections.ts'
import type { Config } from '../config/config.ts'

interface ConnectorOptions {
  /** When a server has to go. */
  readonly until?: (config: McpServerConfig) => AbortSignal | undefined
  /** As of `connectMcpServers`. */
  readonly lazyAbove?: number
  /** Tools to leave out, by name. */
  readonly withoutTools?: readonly string[]
}

/** Connects with the logins and the memory of the user's folder. Loads what talks to servers when it is called. */
export function connectorFor(home: string, { withoutTools = [], ...more }: ConnectorOptions = {}): McpConnector {
  return async (configs, host) => {
    const { connectMcpServers } = await import('../../mcp/connect.ts')
    const options = { ...(await ownOptions(home)), ...more }
    return withoutNamed(await connectMcpServers(configs, host, host.hooks, options), new Set(withoutTools))
  }
}

/** Connects as the user's settings say: without tools they leave out, and with schemas on demand where there are many. */
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

/** Some 8,000 tokens: what is more is found when it is needed, unless the user said otherwise. */
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

/** The same set of tools is the same object, as whoever looks for changes expects. */
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
