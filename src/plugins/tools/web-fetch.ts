import { createWebFetchTool, type WebFetchOptions } from '../../tools/web-fetch.ts'
import { definePlugin, type PluginDefinition } from '../plugin.ts'

/** Reads the public web. What it may reach is the host's choice: no definition of an agent can widen it. */
export function createWebFetchPlugin(options: WebFetchOptions = {}): PluginDefinition {
  createWebFetchTool(options) // what cannot be meant is said here, and not when an agent is made
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
