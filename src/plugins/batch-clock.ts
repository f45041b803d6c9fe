import type { Clock } from '../core/clock.ts'
import type { ToolDef } from '../core/tool.ts'

/** For all calls of one answer together; time spent waiting for people does not count. */
export const batchLimitMs = 120_000

/** Measures how long the calls of one answer have run, in parallel or one after the other. */
export class BatchClock {
  readonly #clock: Clock
  #turnId = ''
  #spentMs = 0
  #working = 0
  #since = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The same tool; a call ends when the time of its answer is used up. Earlier results stay. */
  limit<Input>(tool: ToolDef<Input>, limitMs: number): ToolDef<Input> {
    return {
      ...tool,
      execute: async (input, ctx) => {
        const leftMs = limitMs - this.#begin(ctx.turnId)
        const over = new AbortController()
        let cancelTimer = (): void => {}
        const late = new Promise<never>((_, reject) => {
          cancelTimer = this.#clock.timer(Math.max(0, leftMs), () => {
            const error = new Error(
              `timed out: the calls of one answer may work ${limitMs / 1000} s together, and this one was not done; ask for fewer at a time`,
            )
            reject(error) // first, as a tool may return as soon as the signal aborts
            over.abort(error)
          })
        })
        late.catch(() => {})
        try {
          return await Promise.race([tool.execute(input, withSignal(ctx, over.signal)), late])
        } finally {
          cancelTimer()
          this.#end()
        }
      },
    }
  }

  #begin(turnId: string): number {
    const now = this.#clock.now()
    if (turnId !== this.#turnId && this.#working === 0) {
      this.#turnId = turnId
      this.#spentMs = 0
    }
    const spent = this.#spentMs + (this.#working > 0 ? now - this.#since : 0)
    if (this.#working++ === 0) this.#since = now
    return spent
  }

  #end(): void {
    if (--this.#working === 0) this.#spentMs += this.#clock.now() - this.#since
  }
}

/**
 * A proxy, because a context has getters and private fields. The combined signal is created only for a tool that reads
 * it.
 */
function withSignal<Context extends { readonly signal: AbortSignal }>(ctx: Context, over: AbortSignal): Context {
  let signal: AbortSignal | undefined
  return new Proxy(ctx, {
    get(target, name) {
      if (name !== 'signal') return Reflect.get(target, name, target)
      signal ??= AbortSignal.any([target.signal, over])
      return signal
    },
  })
}
