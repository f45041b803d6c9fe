import type { SessionAnswer } from '../authority/answer-session.ts'
import type { AuthorityOptions } from '../authority/authority.ts'
import type { ToolRule } from '../authority/rules/settings.ts'
import type { MessageOptions } from '../core/agent.ts'
import type { Clock } from '../core/clock.ts'
import type { ExecutionContext } from '../core/execution.ts'
import type { LogEntry } from '../core/log.ts'
import type { Provider } from '../core/provider.ts'
import type { Extension } from '../core/run.ts'
import type { SessionQuery, SessionStore } from '../core/store.ts'
import type { ThinkingLevel } from '../core/thinking.ts'
import type { PromptPart } from '../core/turn.ts'
import type { McpConnector } from '../mcp/connections.ts'
import type { AgentInstanceLatestStatus, AgentInstanceMessage, UserContent } from '../plugins/message.ts'
import type { PluginDefinition, PluginServices } from '../plugins/plugin.ts'
import type { AgentFrameworkContext } from '../plugins/plugin-hooks.ts'
import type { PromptState } from '../plugins/prompts/prompt.ts'
import type { ScheduleBook } from '../plugins/schedule.ts'
import type { TokenBreakdown } from '../plugins/tokens/token-breakdown.ts'
import type { KnowledgeStore } from '../plugins/wiki/knowledge-store.ts'
import type { Embed } from '../plugins/wiki/vector-search.ts'
import type { RetryOptions } from '../providers/retry.ts'
import type { SkillsConfig } from '../skills/skill.ts'
import type { SnapshotOptions } from '../snapshots/file-history.ts'
import type { RollbackPlan, RollbackResult } from '../snapshots/file-snapshots.ts'
import type { PendingApproval } from './agent/pending-calls.ts'
import type { AgentChange, AgentSettings } from './agent-settings.ts'
import type { AgentDefinition, AgentInstance, AgentSummary, InstanceConfig } from './definitions/definition.ts'
import type { EventListener, UpdateListener } from './listeners.ts'

export interface WorkflowOptions {
  /** The provider of all agents, or a function that chooses one by the definition. */
  readonly provider: Provider | ((definition: AgentDefinition) => Provider)
  readonly definitions: readonly AgentDefinition[]
  /** Keeps agents and schedules. Default: in memory, until the process ends. */
  readonly store?: SessionStore
  /** In addition to the built-in ones; a plugin with the id of a built-in one replaces it. */
  readonly plugins?: readonly PluginDefinition[]
  readonly handlers?: Readonly<Record<string, AgentHandler>>
  /** The wikis that agents work in. */
  readonly knowledge?: KnowledgeStore
  /** Turns texts into vectors, for `wiki-search` by meaning. */
  readonly embed?: Embed
  readonly execution?: ExecutionContext
  /** In addition to the rules of definitions and settings. Default mode: `yolo`. */
  readonly authority?: AuthorityOptions
  readonly settings?: WorkflowSettings
  /** Skills that all agents have. */
  readonly skills?: SkillsConfig
  /** Connects the MCP servers of definitions. Default: as for any agent. */
  readonly mcpConnector?: McpConnector
  /** Extensions of all agents and their sub-agents, beside their plugins. */
  readonly extensions?: readonly Extension[]
  /** How much models think before they answer. */
  readonly thinking?: ThinkingLevel
  /** Tools of plugins that no agent gets, by name. */
  readonly withoutTools?: readonly string[]
  /** Keeps the files before each message, for `rollback`: those of a folder, by default where tools run. */
  readonly snapshots?: SnapshotOptions
  /** How long the calls of one answer may work together. Default 120,000; 0 means no limit. */
  readonly batchTimeoutMs?: number
  /**
   * Where models run. `elsewhere`: messages, answers and due times of schedules are recorded, and `onWork` wakes a process that
   * works; this one runs a model in `work` only. Default `here`.
   */
  readonly work?: 'here' | 'elsewhere'
  /** With `work: 'elsewhere'`: called when something was recorded for an agent, which is durable by then. */
  readonly onWork?: (agentId: string, tenant: string | undefined) => Promise<void> | void
  /** How many idle agents stay in memory; others are loaded again when they are used. Default 100. */
  readonly maxIdleAgents?: number
  readonly clock?: Clock
  readonly newId?: () => string
  /** Called with errors of plugins, listeners and schedules. Default: the console. */
  readonly onError?: (error: Error) => void
}

export interface NewAgent {
  /** Must begin with `agent-`. Default: a new one. */
  readonly id?: string
  readonly name?: string
  readonly handlerId?: string
  /** Changes that of the definition. */
  readonly config?: InstanceConfig
  /** The tenant of its session. */
  readonly tenant?: string
  /** Ends with the process, and is never woken. */
  readonly volatile?: boolean
}

/** Agents made of plugins. All their state is in the store. */
export interface Workflow {
  createAgent(definitionId: string, options?: NewAgent): Promise<AgentInstance>
  /**
   * Resolves when the agent is done, waits for a person, was cancelled or failed; with `submitted` if another process works
   * on it, and with the option `work: 'elsewhere'`.
   */
  sendMsgToAgent(
    agentId: string,
    content: string | UserContent,
    options?: MessageOptions,
  ): Promise<AgentInstanceLatestStatus>
  getAgent(agentId: string): Promise<AgentInstance | undefined>
  /** What a person may change about an agent. */
  getAgentSettings(agentId: string): Promise<AgentSettings>
  /**
   * Changes the name and settings of an agent, from its next message on. Rejects while it is at work, and if a setting is
   * wrong.
   */
  updateAgent(agentId: string, change: AgentChange): Promise<AgentInstance>
  /** One page of the open agents, the last changed first; with sub-agents and closed ones only if asked for. */
  listAgents(
    query?: Pick<SessionQuery, 'status' | 'tenant' | 'limit' | 'cursor'> & {
      readonly subAgents?: boolean
      readonly closed?: boolean
      readonly definitionId?: string
      readonly name?: string
      /** Only ids that begin with this, with or without `agent-`. */
      readonly prefix?: string
    },
  ): Promise<{
    readonly agents: readonly AgentSummary[]
    /** The cursor of the next page; absent if this is the last one. */
    readonly next?: string
  }>
  getStatus(agentId: string): Promise<AgentInstanceLatestStatus>
  /** The ids of its messages in their order, for a screen that asks for the contents of those in sight. */
  getMessageIds(agentId: string): Promise<readonly string[]>
  /** Its messages, or those from place `from` up to, and without, place `to` in `getMessageIds`. */
  getMessages(
    agentId: string,
    range?: { readonly from?: number; readonly to?: number },
  ): Promise<readonly AgentInstanceMessage[]>
  /**
   * The steps in which its plugins would build the next prompt, with a message that has not been sent: for screens that
   * show prompts. Calls no model and writes nothing.
   */
  concatPrompt(agentId: string, content?: string | UserContent): AsyncIterable<PromptState>
  /** What the tokens of its last request were used for; `undefined` if it made none since it was loaded. */
  getTokens(agentId: string): Promise<TokenBreakdown | undefined>
  /** The calls that wait for a person, of one agent or of all. */
  pending(agentId?: string): Promise<readonly (PendingApproval & { readonly agentId: string })[]>
  /**
   * Takes the `approvalId` of a call that `pending` lists, or its `callId` if no other pending call has the same.
   * Resolves as `sendMsgToAgent` does.
   */
  resolveApproval(
    agentId: string,
    approvalId: string,
    decision: 'allow' | 'deny',
    /**
     * `scope`: how long an `allow` counts, default `once`; one that the question does not offer counts as `once`. `edits`: the
     * decision about each edit of the call, if only some are allowed.
     */
    options?: Omit<SessionAnswer, 'decision' | 'where'>,
  ): Promise<AgentInstanceLatestStatus>
  answerQuestion(agentId: string, questionId: string, answer: string): Promise<AgentInstanceLatestStatus>
  /**
   * Removes a message of a person and all later ones, and resolves with its content, to be changed and sent again. Files
   * stay as they are; `rollback` restores those.
   */
  rewind(agentId: string, messageId: string): Promise<UserContent>
  /**
   * Restores the files from before a message; needs the option `snapshots`. Files that others changed since are kept and
   * reported; with `force` they are restored too.
   */
  rollback(agentId: string, messageId: string, options?: { force?: boolean }): Promise<RollbackResult>
  /** Undoes the last `rollback` to before this message, with all that it overwrote. */
  undoRollback(agentId: string, messageId: string, options?: { force?: boolean }): Promise<RollbackResult>
  /** What `rollback` would do. */
  planRollback(agentId: string, messageId: string): Promise<RollbackPlan>
  /** Stops its work, here or in another process, and denies its pending calls. Its messages stay. */
  cancelAgent(agentId: string): Promise<void>
  /** Cancels it for good: no schedule wakes it, and it accepts no messages. Its messages stay. */
  closeAgent(agentId: string): Promise<void>
  deleteAgent(agentId: string): Promise<void>
  /**
   * Calls a listener with the events of an agent, as `followEvents` does: the entries of its log, from any process, what
   * is streamed in this process, and the events of its sub-agents here. Resolves with a function that stops it.
   */
  follow(agentId: string, listener: EventListener): Promise<() => void>
  /** Calls a listener with messages and states, of one agent or of all, from any process. */
  subscribe(agentId: string | undefined, listener: UpdateListener): () => void
  readonly schedules: ScheduleBook
  readonly definitions: readonly AgentDefinition[]
  readonly settings: WorkflowSettings
  /** Applies from the next call and the next request on, in runs under way too. */
  updateSettings(settings: WorkflowSettings): Promise<void>
  registerToolDefinition(plugin: PluginDefinition): void
  /**
   * Continues what an agent has to do, until nothing is left, also with the option `work: 'elsewhere'`. Resolves with its
   * state; with `submitted` if another process works on it. For workers of a queue.
   */
  work(agentId: string): Promise<AgentInstanceLatestStatus>
  /**
   * Continues interrupted work, and wakes agents by their schedules while no other process does. With `work: 'elsewhere'` only
   * the latter.
   */
  start(): Promise<void>
  /** Stops all agents and releases all resources. The next start continues their work. */
  close(): Promise<void>
}

/** Which agents to list. */
export type AgentQuery = NonNullable<Parameters<Workflow['listAgents']>[0]>

/** One page of agents. */
export type AgentPage = Awaited<ReturnType<Workflow['listAgents']>>

/** The argument of a handler. */
export interface HandlerContext extends AgentFrameworkContext {
  /** The message; absent if the agent continues by itself: after a restart, an answer, or a schedule. */
  readonly prompt?: readonly PromptPart[]
  /** Runs the engine until it is done. Without a prompt it continues from the log. */
  execute(options?: { readonly prompt?: string | readonly PromptPart[] }): AsyncIterable<AgentInstanceLatestStatus>
}

/** Processes a message. Yields the state of the agent as it changes; the last one counts. */
export type AgentHandler = (context: HandlerContext) => AsyncIterable<AgentInstanceLatestStatus>

/** Settings for all agents. They apply from the next call on, in runs under way too. */
export interface WorkflowSettings {
  /** Rules of the authority, by the name of the tool, in addition to those of definitions. */
  readonly approval?: Readonly<Record<string, ToolRule>>
  /** How failed requests are sent again. Default: the provider decides. */
  readonly retry?: RetryOptions
}

/** What all agents of a workflow share. */
export interface WorkflowDependencies {
  readonly providerOf: (definition: AgentDefinition) => Provider
  readonly plugins: ReadonlyMap<string, PluginDefinition>
  readonly definition: (id: string) => AgentDefinition
  readonly definitionIds: () => readonly string[]
  readonly settings: () => WorkflowSettings
  readonly services: (agentId: string) => Omit<PluginServices, 'childOf' | 'definitionIds'>
  readonly authority: AuthorityOptions
  /** Options that are passed on to every agent. */
  readonly options: Pick<WorkflowOptions, 'skills' | 'mcpConnector' | 'extensions' | 'thinking' | 'withoutTools'>
  readonly execution: ExecutionContext | undefined
  readonly batchTimeoutMs: number | undefined
  readonly clock: Clock
  readonly newId: () => string
  readonly onError: (error: Error) => void
  readonly store: SessionStore
  readonly entries: (id: string, after: number) => Promise<readonly LogEntry[]>
}
