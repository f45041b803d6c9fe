import { systemClock } from '../core/clock.ts'
import type { ToolSpec } from '../core/tool.ts'
import { noCall } from './llm-tool-schemas.ts'
import {
  definePlugin,
  type PluginDefinition,
  type PluginEntry,
  type PluginServices,
  type PromptHelpers,
} from './plugin.ts'
import { PluginHooks, type PromptContext } from './plugin-hooks.ts'
import { pluginProblem, type SetUpPlugin, setUpPlugins } from './plugin-set.ts'
import { findPrompt, injectContent } from './prompts/prompt-tree.ts'
import { type HandlerPlugin, type TapableHooks, tapableHooks } from './tapable-hook.ts'
import { toolListText } from './text-tools/tool-list-text.ts'

/** New hooks for one execution, with all plugins registered in their order. A plugin that fails to register is reported. */
export function createPluginHooks(plugins: readonly SetUpPlugin[], onError: (error: Error) => void): PluginHooks {
  const hooks = new PluginHooks((error, { hook, plugin }) => onError(pluginProblem(plugin, hook, error)))
  for (const [index, one] of plugins.entries()) {
    try {
      registerPlugin(hooks, one, index)
    } catch (error) {
      onError(pluginProblem(one.plugin.toolId, 'register', error))
    }
  }
  return hooks
}

function registerPlugin(hooks: PluginHooks, { plugin, setup, tools }: SetUpPlugin, index: number): void {
  const taps = hooks.tapsOf(setup.entry, index)
  const { config } = setup
  const specs = tools.map(({ spec }) => spec)
  const { onProcessPrompts, onFinalizePrompts, onPostProcess, onResponseComplete } = plugin
  // A handler changes the tree in place, or returns another context.
  const onTree = async <Ctx extends PromptContext>(
    ctx: Ctx,
    handler: (ctx: Ctx & PromptHelpers & { readonly config: Record<string, unknown> }) => unknown,
  ): Promise<Ctx> => {
    const given = Object.assign(ctx, helpersFor(ctx, specs), { config })
    return { ...given, ...((await handler(given)) as Partial<Ctx> | undefined) }
  }
  if (onProcessPrompts) taps.tap('processPrompts', (ctx) => onTree(ctx, onProcessPrompts))
  if (onFinalizePrompts) taps.tap('finalizePrompts', (ctx) => onTree(ctx, onFinalizePrompts))
  if (onPostProcess) taps.tap('postProcess', (ctx) => onTree(ctx, onPostProcess))
  if (onResponseComplete)
    taps.tap('responseComplete', async (ctx) => {
      const isOurs = ctx.toolCalls.some(({ toolId }) => Object.hasOwn(plugin.llmToolSchemas ?? {}, toolId))
      if (!isOurs) await onResponseComplete({ ...ctx, ...noCall(ctx), config }) // each of its calls is handled when it runs
    })
  plugin.register?.({ ...taps, ...tapableHooks(hooks, taps) }, setup)
}

/** They read the context when they are called, as a handler may have replaced the tree. */
function helpersFor(ctx: PromptContext, specs: readonly ToolSpec[]): PromptHelpers {
  return {
    findPrompt: (id) => findPrompt(ctx.prompts, id),
    injectContent: (options) => injectContent(ctx.prompts, options),
    injectToolList: (options) => injectContent(ctx.prompts, { ...options, content: toolListText(specs) }),
  }
}

/**
 * New hooks with the plugins of a handler's configuration, in their order, for hosts that call them themselves with
 * `hooks.<name>.promise(ctx)`. A workflow does this by itself.
 */
export async function createHooksWithPlugins(
  handlerConfig: { readonly plugins?: readonly PluginEntry[]; readonly [field: string]: unknown } = {},
  {
    plugins = [],
    services,
    onError = console.error,
  }: {
    /** Plugins in addition to the built-in ones; one in the form of TidGi is given under the `toolId` of its entries. */
    readonly plugins?: readonly PluginDefinition[] | Readonly<Record<string, HandlerPlugin | PluginDefinition>>
    readonly services?: Partial<PluginServices>
    /** Called when a plugin fails; the others continue. Default: the console. */
    readonly onError?: (error: Error) => void
  } = {},
): Promise<{ hooks: PluginHooks & TapableHooks; pluginConfigs: readonly PluginEntry[] }> {
  const { builtInPlugins } = await import('./built-in-plugins.ts')
  const own = Array.isArray(plugins) ? plugins : Object.entries(plugins).map(([toolId, one]) => defined(toolId, one))
  const known = new Map([...builtInPlugins, ...own].map((plugin) => [plugin.toolId, plugin]))
  const pluginConfigs = handlerConfig.plugins ?? []
  const all = setUpPlugins(pluginConfigs, known, { agentId: '', clock: systemClock, ...services })
  const hooks = createPluginHooks(all, onError)
  return { hooks: Object.assign(hooks, tapableHooks(hooks, hooks.tapsOf(host, -1))), pluginConfigs }
}

/** The owner of the handlers that the host registers itself. */
const host: PluginEntry = { id: 'host', toolId: 'host' }

const defined = (toolId: string, plugin: HandlerPlugin | PluginDefinition): PluginDefinition =>
  typeof plugin === 'function'
    ? definePlugin({ toolId, displayName: toolId, description: toolId, register: plugin })
    : plugin
