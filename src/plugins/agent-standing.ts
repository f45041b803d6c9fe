import type { EntryOf } from '../core/log.ts'
import { type AgentState, isAgentState } from './message.ts'
import type { ToolMarks } from './tool-marks.ts'

/** How an agent stands, by what its log tells of its runs. */
export class AgentStanding {
  #state: AgentState = 'submitted'
  #modified = 0
  /** Who is next, where somebody said so. */
  #yielded: string | undefined
  /** The model has said its last word. */
  #isAnswered = false
  /** How it stood when the run began that has not said anything yet. */
  #stood: { readonly state: AgentState; readonly yielded: string | undefined } | undefined

  get state(): AgentState {
    return this.#state
  }

  /** When it changed, in ms since the epoch. */
  get modified(): number {
    return this.#modified
  }

  set(state: AgentState, at: number): void {
    this.#state = state
    this.#modified = at
  }

  begin(at: number): void {
    this.#stood = { state: this.#state, yielded: this.#yielded }
    this.#yielded = undefined
    this.set('working', at)
  }

  /** Somebody has spoken to it. */
  hear(): void {
    this.#isAnswered = false
    this.#stood = undefined
  }

  /** The model has spoken, and has more to say where it calls tools or was interrupted. */
  say({ hasMore }: { readonly hasMore: boolean }): void {
    this.#isAnswered = !hasMore
    this.#stood = undefined
  }

  /** A call has its result, which may end the loop. */
  takeResult({ leavesTo }: ToolMarks): void {
    this.#stood = undefined
    if (leavesTo) this.#yielded = leavesTo
  }

  /** What a note in the log says of who is next. */
  yieldTo(value: unknown, at: number): void {
    this.#yielded = String(value)
    if (isAgentState(value)) this.set(value, at)
    if (value === 'interrupted') this.set('submitted', at)
  }

  /** False where the run found nothing to do: it leaves everything as it was, and nothing has to be said about it. */
  end({ status, stop, at }: EntryOf<'run_ended'>): boolean {
    if (this.#stood && status === 'completed' && stop !== 'max_turns') {
      const { state, yielded } = this.#stood
      this.#yielded = yielded
      this.#stood = undefined
      this.set(state === 'input-required' || state === 'canceled' ? state : this.#whenDone(), at)
      return false
    }
    // A process that died when all was said has only failed to say so.
    const isLeft = stop === 'crashed' && (this.#isAnswered || this.#yielded !== undefined)
    if (isLeft) this.set(this.#whenDone(), at)
    else this.set(stop === 'crashed' ? 'submitted' : this.#stateAfter(status), at) // whoever comes next goes on with it
    return true
  }

  /** What was retold counts. Whoever takes words back wants nothing of what followed from them: nothing is under way. */
  goBack({ isEmpty, at }: { readonly isEmpty: boolean; readonly at: number }): void {
    this.#stood = undefined
    this.set(isEmpty ? 'submitted' : 'completed', at)
  }

  #stateAfter(status: EntryOf<'run_ended'>['status']): AgentState {
    if (status === 'completed') return this.#whenDone()
    return ({ suspended: 'input-required', aborted: 'canceled', error: 'failed' } as const)[status]
  }

  #whenDone(): AgentState {
    return this.#yielded === 'human' ? 'input-required' : 'completed'
  }
}
