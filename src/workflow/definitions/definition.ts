import type { Behavior } from '../../core/behavior.ts'
import type { McpServerConfig } from '../../mcp/config.ts'
import type { PluginApproval, PluginChange, PluginEntry } from '../../plugins/plugin.ts'
import type { PromptNode } from '../../plugins/prompts/prompt.ts'

/** What an agent is: data, so that it can be kept, edited and sent. */
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
  /** Wakes the agent again and again. */
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

/** What an instance changes of its definition's; of its plugins too. */
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

/** One agent at work, or at rest. What it was told and did is its session. */
export interface AgentInstance {
  readonly id: string
  readonly definitionId: string
  readonly name?: string
  readonly created: number
  readonly modified: number
  readonly isSubAgent: boolean
  readonly parentAgentId?: string
  readonly closed: boolean
  /** Wins over the definition's. */
  readonly handlerId?: string
  /** Changes the definition's; its plugins by their `id`, except those that forbid it. */
  readonly config?: InstanceConfig
  /** Ends with the process, and is never woken. */
  readonly volatile?: boolean
}
