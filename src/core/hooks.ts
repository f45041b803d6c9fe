import { type AroundHandler, type AroundKind, type AroundOutcomes, runWrapped, type Wrapped } from './around.ts'
import { type Cancellation, isThenable, orCancelled, waitCancelled } from './cancellation.ts'
import { messageOf } from './errors.ts'
import { didYouMean } from './nearest.ts'

/** A promise is awaited; any other return value is ignored. */
export type Handler<Ctx> = (ctx: Ctx) => unknown
/** Handlers by name, one or several each: what `hooks` options take. */
export type HandlerMap<HookMap> = {
  [Name in keyof HookMap]?: Handler<HookMap[Name]> | readonly Handler<HookMap[Name]>[]
}
export type Unhook = () => void

/** Who speaks first at a moment: the agent's handlers, then the run's, then the framework's own. */
export const tier = { agent: 0, run: 1, framework: 2 } as const
export type Tier = (typeof tier)[keyof typeof tier]

// biome-ignore lint/suspicious/noExplicitAny: the map's types are checked where handlers are added and moments fired
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
// biome-ignore lint/suspicious/noExplicitAny: as above
type Mend = (ctx: any, before: object | undefined, error: unknown) => void

/**
 * Named moments. Lists are copied when they change, never when they fire; a moment without handlers, or whose handlers
 * answer at once, costs no promise.
 */
export class Hooks<HookMap extends { [Name in keyof HookMap]: object }> {
  readonly #entries = new Map<keyof HookMap, readonly Entry[]>()
  readonly #names: ReadonlySet<keyof HookMap>
  readonly #report: Report
  /** Absent until there is one: calls and turns look here each time. */
  #wrappers: Map<AroundKind, readonly WrapperEntry[]> | undefined
  /** Those of the agent above, whose wrappers reach its children. */
  readonly #above: Hooks<HookMap> | undefined
  /** When to wait for handlers no longer: a run that was stopped does not hang on somebody's promise. */
  abandonOn: Cancellation | undefined

  constructor(names: ReadonlySet<keyof HookMap>, report: Report, above?: Hooks<HookMap>) {
    this.#names = names
    this.#report = report
    this.#above = above
  }

  /** Returns how to take the handler back. Throws on a name that no moment has. */
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

  /** Gives notice. A handler that fails is reported and stops nothing. */
  tell<Name extends keyof HookMap>(name: Name, ctx: HookMap[Name]): Promise<void> | void {
    const list = this.#of(name)
    if (list.length > 0) return this.#fire(name, list, 0, ctx, undefined)
  }

  /**
   * Puts a question; the answer is what handlers wrote into `ctx`. A failing handler of a gate blocks, of a tool
   * transform withholds the output; of anything else its own changes are taken back.
   */
  ask<Name extends keyof HookMap>(name: Name, ctx: HookMap[Name]): Promise<void> | void {
    const list = this.#of(name)
    if (list.length > 0) return this.#fire(name, list, 0, ctx, mendOf(String(name)))
  }

  /**
   * Runs each piece of work of a kind inside `handler`, which has to call `next` once; the first one registered is the
   * outermost. Reaches the agent's children too. Returns how to take the handler back.
   */
  around<Kind extends AroundKind>(kind: Kind, handler: AroundHandler<Kind>, at: Tier = tier.agent): Unhook {
    if (!kinds.includes(kind))
      throw new TypeError(`There is nothing to wrap that is called "${kind}"; there are ${kinds.join(', ')}`)
    if (typeof handler !== 'function')
      throw new TypeError(`The wrapper around "${kind}" must be a function (ctx, next), got ${typeof handler}`)
    if (kind === 'run' && at === tier.framework)
      throw new TypeError(
        'A run that has begun cannot be wrapped; use host.hooks.around in the warmup of the extension',
      )
    const entry: WrapperEntry = { handler, tier: at }
    this.#wrappers ??= new Map()
    this.#wrappers.set(kind, inserted(this.#wrappers.get(kind) ?? [], entry))
    return () => {
      const left = this.#wrappers?.get(kind)?.filter((other) => other !== entry) ?? []
      if (left.length > 0) this.#wrappers?.set(kind, left)
      else this.#wrappers?.delete(kind)
    }
  }

  /** Whether `wrap` has anything to do: ask before the work is put into a function. */
  isWrapped(kind: AroundKind): boolean {
    return this.#wrappers?.has(kind) || this.#above?.isWrapped(kind) || false
  }

  /** The work inside every wrapper that there is for it. */
  wrap<Kind extends AroundKind, Outcome extends AroundOutcomes[Kind]>(work: Wrapped<Kind, Outcome>): Promise<Outcome> {
    const own = this.#wrappers?.get(work.kind) ?? []
    return runWrapped(work, [...this.#inherited(work.kind), ...own.map(({ handler }) => handler)], {
      waitFor: (wait) => this.#patiently(wait),
      report: this.#report,
    })
  }

  /** Not those of extensions, which start anew with each run of a child. */
  #inherited<Kind extends AroundKind>(kind: Kind): readonly AroundHandler<Kind>[] {
    if (!this.#above) return []
    const theirs = this.#above.#wrappers?.get(kind)?.filter((entry) => entry.tier !== tier.framework) ?? []
    return [...this.#above.#inherited(kind), ...theirs.map(({ handler }) => handler)]
  }

  #fire(name: keyof HookMap, list: readonly Entry[], from: number, ctx: object, mend?: Mend): Promise<void> | void {
    for (let i = from; i < list.length; i++) {
      if (mend === failClosed && list[i]!.tier === tier.framework) seal(ctx)
      const before = mend === restore ? snapshot(ctx) : undefined
      try {
        const wait = list[i]!.handler(ctx)
        if (isThenable(wait))
          return this.#patiently(wait)
            .catch((error) => this.#failed(name, error, ctx, before, mend))
            .then(() => this.#fire(name, list, i + 1, ctx, mend))
      } catch (error) {
        this.#failed(name, error, ctx, before, mend)
      }
    }
  }

  #patiently(wait: PromiseLike<unknown>): Promise<unknown> {
    const promise = Promise.resolve(wait)
    return this.abandonOn ? orCancelled(promise, this.abandonOn) : promise
  }

  #failed(name: keyof HookMap, error: unknown, ctx: object, before: object | undefined, mend: Mend | undefined): void {
    const isGivenUp = error === waitCancelled
    mend?.(ctx, before, isGivenUp ? new Error('the run was stopped') : error)
    if (!isGivenUp) this.#report(String(name), error)
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

/** Behind those of its tier, before those of a later one. */
function inserted<Item extends { readonly tier: Tier }>(list: readonly Item[], item: Item): readonly Item[] {
  const later = list.findIndex((other) => other.tier > item.tier)
  return list.toSpliced(later < 0 ? list.length : later, 0, item)
}

function mendOf(name: string): Mend {
  if (name.endsWith(':gate')) return failClosed
  return name.endsWith('tool:transform') ? withhold : restore
}

/** Lists are copied too: a handler may have spliced one before it failed. */
function snapshot(ctx: object): object {
  const copy: Record<string, unknown> = { ...ctx }
  for (const key in copy) if (Array.isArray(copy[key])) copy[key] = [...copy[key]]
  return copy
}

const restore: Mend = (ctx, before = {}) => {
  for (const key of Object.keys(ctx)) if (!Object.hasOwn(before, key)) delete ctx[key]
  Object.assign(ctx, before)
}

/** A block stays one, and so does a halt: what comes later may tighten, never loosen. */
function seal(ctx: { block?: boolean; halt?: unknown }): void {
  if (ctx.block === true) Object.defineProperty(ctx, 'block', { get: () => true, set() {}, enumerable: true })
  const { halt } = ctx
  if (halt !== undefined) Object.defineProperty(ctx, 'halt', { get: () => halt, set() {}, enumerable: true })
}

/** Closed for good: no later handler can know what the failed one would have said. */
const failClosed: Mend = (ctx, _, error) => {
  ctx.block = true
  seal(ctx)
  ctx.reason = `a gate failed: ${messageOf(error)}`
}

/** The handler may have been the one that takes secrets out, so what it did not finish must not be shown. */
const withhold: Mend = (ctx, _, error) => {
  Object.defineProperty(ctx, 'isWithheld', { value: true })
  ctx.result = `Tool error: the output was withheld because a handler failed on it: ${messageOf(error)}`
  ctx.isError = true
}

/** The same moments seen from one tier; `dispose` takes back everything that was added through this view. */
export interface HookScope<HookMap> {
  hook<Name extends keyof HookMap>(name: Name, handler: Handler<HookMap[Name]>): Unhook
  hookAll(handlers: HandlerMap<HookMap> | undefined): void
  /** A run that has begun cannot be wrapped any more; `warmup` is early enough for that. */
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
        const given = handlers[name] as AnyHandler | readonly AnyHandler[] | undefined
        if (given !== undefined) for (const handler of [given].flat()) scope.hook(name, handler)
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
