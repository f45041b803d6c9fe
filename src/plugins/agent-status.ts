import type { EntryOf } from '../core/log.ts'
import { type AgentState, isAgentState } from './message.ts'
import type { ToolMarks } from './tool-marks.ts'

/** The state of an agent, by the entries of its log. */
export class AgentStatus {
  #state: AgentState = 'submitted'
  #modified = 0
  /** Who is next, if a tool, a plugin or a handler said so. */
  #yielded: string | undefined
  /** The last message is an answer of the model without open calls. */
  #isAnswered = false
  /** The state before the current run, until the run has logged something. */
  #beforeRun: { readonly state: AgentState; readonly yielded: string | undefined } | undefined

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
    this.#beforeRun = { state: this.#state, yielded: this.#yielded }
    this.#yielded = undefined
    this.set('working', at)
  }

  userMessage(): void {
    this.#isAnswered = false
    this.#beforeRun = undefined
  }

  /** `hasMore`: it has calls, or was interrupted. */
  modelMessage({ hasMore }: { readonly hasMore: boolean }): void {
    this.#isAnswered = !hasMore
    this.#beforeRun = undefined
  }

  /** A call has its result, which may end the loop. */
  takeResult({ leavesTo }: ToolMarks): void {
    this.#beforeRun = undefined
    if (leavesTo) this.#yielded = leavesTo
  }

  /** A note of the log says who is next. */
  yieldTo(value: unknown, at: number): void {
    this.#yielded = String(value)
    if (isAgentState(value)) this.set(value, at)
    if (value === 'interrupted') this.set('submitted', at)
  }

  /** False if the run found nothing to do: the state is as before, and there is nothing to report. */
  end({ status, stop, at }: EntryOf<'run_ended'>): boolean {
    if (this.#beforeRun && status === 'completed' && stop !== 'max_turns') {
      const { state, yielded } = this.#beforeRun
      this.#yielded = yielded
      this.#beforeRun = undefined
      this.set(state === 'input-required' || state === 'canceled' ? state : this.#stateWhenDone(), at)
      return false
    }
    // A process that died after the answer only failed to log the end.
    const isDone = stop === 'crashed' && (this.#isAnswered || this.#yielded !== undefined)
    if (isDone) this.set(this.#stateWhenDone(), at)
    else this.set(stop === 'crashed' ? 'submitted' : this.#stateAfter(status), at) // the next process continues it
    return true
  }

  /** After the remaining entries were applied again: a rewind cancels all work that followed from the removed messages. */
  rewind({ isEmpty, at }: { readonly isEmpty: boolean; readonly at: number }): void {
    this.#beforeRun = undefined
    this.set(isEmpty ? 'submitted' : 'completed', at)
  }

  #stateAfter(status: EntryOf<'run_ended'>['status']): AgentState {
    if (status === 'completed') return this.#stateWhenDone()
    return ({ suspended: 'input-required', aborted: 'canceled', error: 'failed', left: 'submitted' } as const)[status]
  }

  #stateWhenDone(): AgentState {
    return this.#yielded === 'human' ? 'input-required' : 'completed'
  }
}
