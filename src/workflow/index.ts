/** `libero/workflow`: agents made of plugins, kept in a store, woken by schedules. */

export type { Waiting } from './agent/waiting-calls.ts'
export { builtInDefinitions } from './definitions/built-in-definitions.ts'
export { checkDefinition } from './definitions/check-definition.ts'
export type {
  AgentConfig,
  AgentDefinition,
  AgentInstance,
  Heartbeat,
  InstanceConfig,
} from './definitions/definition.ts'
export {
  type AgentHandler,
  basicPromptConcatHandler,
  defaultHandlerId,
  type HandlerContext,
} from './handlers/handler.ts'
export { createScheduleBook } from './schedules/schedule-book.ts'
export { createScheduler, type Scheduler, type SchedulerOptions } from './schedules/scheduler.ts'
export type { WorkflowSettings } from './settings.ts'
export type { UpdateListener, WorkflowUpdate } from './updates.ts'
export { createWorkflow, type NewAgent, type Workflow, type WorkflowOptions } from './workflow.ts'
