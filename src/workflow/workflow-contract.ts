import type { AuthorityOptions } from '../authority/authority.ts'
import type { MessageOptions } from '../core/agent.ts'
import type { Clock } from '../core/clock.ts'
import type { ExecutionContext } from '../core/execution.ts'
import type { Provider } from '../core/provider.ts'
import type { SessionStore } from '../core/store.ts'
import type { ThinkingLevel } from '../core/thinking.ts'
import type { McpConnector } from '../mcp/connections.ts'
import type { AgentInstanceLatestStatus, AgentInstanceMessage, UserContent } from '../plugins/message.ts'
import type { PluginDefinition } from '../plugins/plugin.ts'
import type { PromptState } from '../plugins/prompts/prompt.ts'
import type { ScheduleBook } from '../plugins/schedule.ts'
import type { TokenBreakdown } from '../plugins/tokens/token-breakdown.ts'
import type { KnowledgeStore } from '../plugins/wiki/knowledge-store.ts'
import type { Embed } from '../plugins/wiki/vector-search.ts'
import type { SkillsConfig } from '../skills/skill.ts'
import type { EventListener } from './agent/event-followers.ts'
import type { Waiting } from './agent/waiting-calls.ts'
import type { AgentDefinition, AgentInstance, InstanceConfig } from './definitions/definition.ts'
import type { AgentHandler } from './handlers/handler.ts'
import type { RollbackPlan, RollbackResult } from './rollback/file-snapshots.ts'
import type { WorkflowSettings } from './settings.ts'
import type { UpdateListener } from './updates.ts'

export interface WorkflowOptions {
  /** The model of all agents, or of each by its definition. */
  readonly provider: Provider | ((definition: AgentDefinition) => Provider)
  readonly definitions: readonly AgentDefinition[]
  /** Where agents and schedules are kept. Default: in memory, and gone with the process. */
  readonly store?: SessionStore
  /** Beside the built-in ones; one with the id of a built-in takes its place. */
  readonly plugins?: readonly PluginDefinition[]
  readonly handlers?: Readonly<Record<string, AgentHandler>>
  /** The wikis that agents work in. */
  readonly knowledge?: KnowledgeStore
  /** Turns texts into vectors, for `wiki-search` by meaning. */
  readonly embed?: Embed
  readonly execution?: ExecutionContext
  /** Who may do what, beside the rules of definitions and settings. Default mode: `yolo`. */
  readonly authority?: AuthorityOptions
  readonly settings?: WorkflowSettings
  /** Skills that all agents have. */
  readonly skills?: SkillsConfig
  /** Connects the MCP servers of definitions. Default: as for any agent. */
  readonly mcpConnector?: McpConnector
  /** How much models think before they answer. */
  readonly thinking?: ThinkingLevel
  /** Tools of plugins that no agent gets, by name. */
  readonly withoutTools?: readonly string[]
  /** Keeps what files were before each message, for `rollback`: those of a folder, by default where tools run. */
  readonly snapshots?: { readonly folder?: string }
  /** How long the calls of one answer may work together. Default 120,000; 0 means no limit. */
  readonly batchTimeoutMs?: number
  readonly clock?: Clock
  readonly newId?: () => string
  /** Plugins, listeners and schedules that failed. Default: the console. */
  readonly onError?: (error: Error) => void
}

export interface NewAgent {
  /** Must begin with `agent-`. Default: a new one. */
  readonly id?: string
  readonly name?: string
  readonly handlerId?: string
  /** Changes the definition's. */
  readonly config?: InstanceConfig
  /** Ends with the process, and is never woken. */
  readonly volatile?: boolean
}

/** Agents made of plugins: made, spoken to, woken, cancelled, closed. All that they are is in the store. */
export interface Workflow {
  createAgent(definitionId: string, options?: NewAgent): Promise<AgentInstance>
  /** Resolves when the agent has come to an end: done, waiting for a person, cancelled or failed. */
  sendMsgToAgent(
    agentId: string,
    content: string | UserContent,
    options?: MessageOptions,
  ): Promise<AgentInstanceLatestStatus>
  getAgent(agentId: string): Promise<AgentInstance | undefined>
  /** Open ones that people made; sub-agents and closed ones only if asked for. */
  listAgents(options?: { readonly subAgents?: boolean; readonly closed?: boolean }): Promise<readonly AgentInstance[]>
  getStatus(agentId: string): Promise<AgentInstanceLatestStatus>
  getMessages(agentId: string): Promise<readonly AgentInstanceMessage[]>
  /**
   * How its plugins would put the next prompt together, step by step, with what somebody is about to say: for screens
   * that show prompts. No model is asked, and nothing is written.
   */
  concatPrompt(agentId: string, content?: string | UserContent): AsyncIterable<PromptState>
  /** What the tokens of its last request went to; `undefined` before the first one in this process. */
  getTokens(agentId: string): Promise<TokenBreakdown | undefined>
  /** Permissions and questions that wait for a person, of one agent or of all. */
  pending(agentId?: string): Promise<readonly (Waiting & { readonly agentId: string })[]>
  /**
   * By the `approvalId` of what `pending` lists; a `callId` will do where only one call that waits has it. Resolves when
   * the agent has come to its next end.
   */
  resolveApproval(
    agentId: string,
    approvalId: string,
    decision: 'allow' | 'deny',
    options?: { by?: string; note?: string },
  ): Promise<AgentInstanceLatestStatus>
  answerQuestion(agentId: string, questionId: string, answer: string): Promise<AgentInstanceLatestStatus>
  /**
   * Takes a message of a person back, with all that came after it, and resolves with what it was: to be changed and sent
   * again. Files stay as they are; `rollback` puts those back.
   */
  rewind(agentId: string, messageId: string): Promise<UserContent>
  /**
   * Puts files back to what they were before a message, where `snapshots` are kept. What somebody changed since is kept
   * and reported; with `force` it goes back too.
   */
  rollback(agentId: string, messageId: string, options?: { force?: boolean }): Promise<RollbackResult>
  /** Takes the last `rollback` to before this message back, with all that it overwrote. */
  undoRollback(agentId: string, messageId: string, options?: { force?: boolean }): Promise<RollbackResult>
  /** What `rollback` would do. */
  planRollback(agentId: string, messageId: string): Promise<RollbackPlan>
  /** Stops what it does, here or in another process, and denies what it waits for. What was said until then stays. */
  cancelAgent(agentId: string): Promise<void>
  /** The same for good: it is not woken and cannot be spoken to any more. What it said stays. */
  closeAgent(agentId: string): Promise<void>
  deleteAgent(agentId: string): Promise<void>
  /**
   * Tells the events of an agent from now on, as `followEvents` does: the entries of its log, whichever process writes
   * them, what is streamed in this process, and those of its sub-agents here. Resolves with how to stop.
   */
  follow(agentId: string, listener: EventListener): Promise<() => void>
  /** Messages and states, of one agent or of all. */
  subscribe(agentId: string | undefined, listener: UpdateListener): () => void
  readonly schedules: ScheduleBook
  readonly definitions: readonly AgentDefinition[]
  readonly settings: WorkflowSettings
  /** Holds from the next call and the next request on, in runs under way too. */
  updateSettings(settings: WorkflowSettings): Promise<void>
  registerToolDefinition(plugin: PluginDefinition): void
  /** Goes on with what was interrupted, and wakes agents by their schedules for as long as no other process does. */
  start(): Promise<void>
  /** Stops all agents and lets go of everything. They go on where they stand with the next start. */
  close(): Promise<void>
}
