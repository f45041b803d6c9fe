import type { Behavior } from '../core/behavior.ts'
import { AgentBudgetError } from '../core/errors.ts'
import type { LimitState } from '../core/feature-hooks.ts'
import type { HookContexts } from '../core/hook-map.ts'
import { type Provider, plainProvider } from '../core/provider.ts'
import type { Extension, Run } from '../core/run.ts'
import { Account } from './limits/account.ts'
import { Estimator } from './limits/estimate.ts'
import { amountsOf, Meter } from './limits/meter.ts'
import { MeteredStream, type Metering } from './limits/metered-stream.ts'
import { keepTally, priced, type RunTally, spentBefore } from './limits/tally.ts'

/**
 * `behavior.limits`: hard limits for a run with all that it starts. What a request may use up is reserved before it is
 * sent; what does not fit is not sent, and ends the run with what it has.
 */
export function limits(): Extension {
  return {
    name: 'limits',
    async start(run, hooks) {
      const tally = keepTally(run)
      const { account, own } = await openAccount(run)
      await countBeginning(run, account, tally)
      const guard = new Guard(run, account, tally)
      run.provider = guard.metered(run.provider)
      guards.set(run, guard)
      hooks.hook('turn:after', (turn) => guard.afterTurn(turn))
      hooks.hook('turn:next', (next) => guard.nextTurn(next))
      hooks.hook('agent:done', ({ stopReason }) => guard.done(stopReason))
      if (own) hooks.hook('session:end', guard.limitTime(own))
    },
  }
}

/** The part that counts calls: it has the last word at a gate, so that what others block is not counted. */
export function limitedCalls(): Extension {
  return {
    name: 'limited-calls',
    start(run, hooks) {
      hooks.hook('tool:gate', (gate) => guards.get(run)?.gate(gate))
    },
  }
}

const guards = new WeakMap<Run, Guard>()

/** What extensions that began before this one have asked a model already. */
async function countBeginning(run: Run, { meters }: Account, tally: RunTally): Promise<void> {
  for (const one of run.progress.turnUsage) {
    const used = { usage: one, model: one.model ?? run.settings.model }
    const amounts = amountsOf(await priced(run, used), 1)
    for (const meter of meters) meter.spend(amounts)
    tally.replies.push(used)
  }
}

/** Only a final answer in a shape is asked for when the work is over. */
const reserveOf = ({ schema, limits }: Behavior): number => (schema ? (limits?.reserve ?? usualReserve) : 0)

const usualReserve = 0.2

/** For the children of a run, whose extensions need not be their parent's. It goes with the run. */
const accounts = new WeakMap<Run, Account>()

/** A child that was given its parent's limits counts on its parent's meters; other limits are a meter besides. */
async function openAccount(run: Run): Promise<{ account: Account; own: Meter | undefined }> {
  const { parent, clock } = run
  const { behavior } = run.settings
  const { limits } = behavior
  const above = parent && accounts.get(parent)
  const isShared = above !== undefined && limits === parent?.settings.behavior.limits
  const own =
    limits && !isShared ? new Meter(limits, await spentBefore(run, limits), clock, reserveOf(behavior)) : undefined
  const account = new Account(own, above)
  accounts.set(run, account)
  return { account, own }
}

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
