import type { AgentDefinition } from '../../workflow/definitions/definition.ts'

/** Plugins that write into the folder an agent works in. Wikis lie elsewhere. */
const writing: ReadonlySet<string> = new Set(['zx-script'])

/** Whether an agent of this definition can change files where it works: else there is no need to keep them. */
export function mayChangeFiles({ config = {}, mcpServers = [] }: AgentDefinition): boolean {
  const { plugins = [] } = config
  return mcpServers.length > 0 || plugins.some(({ toolId, enabled = true }) => enabled && writing.has(toolId))
}
