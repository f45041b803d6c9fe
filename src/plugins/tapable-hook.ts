import { show } from '../core/behavior.ts'
import { isThenable } from '../core/cancellation.ts'
import type { AgentInstanceMessage } from './message.ts'
import type { PluginEntry } from './plugin.ts'
import {
  type AgentFrameworkContext,
  type PluginHookContexts,
  type PluginHookName,
  type PluginHooks,
  type PluginTaps,
  pluginHookNames,
  type Shared,
  waterfallNames,
} from './plugin-hooks.ts'

/** A hook in the form of tapable: plugins of TidGi register with it, and their host calls it. */
export interface TapableHook<Ctx> {
  tap(name: TapName, handler: (ctx: Ctx) => unknown): void
  tapPromise(name: TapName, handler: (ctx: Ctx) => PromiseLike<unknown>): void
  /** The handler must call back: with an error, or with `null` and, in a waterfall, the context. */
  tapAsync(name: TapName, handler: (ctx: Ctx, callback: TapCallback<Ctx>) => unknown): void
  /** Calls every handler. Resolves with the context of a waterfall. A handler that fails is reported, and the rest continue. */
  promise(ctx: Partial<Ctx>): Promise<Ctx | undefined>
  callAsync(ctx: Partial<Ctx>, callback: TapCallback<Ctx>): void
}

type TapName = string | { readonly name: string }
type TapCallback<Ctx> = (error?: unknown, ctx?: Ctx) => void

/** The context of handlers in this form: the same fields, also under TidGi's older names. */
export type TapableContext<Name extends PluginHookName> = PluginHookContexts[Name] & {
  readonly handlerContext: TapableAgentContext
  readonly agentFrameworkContext: TapableAgentContext
  readonly pluginConfig: PluginEntry
}

/** A message that a handler pushes into `messages` is sent to the model with the next round. */
interface TapableAgentContext extends AgentFrameworkContext {
  readonly agent: AgentFrameworkContext['agent'] & { readonly messages: AgentInstanceMessage[] }
}

export type TapableHooks = { readonly [Name in PluginHookName]: TapableHook<TapableContext<Name>> }

/** A plugin in the form of TidGi. `definePlugin({ …, register: plugin })` turns it into a `PluginDefinition`. */
export type HandlerPlugin = (hooks: TapableHooks) => void

/** The given hooks in this form; handlers are registered with `taps`. */
export function tapableHooks(hooks: PluginHooks, taps: PluginTaps): TapableHooks {
  const all = pluginHookNames.map((name) => [name, tapableHook(name, hooks, taps)])
  return Object.fromEntries(all) as TapableHooks
}

type Ctx = TapableContext<PluginHookName>

function tapableHook(name: PluginHookName, hooks: PluginHooks, taps: PluginTaps): TapableHook<Ctx> {
  const add = (by: TapName, handler: unknown, handle: (ctx: Ctx) => unknown): void => {
    if (typeof handler !== 'function')
      throw new TypeError(`the handler of ${name} by ${show(by)} must be a function, got ${show(handler)}`)
    taps.tap(name, (async (ctx: PluginHookContexts[PluginHookName]) => inOlderNames(ctx, handle)) as never)
  }
  const promise = (ctx: Partial<Ctx>): Promise<Ctx | undefined> => call(hooks, name, ctx)
  return {
    tap: (by, handler) => add(by, handler, handler),
    tapPromise: (by, handler) => add(by, handler, handler),
    tapAsync: (by, handler) => add(by, handler, (ctx) => calledBack(handler, ctx)),
    promise,
    callAsync: (ctx, callback) => void promise(ctx).then((result) => callback(null, result), callback),
  }
}

function calledBack(handler: (ctx: Ctx, callback: TapCallback<Ctx>) => unknown, ctx: Ctx): Promise<Ctx | undefined> {
  return new Promise((resolve, reject) => {
    const returned = handler(ctx, (error, result) => (error ? reject(error) : resolve(result)))
    if (isThenable(returned)) returned.then(undefined, reject) // a handler that rejects never calls back
  })
}

async function inOlderNames(
  given: PluginHookContexts[PluginHookName],
  handle: (ctx: Ctx) => unknown,
): Promise<unknown> {
  const { context, pushed } = withOwnMessages(given.agentFrameworkContext)
  const older = { handlerContext: context, agentFrameworkContext: context, pluginConfig: given.toolConfig }
  const result = await handle(Object.assign(given, older))
  const said = [given.actions.newUserMessage, ...pushed().map(({ content }) => content)].filter(Boolean)
  if (said.length > 0) given.actions.newUserMessage = said.join('\n\n')
  return result
}

/** The conversation as a list that a plugin may push into; copied on first use. */
function withOwnMessages(context: AgentFrameworkContext): {
  readonly context: TapableAgentContext
  readonly pushed: () => readonly AgentInstanceMessage[]
} {
  let own: AgentInstanceMessage[] | undefined
  let count = 0
  const messages = (): AgentInstanceMessage[] => {
    if (own) return own
    own = [...(context?.agent?.messages ?? [])]
    count = own.length
    return own
  }
  const agent = Object.defineProperties(
    {},
    { ...Object.getOwnPropertyDescriptors(context?.agent ?? {}), messages: { get: messages, enumerable: true } },
  )
  const isSaid = ({ role }: AgentInstanceMessage): boolean => role === 'user' || role === 'tool'
  return {
    context: { ...context, agent: agent as TapableAgentContext['agent'] },
    pushed: () => own?.slice(count).filter(isSaid) ?? [],
  }
}

/** Fields that the caller leaves out are empty. */
async function call(hooks: PluginHooks, name: PluginHookName, given: Partial<Ctx>): Promise<Ctx | undefined> {
  const agentFrameworkContext = given.agentFrameworkContext ?? given.handlerContext
  const shared = { metadata: {}, actions: {}, ...given, agentFrameworkContext }
  if (!isWaterfall(name)) {
    await hooks.series(name, shared as Shared<typeof name>)
    return undefined
  }
  let value = { messages: [], prompts: [], ...shared } as Shared<typeof name>
  for await (const step of hooks.waterfall(name, value)) value = step.value
  return value as Ctx
}

const isWaterfall = (name: PluginHookName): name is (typeof waterfallNames)[number] =>
  waterfallNames.includes(name as never)
