import { aboutOf } from './face-work.ts'
import type { HeldCall } from './held-call.ts'
import { createMcpToken } from './http-guard.ts'

/** The calls whose clients are being asked something, by the state that they come back with. */
export class WaitingCalls {
  readonly #waiting = new Map<string, { readonly call: HeldCall; readonly timer: NodeJS.Timeout }>()

  /** The state is good for coming back once. */
  park(call: HeldCall): string {
    const state = createMcpToken()
    const timer = setTimeout(() => this.#drop(state), patienceMs).unref()
    this.#waiting.set(state, { call, timer })
    return state
  }

  /** The call that a client comes back for; `undefined` where there is none, or it is another. */
  take(state: string, name: string, args: unknown): HeldCall | undefined {
    const waiting = this.#waiting.get(state)
    if (!waiting || waiting.call.about !== aboutOf(name, args)) return undefined
    clearTimeout(waiting.timer)
    this.#waiting.delete(state)
    return waiting.call
  }

  close(): void {
    for (const state of [...this.#waiting.keys()]) this.#drop(state)
  }

  #drop(state: string): void {
    const waiting = this.#waiting.get(state)
    this.#waiting.delete(state)
    clearTimeout(waiting?.timer)
    waiting?.call.abort(new Error('the client did not come back'))
  }
}

/** An approval runs out of time before that. */
const patienceMs = 600_000
