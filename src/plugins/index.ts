/** `libero/plugins`: what agents are made of. `libero/workflow` runs them. */

export type { Clock } from '../core/clock.ts'
export type { AgentError } from '../core/errors.ts'
export { estimateTokens } from '../core/estimate-tokens.ts'
export type { LogEntry } from '../core/log.ts'
export type { Provider } from '../core/provider.ts'
export type { Extension } from '../core/run.ts'
export type { ToolDef, ToolSpec } from '../core/tool.ts'
export type { Message, TurnUsage } from '../core/turn.ts'
export type { PublicWebOptions } from '../platform/public-web.ts'
export type { WebFetchOptions } from '../tools/web-fetch.ts'
export { batchLimitMs } from './batch-clock.ts'
export { builtInPlugins } from './built-in-plugins.ts'
export {
  createHooksWithPlugins,
  createPluginHooks,
  type HandlerConfig,
  type HooksOptions,
} from './create-plugin-hooks.ts'
export type { ExecutionOptions } from './execution.ts'
export { type PluginExtensionOptions, pluginExtension } from './extension.ts'
export type { LogViews } from './log-views.ts'
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
export { MessageProjection, type ProjectionOptions } from './message-projection.ts'
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
  type PluginHookName,
  PluginHooks,
  type PluginTaps,
  type PostProcessContext,
  type PromptContext,
  pluginHookNames,
  type ResponseContext,
  type SeriesName,
  type Shared as SharedContext,
  type WaterfallName,
} from './plugin-hooks.ts'
export { type SetUpPlugin, setUpPlugins } from './plugin-set.ts'
export { type ConcatPromptInput, concatPrompt, getFinalPromptResult } from './prompts/concat-prompt.ts'
export type { FlatPrompt, PromptNode, PromptResult, PromptState } from './prompts/prompt.ts'
export { findPrompt, flattenPrompts, injectContent } from './prompts/prompt-tree.ts'
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
export {
  type MatchOptions,
  matchAllToolCallings,
  matchToolCalling,
  type TextToolCall,
} from './text-tools/match-tool-calling.ts'
export type { TextCallPattern } from './text-tools/text-call-pattern.ts'
export { toolListText } from './text-tools/tool-list-text.ts'
export { type TextToolsOptions, withTextTools } from './text-tools/with-text-tools.ts'
export {
  type CountedRequest,
  type TokenBreakdown,
  type TokenLevel,
  tokenBreakdown,
  withReported,
} from './tokens/token-breakdown.ts'
export { fitHistory, trimMessages } from './tokens/trim-messages.ts'
export { type ToolMarks, withMarks } from './tool-marks.ts'
export { createWebFetchPlugin } from './tools/web-fetch.ts'
export { createZxScriptPlugin, type ZxScriptOptions } from './tools/zx-script.ts'
export type { TurnSnapshots } from './turn-snapshots.ts'
export {
  type KnowledgeContractCase,
  type KnowledgeContractOptions,
  knowledgeContract,
} from './wiki/knowledge-contract.ts'
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
export { createMemoryKnowledgeStore, type MemoryKnowledgeOptions } from './wiki/stores/memory-store.ts'
export {
  createTiddlyWikiStore,
  type NamedTiddlyWikiWorkspace,
  type TiddlyWikiStoreOptions,
  type TiddlyWikiWorkspace,
} from './wiki/tiddlywiki/tiddlywiki-store.ts'
export { createVectorIndex, type Embed, type VectorIndex, type VectorIndexOptions } from './wiki/vector-search.ts'
