import { show } from '../core/behavior.ts'
import { checkInstanceConfig } from './definitions/check-definition.ts'
import type { AgentInstance } from './definitions/definition.ts'
import { agentPrefix } from './directory.ts'
import type { WorkflowDependencies } from './engine/workflow-dependencies.ts'
import type { NewAgent } from './workflow-contract.ts'

/** An agent as it is written down first. Throws on an id or a configuration that cannot be. */
export function newInstance(
  definitionId: string,
  given: NewAgent,
  { clock, newId, definition }: Pick<WorkflowDependencies, 'clock' | 'newId' | 'definition'>,
): AgentInstance {
  const { id = `${agentPrefix}${newId()}`, name, handlerId, config, volatile } = given
  if (typeof id !== 'string' || !/^agent-[\w.-]{1,100}$/.test(id))
    throw new TypeError(
      `an agent's id must be "agent-" and up to 100 letters, digits, "-", "_" or ".", got ${show(id)}`,
    )
  if (config !== undefined) checkInstanceConfig(config, 'config', definition(definitionId))
  const now = clock.now()
  return {
    ...{ id, definitionId, created: now, modified: now, isSubAgent: false, closed: false },
    ...(name !== undefined && { name }),
    ...(handlerId !== undefined && { handlerId }),
    ...(config !== undefined && { config }),
    ...(volatile && { volatile }),
  }
}
