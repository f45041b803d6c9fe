import type { McpServer } from '../../acp/protocol.ts'
import type { McpServerConfig } from '../../mcp/config.ts'

/** The MCP servers that an editor names. Their names become parts of tool names, so other characters are replaced. */
export function serverConfigs(servers: readonly McpServer[]): readonly McpServerConfig[] {
  const taken = new Set<string>()
  return servers.map((server) => {
    const name = freeName(server.name, taken)
    taken.add(name)
    if ('type' in server) {
      const { type, url, headers } = server
      return { name, transport: type === 'sse' ? 'sse' : 'streamable-http', url, headers: recordOf(headers) }
    }
    const { command, args, env } = server
    return { name, transport: 'stdio', command, args, env: recordOf(env) }
  })
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
