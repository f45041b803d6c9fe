import { createWebFetchTool, type WebFetchOptions } from '../../tools/web-fetch.ts'
import { definePlugin, type PluginDefinition } from '../plugin.ts'

/** Reads the public web. The host chooses which addresses are reachable; a definition cannot add any. */
export function createWebFetchPlugin(options: WebFetchOptions = {}): PluginDefinition {
  createWebFetchTool(options) // throws on invalid options now, and not when an agent is created
  return definePlugin({
    toolId: 'web-fetch',
    displayName: 'Fetch web pages',
    description: 'Reads public web pages as text.',
    tools: ({ entry: { timeoutMs } }) => {
      const tool = createWebFetchTool({ ...options, ...(timeoutMs !== undefined && { timeoutMs }) })
      return [{ ...tool, spec: { ...tool.spec, name: 'web-fetch' } }]
    },
  })
}

export const webFetchPlugin: PluginDefinition = createWebFetchPlugin()
