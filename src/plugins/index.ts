/** `libero/plugins`: what agents are made of. `libero/workflow` runs them. */
export { batchLimitMs } from './batch-clock.ts'
export { builtInPlugins } from './built-in-plugins.ts'
export { createHooksWithPlugins } from './create-hooks.ts'
export { type PluginExtensionOptions, pluginExtension } from './extension.ts'
export type {
  AgentInstanceLatestStatus,
  AgentInstanceMessage,
  AgentState,
  AttachedFile,
  AttachedTiddler,
  MessageCall,
  MessageMetadata,
  UserContent,
} from './message.ts'
export { MessageProjection } from './message-projection.ts'
export {
  definePlugin,
  type ExecutorResult,
  type InjectOptions,
  type PluginApproval,
  type PluginDefinition,
  type PluginEntry,
  type PluginServices,
  type PluginSetup,
  type PromptHelpers,
  type ResponseHelpers,
  type ToolExecutor,
} from './plugin.ts'
export {
  type AgentFrameworkContext,
  type AIResponse,
  type PluginActions,
  type PluginHookContexts,
  PluginHooks,
  type PluginTaps,
  type PostProcessContext,
  type PromptContext,
  pluginHookNames,
  type ResponseContext,
} from './plugin-hooks.ts'
export { type SetUpPlugin, setUpPlugins } from './plugin-set.ts'
export type {
  ActiveHours,
  NewSchedule,
  Schedule,
  ScheduleBook,
  ScheduleChange,
  ScheduleState,
  ScheduleTime,
} from './schedule.ts'
export { type ToolMarks, withMarks } from './tool-marks.ts'
