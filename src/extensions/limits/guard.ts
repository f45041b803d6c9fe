import { AgentBudgetError } from '../../core/errors.ts'
import type { LimitState } from '../../core/feature-hooks.ts'
import type { HookContexts } from '../../core/hook-map.ts'
import { type Provider, plainProvider } from '../../core/provider.ts'
import type { Run } from '../../core/run.ts'
import type { Account } from './account.ts'
import { Estimator } from './estimate.ts'
import type { Meter } from './meter.ts'
import { MeteredStream, type Metering } from './metered-stream.ts'
import type { RunTally } from './tally.ts'

/** Sees to it that one run keeps within its account, and says so where it would not. */
export class Guard {
  readonly #run: Run
  readonly #account: Account
  readonly #tally: RunTally
  /** Limits of which the model was told. */
  readonly #told = new Set<string>()
  /** A limit that was met, until it is told. */
  #met: LimitState | undefined
  /** The limit that cut the latest reply short. */
  #cutBy: LimitState | undefined
  /** A call was refused, or a reply cut short: there will be no other turn. */
  #isLastTurn = false

  constructor(run: Run, account: Account, tally: RunTally) {
    this.#run = run
    this.#account = account
    this.#tally = tally
  }

  metered(provider: Provider): Provider {
    const metering: Metering = {
      run: this.#run,
      account: this.#account,
      tally: this.#tally,
      provider,
      estimator: new Estimator(),
      refuse: (state, why) => this.#refuse(state, why),
      replied: (cutBy) => {
        this.#cutBy = cutBy
      },
    }
    return { ...plainProvider(provider), stream: (request, signal) => new MeteredStream(metering, request, signal) }
  }

  /** Counts a call, or blocks it. */
  gate(gate: HookContexts['tool:gate']): void {
    if (gate.block || gate.halt) return
    const { meters } = this.#account
    const call = `${this.#run.log.id}/${gate.callId}`
    const full = meters.find(({ calls, limits }) => !calls.has(call) && calls.size >= (limits.toolCalls ?? noLimit))
    if (!full) {
      this.#tally.calls.add(call)
      for (const { calls } of meters) calls.add(call)
      return
    }
    this.#endAfterTurn(full.state('toolCalls'))
    gate.block = true
    gate.reason = `the budget of ${full.limits.toolCalls} tool calls is used up`
  }

  async afterTurn({ turnId, error }: HookContexts['turn:after']): Promise<void> {
    // The latest reply is that of the turn itself: what was asked aside before it did its part, cut or not.
    if (this.#cutBy && !error) this.#endAfterTurn(this.#cutBy)
    if (error instanceof AgentBudgetError) await this.#tellOfIt(turnId)
    // A call aside that did not fit was done without.
    else if (!this.#isLastTurn) this.#met = undefined
  }

  async nextTurn(next: HookContexts['turn:next']): Promise<void> {
    const full = this.#isLastTurn ? this.#met : this.#usedUp(next)
    if (full) {
      next.error = this.#refuse(full, 'there is more to do')
      next.stop = false // nobody needs to bring it to a good end
      return this.#tellOfIt(next.turnId)
    }
    if (next.stop) return
    for (const state of this.#near()) {
      next.add.push(noteOn(state))
      await this.#run.hooks.tell('limit:near', { turnId: next.turnId, ...state })
    }
  }

  async done(stopReason: string): Promise<void> {
    if (stopReason === 'budget') await this.#tellOfIt('')
  }

  /** Stops the run when its time is over. Returns how to call that off. */
  limitTime(meter: Meter): () => void {
    const { clock, cancellation: stop } = this.#run
    let callOff = (): void => {}
    const look = (): void => {
      const state = meter.state('timeMs')
      const left = state.max - state.spent
      if (left > 0) {
        callOff = clock.timer(left, look) // again, where no timer runs that long
        return
      }
      const error = this.#refuse(state, 'there is more to do')
      void this.#tellOfIt('')
      stop.cancel(error)
    }
    const { timeMs } = meter.limits
    if (timeMs !== undefined && timeMs !== noLimit) look()
    return () => callOff()
  }

  #endAfterTurn(state: LimitState): void {
    this.#isLastTurn = true
    this.#met = state
  }

  #refuse(state: LimitState, why: string): AgentBudgetError {
    this.#met = state
    const { limit, spent, max } = state
    return new AgentBudgetError(limit, `The budget is used up: ${spent} of ${max} (limits.${limit}), and ${why}`)
  }

  async #tellOfIt(turnId: string): Promise<void> {
    const state = this.#met
    this.#met = undefined
    if (state) await this.#run.hooks.tell('limit:reached', { turnId, ...state })
  }

  /** A limit that leaves nothing for another turn. Who has no calls left may still give an answer. */
  #usedUp({ stop }: HookContexts['turn:next']): LimitState | undefined {
    if (stop) return undefined
    for (const { states } of this.#account.meters)
      for (const state of states)
        if (endsRuns.has(state.limit) && state.spent >= state.max && !isFree(state)) return state
    return undefined
  }

  /** Limits that have become near, each once. */
  #near(): LimitState[] {
    const near: LimitState[] = []
    for (const meter of this.#account.meters)
      for (const state of meter.states) {
        if (this.#told.has(state.limit) || isFree(state)) continue
        const forWork = state.max - meter.kept(state.limit)
        if (state.spent < forWork * (meter.limits.warnAt ?? usualWarning)) continue
        this.#told.add(state.limit)
        near.push(state)
      }
    return near
  }
}

const usualWarning = 0.8
const noLimit = Number.POSITIVE_INFINITY
const endsRuns: ReadonlySet<string> = new Set(['cost', 'tokens', 'turns'])

/** Whoever may spend nothing may go on as long as it costs nothing. */
const isFree = ({ limit, spent, max }: LimitState): boolean => limit === 'cost' && spent === 0 && max === 0

function noteOn({ limit, spent, max }: LimitState): string {
  const part = max > 0 ? Math.floor((100 * spent) / max) : 100
  return `[Budget: ${part} % of the ${names[limit]} for this task used; finish soon.]`
}

const names: Readonly<Record<string, string>> = {
  cost: 'money',
  tokens: 'tokens',
  turns: 'model calls',
  timeMs: 'time',
  toolCalls: 'tool calls',
}
