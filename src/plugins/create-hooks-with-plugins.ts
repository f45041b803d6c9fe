import { systemClock } from '../core/clock.ts'
import { createPluginHooks } from './create-plugin-hooks.ts'
import { definePlugin, type PluginDefinition, type PluginEntry, type PluginServices } from './plugin.ts'
import type { PluginHooks } from './plugin-hooks.ts'
import { setUpPlugins } from './plugin-set.ts'
import { type HandlerPlugin, type TapableHooks, tapableHooks } from './tapable-hook.ts'

/** What a handler is configured with: the entries of its plugins, in their order. */
export interface HandlerConfig {
  readonly plugins?: readonly PluginEntry[]
  readonly [field: string]: unknown
}

export interface HooksOptions {
  /** Plugins beside the built-in ones; one in the form of TidGi stands under the `toolId` of its entries. */
  readonly plugins?: readonly PluginDefinition[] | Readonly<Record<string, HandlerPlugin | PluginDefinition>>
  readonly services?: Partial<PluginServices>
  /** Hears of plugins that fail; the others go on. Default: the console. */
  readonly onError?: (error: Error) => void
}

/**
 * Fresh hooks with the plugins of a handler's configuration, for hosts that drive them themselves with
 * `hooks.<name>.promise(ctx)`. A workflow does all of this by itself.
 */
export async function createHooksWithPlugins(
  handlerConfig: HandlerConfig = {},
  { plugins = [], services, onError = console.error }: HooksOptions = {},
): Promise<{ hooks: PluginHooks & TapableHooks; pluginConfigs: readonly PluginEntry[] }> {
  const { builtInPlugins } = await import('./built-in-plugins.ts')
  const own = Array.isArray(plugins) ? plugins : Object.entries(plugins).map(([toolId, one]) => defined(toolId, one))
  const known = new Map([...builtInPlugins, ...own].map((plugin) => [plugin.toolId, plugin]))
  const pluginConfigs = handlerConfig.plugins ?? []
  const all = setUpPlugins(pluginConfigs, known, { agentId: '', clock: systemClock, ...services })
  const hooks = createPluginHooks(all, onError)
  return { hooks: Object.assign(hooks, tapableHooks(hooks, hooks.tapsOf(host, -1))), pluginConfigs }
}

/** The owner of handlers that the host taps itself. */
const host: PluginEntry = { id: 'host', toolId: 'host' }

const defined = (toolId: string, plugin: HandlerPlugin | PluginDefinition): PluginDefinition =>
  typeof plugin === 'function'
    ? definePlugin({ toolId, displayName: toolId, description: toolId, register: plugin })
    : plugin
