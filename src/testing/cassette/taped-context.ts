import type { Log } from '../../core/log.ts'
import type { ToolContext } from '../../core/tool.ts'
import { copyJson } from '../../core/turn.ts'
import type { ToolStep } from './tape-items.ts'

export interface Watcher {
  readonly mark: (step: ToolStep) => Promise<void>
  readonly note: (step: ToolStep) => void
  readonly hold?: (work: Promise<unknown>) => void
}

/**
 * A tool's context that says what the tool does through it, before it does it. `mark` is awaited, so that a step has
 * its place in the order of things; `note` is for what nobody waits for.
 */
export function tapedContext(ctx: ToolContext, { mark, note, hold }: Watcher): ToolContext {
  const log = proxyOf(ctx.log, {
    append: (...bodies) => appendAll(bodies),
    appendAll,
  })
  return proxyOf(ctx, {
    log,
    async call(tool, input) {
      await mark({ did: 'call', tool, input: copyJson(input) })
      return ctx.call(tool, input)
    },
    async fork(options) {
      await mark({ did: 'fork' })
      const forking = ctx.fork(options)
      hold?.(forking)
      return forking
    },
    progress(text) {
      note({ did: 'progress', text: String(text) })
      ctx.progress(text)
    },
  })

  async function appendAll(bodies: Parameters<Log['appendAll']>[0]): Promise<void> {
    await mark({ did: 'append', bodies: copyJson(bodies) })
    await ctx.log.appendAll(bodies)
  }
}

/** The same object with some members replaced. Its own getters and methods must see it, not the proxy. */
function proxyOf<T extends object>(target: T, replaced: Partial<T>): T {
  return new Proxy(target, {
    get(_, key) {
      if (Object.hasOwn(replaced, key)) return Reflect.get(replaced, key)
      const value = Reflect.get(target, key, target) as unknown
      return typeof value === 'function' && key in Object.getPrototypeOf(target) ? bound(value, target) : value
    },
  })
}

const bound = (method: unknown, target: object): unknown => (method as (...args: unknown[]) => unknown).bind(target)
