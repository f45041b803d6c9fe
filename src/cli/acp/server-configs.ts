import { AcpError } from '../../acp/acp-error.ts'
import type { McpServer } from '../../acp/protocol.ts'
import { messageOf } from '../../core/errors.ts'
import { checkMcpServers, type McpServerConfig } from '../../mcp/config.ts'
import { fullyVisible } from '../../platform/visible-text.ts'

/** The MCP servers that an editor names. Their names become parts of tool names, so other characters are replaced. */
export function serverConfigs(servers: readonly McpServer[]): readonly McpServerConfig[] {
  const taken = new Set<string>()
  const configs = servers.map((server) => {
    const name = freeName(server.name, taken)
    taken.add(name)
    return configOf(server, name)
  })
  try {
    checkMcpServers(configs)
  } catch (cause) {
    throw new AcpError('invalid', fullyVisible(messageOf(cause)), { cause })
  }
  return configs
}

function configOf(server: McpServer, name: string): McpServerConfig {
  if ('type' in server) {
    const { type, url, headers } = server
    return { name, transport: type === 'sse' ? 'sse' : 'streamable-http', url, headers: recordOf(headers) }
  }
  const { command, args, env } = server
  return { name, transport: 'stdio', command, args, env: recordOf(env) }
}

const recordOf = (list: readonly { readonly name: string; readonly value: string }[]): Record<string, string> =>
  Object.fromEntries(list.map(({ name, value }) => [name, value]))

const longestName = 32

function freeName(given: string, taken: ReadonlySet<string>): string {
  const name = given.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, longestName) || 'server'
  for (let i = 2, next = name; ; i++) {
    if (!taken.has(next)) return next
    next = `${name.slice(0, longestName - 4)}_${i}`
  }
}
