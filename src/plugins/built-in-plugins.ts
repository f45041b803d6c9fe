import type { PluginDefinition } from './plugin.ts'
import { dynamicPosition, fullReplacement } from './prompts/modifiers.ts'
import { askQuestionPlugin } from './tools/ask-question.ts'
import { gitLogPlugin } from './tools/git-log.ts'
import { gitReadFilePlugin } from './tools/git-read-file.ts'
import { manageTodoPlugin } from './tools/manage-todo.ts'
import { schedulePlugins } from './tools/schedule-plugins.ts'
import { spawnAgentPlugin } from './tools/spawn-agent.ts'
import { summaryPlugin } from './tools/summary.ts'
import { webFetchPlugin } from './tools/web-fetch.ts'
import { zxScriptPlugin } from './tools/zx-script.ts'
import { editTiddler } from './wiki/tools/edit-tiddler.ts'
import { wikiOperation } from './wiki/tools/wiki-operation.ts'
import { wikiBacklinks, wikiGetErrors, wikiListTiddlers, wikiRecent, wikiToc } from './wiki/tools/wiki-reading.ts'
import { wikiSearch } from './wiki/tools/wiki-search.ts'

/** Plugins that are neither about wikis nor about schedules. */
export const actionPlugins: readonly PluginDefinition[] = [
  summaryPlugin,
  askQuestionPlugin,
  webFetchPlugin,
  zxScriptPlugin,
  spawnAgentPlugin,
  manageTodoPlugin,
  gitLogPlugin,
  gitReadFilePlugin,
]

/** Every plugin for wikis. */
export const wikiPlugins: readonly PluginDefinition[] = [
  wikiSearch,
  wikiBacklinks,
  wikiToc,
  wikiRecent,
  wikiListTiddlers,
  wikiGetErrors,
  wikiOperation,
  editTiddler,
]

/** Every plugin that comes with the package. */
export const builtInPlugins: readonly PluginDefinition[] = [
  fullReplacement,
  dynamicPosition,
  ...actionPlugins,
  ...schedulePlugins,
  ...wikiPlugins,
]
