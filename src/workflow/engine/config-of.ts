import type { PluginEntry } from '../../plugins/plugin.ts'
import { defaultResultDuration } from '../../plugins/tool-marks.ts'
import type { AgentConfig, AgentDefinition, AgentInstance } from '../definitions/definition.ts'
import type { WorkflowDependencies } from './workflow-dependencies.ts'

/** A definition's configuration, with what its instance changes. */
export function configOf({ config = {} }: AgentDefinition, instance: Pick<AgentInstance, 'config'>): AgentConfig {
  const own = instance.config
  if (!own) return config
  const changed = new Map((own.plugins ?? []).map((entry) => [entry.id, entry]))
  const plugins = (config.plugins ?? []).map((entry): PluginEntry => {
    const change = changed.get(entry.id)
    changed.delete(entry.id)
    return change && !entry.forbidOverrides ? { ...entry, ...change } : entry
  })
  // What changes an entry that its definition has no more changes nothing.
  const added = [...changed.values()].filter((entry): entry is PluginEntry => entry.toolId !== undefined)
  return { ...config, ...own, plugins: [...plugins, ...added] }
}

/** How many model calls results of an agent are sent with that say nothing of it themselves. */
export function resultDurationOf(
  { definition, definitionIds }: WorkflowDependencies,
  instance: AgentInstance,
): number | null {
  const { definitionId: id } = instance
  // What an agent said can be read after its definition is gone.
  const known = definitionIds().includes(id) ? definition(id) : { id }
  const { toolResultDuration = defaultResultDuration } = configOf(known, instance)
  return toolResultDuration
}
