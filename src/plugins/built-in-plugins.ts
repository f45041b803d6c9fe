import type { PluginDefinition } from './plugin.ts'
import { dynamicPosition } from './prompts/dynamic-position.ts'
import { fullReplacement } from './prompts/full-replacement.ts'
import { actionPlugins } from './tools/action-plugins.ts'
import { schedulePlugins } from './tools/schedule-plugins.ts'
import { wikiPlugins } from './wiki/tools/wiki-plugins.ts'

/** Every plugin that comes with the package. */
export const builtInPlugins: readonly PluginDefinition[] = [
  fullReplacement,
  dynamicPosition,
  ...actionPlugins,
  ...schedulePlugins,
  ...wikiPlugins,
]
