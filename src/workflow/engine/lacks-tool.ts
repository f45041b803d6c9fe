import type { ToolDef } from '../../core/tool.ts'
import { toolSearchName } from '../../extensions/disclosure/lazy-tool.ts'
import type { AgentDefinition } from '../definitions/definition.ts'
import type { WorkflowDependencies } from './workflow-dependencies.ts'

/**
 * Whether an agent certainly has no tool of that name, given those of its plugins. False where it cannot be told: what
 * servers, the stages of an authority and the engine itself offer is only known in a run.
 */
export function lacksTool(
  { authority }: Pick<WorkflowDependencies, 'authority'>,
  { mcpServers = [] }: Pick<AgentDefinition, 'mcpServers'>,
  tools: readonly Pick<ToolDef, 'spec'>[],
  name: string,
): boolean {
  if (tools.some(({ spec }) => spec.name === name)) return false
  const isOfServer = mcpServers.length > 0 && name.startsWith('mcp_')
  return !isOfServer && authority.stateMachine === undefined && name !== toolSearchName
}
