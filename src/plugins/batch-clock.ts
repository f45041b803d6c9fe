import type { Clock } from '../core/clock.ts'
import type { ToolDef } from '../core/tool.ts'

/** All calls of one answer together; time in which only people are waited for does not count. */
export const batchLimitMs = 120_000

/** Time that the calls of one answer have worked, side by side or one after the other. */
export class BatchClock {
  readonly #clock: Clock
  #turnId = ''
  #spentMs = 0
  #working = 0
  #since = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The same tool; a call ends when the time of its answer is used up. Results that are there already stay. */
  limit<Input>(tool: ToolDef<Input>, limitMs: number): ToolDef<Input> {
    return {
      ...tool,
      execute: async (input, ctx) => {
        const leftMs = limitMs - this.#begin(ctx.turnId)
        const over = new AbortController()
        let callOff = (): void => {}
        const late = new Promise<never>((_, reject) => {
          callOff = this.#clock.timer(Math.max(0, leftMs), () => {
            const error = new Error(
              `timed out: the calls of one answer may work ${limitMs / 1000} s together, and this one was not done; ask for fewer at a time`,
            )
            reject(error) // first: a tool that heeds the signal may answer at once
            over.abort(error)
          })
        })
        late.catch(() => {})
        try {
          return await Promise.race([tool.execute(input, withSignal(ctx, over.signal)), late])
        } finally {
          callOff()
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
 * The rest of a context is made of getters and private fields: it must stay the object it is. A signal of both is made
 * only for a tool that asks for it.
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
