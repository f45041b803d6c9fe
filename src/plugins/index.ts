/** `libero/plugins`: what agents are made of. `libero/workflow` runs them. */
export { batchLimitMs } from './batch-clock.ts'
export { builtInPlugins } from './built-in-plugins.ts'
export { concatPrompt } from './checked-concat-prompt.ts'
export { createHooksWithPlugins, type HandlerConfig, type HooksOptions } from './create-hooks-with-plugins.ts'
export { createPluginHooks } from './create-plugin-hooks.ts'
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
  type PluginChange,
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
export { type ConcatPromptInput, getFinalPromptResult } from './prompts/concat-prompt.ts'
export { flattenPrompts } from './prompts/flatten.ts'
export { fitHistory } from './prompts/history-window.ts'
export { findPrompt, injectContent } from './prompts/inject.ts'
export type { FlatPrompt, PromptNode, PromptResult, PromptState } from './prompts/prompt.ts'
export type {
  ActiveHours,
  NewSchedule,
  Schedule,
  ScheduleBook,
  ScheduleChange,
  ScheduleState,
  ScheduleTime,
} from './schedule.ts'
export type { HandlerPlugin, TapableContext, TapableHook, TapableHooks } from './tapable-hook.ts'
export { matchAllToolCallings, matchToolCalling } from './text-tools/match-tool-calling.ts'
export type { TextCallPattern } from './text-tools/text-call-pattern.ts'
export { toolListText } from './text-tools/tool-list-text.ts'
export { type TextToolsOptions, withTextTools } from './text-tools/with-text-tools.ts'
export { estimateTokens } from './tokens/estimate-tokens.ts'
export { type TokenBreakdown, type TokenLevel, tokenBreakdown, withReported } from './tokens/token-breakdown.ts'
export { trimMessages } from './tokens/trim-messages.ts'
export { type ToolMarks, withMarks } from './tool-marks.ts'
export { createWebFetchPlugin } from './tools/web-fetch.ts'
export { createZxScriptPlugin } from './tools/zx-script.ts'
export { knowledgeContract } from './wiki/knowledge-contract.ts'
export {
  type FilterPage,
  type KnowledgeStore,
  PageChanged,
  type RenderProblem,
  type TagNode,
  type Tiddler,
  type Wiki,
  type WikiCall,
  type WikiWrite,
  type WorkspaceInfo,
} from './wiki/knowledge-store.ts'
export { createMemoryKnowledgeStore } from './wiki/stores/memory-store.ts'
export { createTiddlyWikiStore } from './wiki/stores/tiddlywiki-store.ts'
export { createVectorIndex, type Embed } from './wiki/vector-search.ts'
