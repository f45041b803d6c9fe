import type { Behavior } from '../../core/behavior.ts'
import type { SessionSummary } from '../../core/store.ts'
import type { McpServerConfig } from '../../mcp/config.ts'
import type { PluginApproval, PluginChange, PluginEntry } from '../../plugins/plugin.ts'
import type { PromptNode } from '../../plugins/prompts/prompt.ts'
import { defaultResultDuration } from '../../plugins/tool-marks.ts'
import type { WorkflowDependencies } from '../workflow-contract.ts'

/** The description of an agent: plain data, so that it can be stored, edited and sent. */
export interface AgentDefinition {
  readonly id: string
  readonly name?: string
  readonly description?: string
  /** Default `basicPromptConcatHandler`. */
  readonly handlerId?: string
  readonly config?: AgentConfig
  readonly model?: string
  /** Tools in the text of prompts and answers, for models that have no tool calls of their own. Default false. */
  readonly textTools?: boolean
  /** Rules of the authority, by the name of the tool. */
  readonly approval?: Readonly<Record<string, PluginApproval>>
  readonly mcpServers?: readonly McpServerConfig[]
  readonly behavior?: Behavior
  /** Wakes the agent at an interval. */
  readonly heartbeat?: Heartbeat
}

export interface AgentConfig {
  readonly prompts?: readonly PromptNode[]
  readonly plugins?: readonly PluginEntry[]
  /** Rounds of one execution; 0 means any number. */
  readonly maxIterations?: number
  /** In tokens; the conversation gets 70 % of it. */
  readonly contextWindowSize?: number
  /** How many model calls the result of a tool is sent with; `null` means all. Default 1. */
  readonly toolResultDuration?: number | null
}

/** Changes to the configuration of a definition, and to its plugins. */
export interface InstanceConfig extends Omit<AgentConfig, 'plugins'> {
  readonly plugins?: readonly PluginChange[]
}

export interface Heartbeat {
  readonly enabled?: boolean
  /** At least 60. */
  readonly intervalSeconds: number
  readonly message: string
  readonly activeHours?: { readonly from: string; readonly to: string; readonly timeZone?: string }
}

/** One agent. Its session has its messages and calls. */
export interface AgentInstance {
  readonly id: string
  readonly definitionId: string
  readonly name?: string
  readonly created: number
  readonly modified: number
  readonly isSubAgent: boolean
  readonly parentAgentId?: string
  readonly closed: boolean
  /** Replaces that of the definition. */
  readonly handlerId?: string
  /** Changes that of the definition; plugins by their `id`, except those that forbid it. */
  readonly config?: InstanceConfig
  /** Ends with the process, and is never woken. */
  readonly volatile?: boolean
}

/** An agent in a list. */
export interface AgentSummary
  extends Pick<
      AgentInstance,
      'id' | 'definitionId' | 'created' | 'modified' | 'isSubAgent' | 'parentAgentId' | 'closed' | 'volatile'
    >,
    Pick<SessionSummary, 'status' | 'attention' | 'isHeld' | 'title' | 'tenant'> {}

/** The configuration of a definition with the changes of an instance. */
export function configOf({ config = {} }: AgentDefinition, instance: Pick<AgentInstance, 'config'>): AgentConfig {
  const own = instance.config
  if (!own) return config
  const changed = new Map((own.plugins ?? []).map((entry) => [entry.id, entry]))
  const plugins = (config.plugins ?? []).map((entry): PluginEntry => {
    const change = changed.get(entry.id)
    changed.delete(entry.id)
    return change && !entry.forbidOverrides ? { ...entry, ...change } : entry
  })
  // A change to an entry that its definition no longer has is ignored.
  const added = [...changed.values()].filter((entry): entry is PluginEntry => entry.toolId !== undefined)
  return { ...config, ...own, plugins: [...plugins, ...added] }
}

/** With how many model calls a tool result is sent that does not say so itself. */
export function resultDurationOf(
  { definition, definitionIds }: Pick<WorkflowDependencies, 'definition' | 'definitionIds'>,
  instance: AgentInstance,
): number | null {
  const { definitionId: id } = instance
  // The messages of an agent can be read after its definition was removed.
  const known = definitionIds().includes(id) ? definition(id) : { id }
  const { toolResultDuration = defaultResultDuration } = configOf(known, instance)
  return toolResultDuration
}
