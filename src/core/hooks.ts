import { type AroundHandler, type AroundKind, type AroundOutcomes, runWrapped, type Wrapped } from './around.ts'
import { type Cancellation, isThenable, orCancelled, waitCancelledMarker } from './cancellation.ts'
import { messageOf } from './errors.ts'
import { didYouMean } from './nearest.ts'
import type { MaybePromise } from './waiting.ts'

/** A promise is awaited; any other return value is ignored. */
export type Handler<Ctx> = (ctx: Ctx) => unknown
/** One or several handlers per hook: the type of `hooks` options. */
export type HandlerMap<HookMap> = {
  [Name in keyof HookMap]?: Handler<HookMap[Name]> | readonly Handler<HookMap[Name]>[]
}
export type Unhook = () => void

/** The order in which handlers are called: those of the agent, of the run, of extensions. */
export const tier = { agent: 0, run: 1, extension: 2 } as const
type Tier = (typeof tier)[keyof typeof tier]

// biome-ignore lint/suspicious/noExplicitAny: the map's types are checked where handlers are added and hooks are fired
type AnyHandler = Handler<any>
interface Entry {
  readonly handler: AnyHandler
  readonly tier: Tier
}
interface WrapperEntry {
  // biome-ignore lint/suspicious/noExplicitAny: as above
  readonly handler: AroundHandler<any>
  readonly tier: Tier
}
type Report = (hook: string, error: unknown) => void
/** What happens to the context of an asked hook after a handler failed on it. */
// biome-ignore lint/suspicious/noExplicitAny: as above
type FailureRule = (ctx: any, before: object | undefined, error: unknown) => void

/**
 * The hooks of an agent and their handlers. Lists of handlers are copied when they change, never when a hook fires. A
 * hook without handlers, or with synchronous ones only, costs no promise.
 */
export class Hooks<HookMap extends { [Name in keyof HookMap]: object }> {
  readonly #entries = new Map<keyof HookMap, readonly Entry[]>()
  readonly #names: ReadonlySet<keyof HookMap>
  readonly #report: Report
  /** Absent until there is a wrapper, because every call and every turn checks it. */
  #wrappers: Map<AroundKind, readonly WrapperEntry[]> | undefined
  /** The hooks of the parent agent, whose wrappers also apply to its children. */
  readonly #parent: Hooks<HookMap> | undefined
  /** When this is cancelled, handlers are no longer waited for: a cancelled run must not hang on a handler's promise. */
  abandonOn: Cancellation | undefined

  constructor(names: ReadonlySet<keyof HookMap>, report: Report, parent?: Hooks<HookMap>) {
    this.#names = names
    this.#report = report
    this.#parent = parent
  }

  /** Returns a function that removes the handler. Throws if there is no such hook. */
  hook<Name extends keyof HookMap>(name: Name, handler: Handler<HookMap[Name]>, at: Tier = tier.agent): Unhook {
    this.#check(name, handler)
    const entry: Entry = { handler, tier: at }
    this.#entries.set(name, inserted(this.#of(name), entry))
    return () => {
      this.#entries.set(
        name,
        this.#of(name).filter((other) => other !== entry),
      )
    }
  }

  has(name: keyof HookMap): boolean {
    return this.#of(name).length > 0
  }

  /** Tells the handlers. A handler that fails is reported and changes nothing. */
  tell<Name extends keyof HookMap>(name: Name, ctx: HookMap[Name]): MaybePromise<void> {
    const list = this.#of(name)
    if (list.length > 0) return this.#fire(name, list, 0, ctx, undefined)
  }

  /**
   * Asks the handlers; their answer is what they write into `ctx`. When a handler fails, `:gate` hooks block the call,
   * `tool:transform` hides the output, and all others revert the changes of that handler.
   */
  ask<Name extends keyof HookMap>(name: Name, ctx: HookMap[Name]): MaybePromise<void> {
    const list = this.#of(name)
    if (list.length > 0) return this.#fire(name, list, 0, ctx, failureRuleOf(String(name)))
  }

  /**
   * Runs all work of this kind inside `handler`, which has to call `next` once. The first wrapper is the outermost.
   * Applies to the agent's children too. Returns a function that removes the handler.
   */
  around<Kind extends AroundKind>(kind: Kind, handler: AroundHandler<Kind>, at: Tier = tier.agent): Unhook {
    if (!kinds.includes(kind))
      throw new TypeError(`There is nothing to wrap that is called "${kind}"; there are ${kinds.join(', ')}`)
    if (typeof handler !== 'function')
      throw new TypeError(`The wrapper around "${kind}" must be a function (ctx, next), got ${typeof handler}`)
    if (kind === 'run' && at === tier.extension)
      throw new TypeError(
        'A run that has begun cannot be wrapped; use host.hooks.around in the warmup of the extension',
      )
    const entry: WrapperEntry = { handler, tier: at }
    this.#wrappers ??= new Map()
    this.#wrappers.set(kind, inserted(this.#wrappers.get(kind) ?? [], entry))
    return () => {
      const others = this.#wrappers?.get(kind)?.filter((other) => other !== entry) ?? []
      if (others.length > 0) this.#wrappers?.set(kind, others)
      else this.#wrappers?.delete(kind)
    }
  }

  /** Whether there is a wrapper: checked before a closure is made for `wrap`. */
  isWrapped(kind: AroundKind): boolean {
    return this.#wrappers?.has(kind) || this.#parent?.isWrapped(kind) || false
  }

  /** Runs the work inside all wrappers of its kind. */
  wrap<Kind extends AroundKind, Outcome extends AroundOutcomes[Kind]>(work: Wrapped<Kind, Outcome>): Promise<Outcome> {
    const wrappers = this.#wrappers?.get(work.kind) ?? []
    return runWrapped(work, [...this.#inherited(work.kind), ...wrappers.map(({ handler }) => handler)], {
      waitFor: (wait) => this.#waitFor(wait),
      report: this.#report,
    })
  }

  /** The wrappers of the parents, except those of extensions: they register again for each child. */
  #inherited<Kind extends AroundKind>(kind: Kind): readonly AroundHandler<Kind>[] {
    if (!this.#parent) return []
    const ofParent = this.#parent.#wrappers?.get(kind)?.filter((entry) => entry.tier !== tier.extension) ?? []
    return [...this.#parent.#inherited(kind), ...ofParent.map(({ handler }) => handler)]
  }

  #fire(
    name: keyof HookMap,
    list: readonly Entry[],
    from: number,
    ctx: object,
    onFailure?: FailureRule,
  ): MaybePromise<void> {
    for (let i = from; i < list.length; i++) {
      if (onFailure === failClosed && list[i]!.tier === tier.extension) seal(ctx)
      const before = onFailure === restore ? snapshot(ctx) : undefined
      try {
        const wait = list[i]!.handler(ctx)
        if (isThenable(wait))
          return this.#waitFor(wait)
            .catch((error) => this.#failed(name, error, ctx, before, onFailure))
            .then(() => this.#fire(name, list, i + 1, ctx, onFailure))
      } catch (error) {
        this.#failed(name, error, ctx, before, onFailure)
      }
    }
  }

  #waitFor(wait: PromiseLike<unknown>): Promise<unknown> {
    const promise = Promise.resolve(wait)
    return this.abandonOn ? orCancelled(promise, this.abandonOn) : promise
  }

  #failed(
    name: keyof HookMap,
    error: unknown,
    ctx: object,
    before: object | undefined,
    onFailure: FailureRule | undefined,
  ): void {
    const isAbandoned = error === waitCancelledMarker
    onFailure?.(ctx, before, isAbandoned ? new Error('the run was stopped') : error)
    if (!isAbandoned) this.#report(String(name), error)
  }

  #of(name: keyof HookMap): readonly Entry[] {
    return this.#entries.get(name) ?? none
  }

  #check(name: keyof HookMap, handler: unknown): void {
    if (!this.#names.has(name))
      throw new TypeError(`Unknown hook "${String(name)}"${didYouMean(String(name), [...this.#names].map(String))}`)
    if (typeof handler !== 'function')
      throw new TypeError(`The handler of hook "${String(name)}" must be a function, got ${typeof handler}`)
  }
}

const none: readonly Entry[] = []
const kinds: readonly AroundKind[] = ['run', 'model', 'tool']

/** Adds an item after those of its tier and before those of later tiers. */
function inserted<Item extends { readonly tier: Tier }>(list: readonly Item[], item: Item): readonly Item[] {
  const later = list.findIndex((other) => other.tier > item.tier)
  return list.toSpliced(later < 0 ? list.length : later, 0, item)
}

function failureRuleOf(name: string): FailureRule {
  if (name.endsWith(':gate')) return failClosed
  return name.endsWith('tool:transform') ? withhold : restore
}

/** Lists are copied too: a handler may have changed a list in place before the handler failed. */
function snapshot(ctx: object): object {
  const copy: Record<string, unknown> = { ...ctx }
  for (const key in copy) if (Array.isArray(copy[key])) copy[key] = [...copy[key]]
  return copy
}

const restore: FailureRule = (ctx, before = {}) => {
  for (const key of Object.keys(ctx)) if (!Object.hasOwn(before, key)) delete ctx[key]
  Object.assign(ctx, before)
}

/** Makes a block or a halt final: later handlers can only be stricter. */
function seal(ctx: { block?: boolean; halt?: unknown }): void {
  if (ctx.block === true) Object.defineProperty(ctx, 'block', { get: () => true, set() {}, enumerable: true })
  const { halt } = ctx
  if (halt !== undefined) Object.defineProperty(ctx, 'halt', { get: () => halt, set() {}, enumerable: true })
}

/** Blocks permanently, because it is unknown what the failed handler would have decided. */
const failClosed: FailureRule = (ctx, _, error) => {
  ctx.block = true
  seal(ctx)
  ctx.reason = `a gate failed: ${messageOf(error)}`
}

/** If the failed handler is the one that removes secrets, the output may contain them, so it must not be shown. */
const withhold: FailureRule = (ctx, _, error) => {
  Object.defineProperty(ctx, 'isWithheld', { value: true })
  ctx.result = `Tool error: the output was withheld because a handler failed on it: ${messageOf(error)}`
  ctx.isError = true
}

/** The hooks, for handlers of one tier. `dispose` removes everything that was added through it. */
export interface HookScope<HookMap> {
  hook<Name extends keyof HookMap>(name: Name, handler: Handler<HookMap[Name]>): Unhook
  hookAll(handlers: HandlerMap<HookMap> | undefined): void
  /** Not for `run`, which has begun by then: use `host.hooks.around` in `warmup`. */
  around<Kind extends 'model' | 'tool'>(kind: Kind, handler: AroundHandler<Kind>): Unhook
  dispose(): void
}

export function scopeOf<HookMap extends { [Name in keyof HookMap]: object }>(
  hooks: Hooks<HookMap>,
  at: Tier,
): HookScope<HookMap> {
  const unhooks: Unhook[] = []
  const scope: HookScope<HookMap> = {
    hook(name, handler) {
      const unhook = hooks.hook(name, handler, at)
      unhooks.push(unhook)
      return unhook
    },
    hookAll(handlers = {}) {
      for (const name of Object.keys(handlers) as (keyof HookMap)[]) {
        const added = handlers[name] as AnyHandler | readonly AnyHandler[] | undefined
        if (added !== undefined) for (const handler of [added].flat()) scope.hook(name, handler)
      }
    },
    around(kind, handler) {
      const unhook = hooks.around(kind, handler, at)
      unhooks.push(unhook)
      return unhook
    },
    dispose() {
      for (const unhook of unhooks.splice(0)) unhook()
    },
  }
  return scope
}
