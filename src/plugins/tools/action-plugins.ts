import type { PluginDefinition } from '../plugin.ts'
import { askQuestionPlugin } from './ask-question.ts'
import { gitLogPlugin } from './git-log.ts'
import { gitReadFilePlugin } from './git-read-file.ts'
import { manageTodoPlugin } from './manage-todo.ts'
import { spawnAgentPlugin } from './spawn-agent.ts'
import { summaryPlugin } from './summary.ts'
import { webFetchPlugin } from './web-fetch.ts'
import { zxScriptPlugin } from './zx-script.ts'

/** Plugins that do something beside reading wikis and keeping time. */
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
