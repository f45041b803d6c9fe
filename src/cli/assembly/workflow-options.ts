import type { AgentDefinition } from '../../workflow/definitions/definition.ts'
import type { WorkflowOptions } from '../../workflow/workflow.ts'
import { userConnector } from '../mcp/connector.ts'
import { limitsOf } from './agent-options.ts'
import type { Assembly } from './assemble.ts'

/** The options of `createWorkflow` that apply to all agents. */
export function workflowOptions({ authority, execution, skills, servers, extensions, thinking, config, io }: Assembly) {
  return {
    authority,
    execution,
    extensions,
    mcpConnector: servers?.options.mcpConnector ?? userConnector(io.home, config),
    ...(skills && { skills }),
    ...(thinking && { thinking }),
    ...(config.agents && { settings: config.agents }),
    ...(config.withoutTools && { withoutTools: config.withoutTools }),
  } satisfies Partial<WorkflowOptions>
}

/** A definition with the limits, servers and prompts of the user's settings. Its tools are those of its plugins. */
export function applySettings(definition: AgentDefinition, { config, servers }: Assembly): AgentDefinition {
  const { behavior = {}, mcpServers = [] } = definition
  const { prompts = [], maxIterations = 0 } = definition.config ?? {}
  const { maxTurns, limits } = limitsOf({ maxTurns: behavior.maxTurns, maxCost: behavior.limits?.cost }, config)
  const own = new Set(mcpServers.map(({ name }) => name))
  const added = (servers?.options.mcpServers ?? []).filter(({ name }) => !own.has(name))
  return {
    ...definition,
    ...(added.length > 0 && { mcpServers: [...added, ...mcpServers] }),
    behavior: {
      ...(config.toolDisclosure && { toolDisclosure: config.toolDisclosure }),
      ...behavior,
      maxTurns,
      ...(limits && { limits: { ...behavior.limits, ...limits } }),
    },
    config: {
      ...definition.config,
      ...(config.system && { prompts: [...prompts, { id: 'settings', role: 'system', text: config.system }] }),
      ...(maxIterations > 0 && { maxIterations: Math.min(maxIterations, config.maxTurns ?? maxIterations) }),
    },
  }
}
