/** `libero/workflow`: agents made of plugins, kept in a store, woken by schedules. */

export type { AuthorityOptions } from '../authority/authority.ts'
export type { Clock } from '../core/clock.ts'
export type { AgentError } from '../core/errors.ts'
export type { ExecutionContext } from '../core/execution.ts'
export type { Provider } from '../core/provider.ts'
export type { SessionStore } from '../core/store.ts'
export type { ThinkingLevel } from '../core/thinking.ts'
export type { McpConnector } from '../mcp/connections.ts'
export type { PluginDefinition } from '../plugins/plugin.ts'
export type { ScheduleBook } from '../plugins/schedule.ts'
export type { KnowledgeStore } from '../plugins/wiki/knowledge-store.ts'
export type { Embed } from '../plugins/wiki/vector-search.ts'
export type { SkillsConfig } from '../skills/skill.ts'
export { basicPromptConcatHandler, defaultHandlerId } from './agent/handler-run.ts'
export type { PendingApproval } from './agent/pending-calls.ts'
export { builtInDefinitions } from './definitions/built-in-definitions.ts'
export { checkDefinition } from './definitions/check-definition.ts'
export type {
  AgentConfig,
  AgentDefinition,
  AgentInstance,
  Heartbeat,
  InstanceConfig,
} from './definitions/definition.ts'
export type { EventListener, UpdateListener, WorkflowUpdate } from './listeners.ts'
export { RollbackError, type RollbackProblem } from './rollback/message-files.ts'
export { createScheduleBook, type ScheduleBookOptions } from './schedules/schedule-book.ts'
export type { Wake } from './schedules/schedule-owner.ts'
export { createScheduler, type Scheduler, type SchedulerOptions } from './schedules/scheduler.ts'
export { createWorkflow } from './workflow.ts'
export type {
  AgentHandler,
  HandlerContext,
  NewAgent,
  Workflow,
  WorkflowOptions,
  WorkflowSettings,
} from './workflow-contract.ts'
