/** `libero/plugins`: what agents are made of. `libero/workflow` runs them. */

export type { Clock } from '../core/clock.ts'
export type { AgentError } from '../core/errors.ts'
export { estimateTokens } from '../core/estimate-tokens.ts'
export type { LogEntry } from '../core/log.ts'
export type { ModelRequest, Provider } from '../core/provider.ts'
export type { Extension } from '../core/run.ts'
export type { ToolDef, ToolSpec } from '../core/tool.ts'
export type { Message, TurnUsage } from '../core/turn.ts'
export type { WebFetchOptions } from '../tools/web-fetch.ts'

export { createHooksWithPlugins } from './create-plugin-hooks.ts'
export type { AgentInstanceMessage } from './message.ts'
export {
  definePlugin,
  type PluginDefinition,
  type PluginEntry,
  type PluginServices,
} from './plugin.ts'
export type { PluginHooks } from './plugin-hooks.ts'
export { type ConcatPromptInput, concatPrompt, getFinalPromptResult } from './prompts/concat-prompt.ts'
export type { PromptState } from './prompts/prompt.ts'
export type { ScheduleBook } from './schedule.ts'
export type { HandlerPlugin, TapableHooks } from './tapable-hook.ts'
export {
  matchAllToolCallings,
  matchToolCalling,
  type TextToolCall,
} from './text-tools/match-tool-calling.ts'
export type { TextCallPattern } from './text-tools/text-call-pattern.ts'
export { toolListText } from './text-tools/tool-list-text.ts'
export { withTextTools } from './text-tools/with-text-tools.ts'
export { type TokenBreakdown, tokenBreakdown } from './tokens/token-breakdown.ts'
export { trimMessages } from './tokens/trim-messages.ts'
export { withMarks } from './tool-marks.ts'
export { createWebFetchPlugin } from './tools/web-fetch.ts'
export { knowledgeContract } from './wiki/knowledge-contract.ts'
export { type KnowledgeStore, PageChanged, type Tiddler, type Wiki } from './wiki/knowledge-store.ts'
export { createMemoryKnowledgeStore } from './wiki/stores/memory-store.ts'
export {
  createTiddlyWikiStore,
  type TiddlyWikiStoreOptions,
} from './wiki/tiddlywiki/tiddlywiki-store.ts'
export { createWikitextRenderer, type WikitextRenderer } from './wiki/tiddlywiki/wikitext-renderer.ts'
export { createVectorIndex, type Embed } from './wiki/vector-search.ts'
