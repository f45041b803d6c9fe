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
 * `behavior.limits`: hard limits for a run and its children. The most that a request may use is reserved before it is sent.
 * A request that does not fit is not sent, and the run ends with what it has.
 */
export function limits(): Extension {
  return {
    name: 'limits',
    async start(run, hooks) {
      const tally = keepTally(run)
      const { account, own } = await openAccount(run)
      await countEarlierCalls(run, account, tally)
      const guard = new Guard(run, account, tally)
      run.provider = guard.metered(run.provider)
      run.progress.areFailuresCounted = true
      guards.set(run, guard)
      hooks.hook('turn:after', (turn) => guard.afterTurn(turn))
      hooks.hook('turn:next', (next) => guard.nextTurn(next))
      hooks.hook('agent:done', ({ stopReason }) => guard.done(stopReason))
      if (own) hooks.hook('session:end', guard.limitTime(own))
    },
  }
}

/** Counts tool calls. A separate extension because its gate must be the last one: calls that others block do not count. */
export function limitedCalls(): Extension {
  return {
    name: 'limited-calls',
    start(run, hooks) {
      hooks.hook('tool:gate', (gate) => guards.get(run)?.gate(gate))
    },
  }
}

const guards = new WeakMap<Run, Guard>()

/** Counts the model calls of extensions that started before this one. */
async function countEarlierCalls(run: Run, { meters }: Account, tally: RunTally): Promise<void> {
  for (const one of run.progress.turnUsage) {
    const used = { usage: one, model: one.model ?? run.settings.model }
    const amounts = amountsOf(await priced(run, used), 1)
    for (const meter of meters) meter.spend(amounts)
    tally.replies.push(used)
  }
}

/** The reserved fraction: only a structured answer is requested after the work has ended. */
const reserveOf = ({ schema, limits }: Behavior): number => (schema ? (limits?.reserve ?? defaultReserve) : 0)

const defaultReserve = 0.2

/** The account of each run, for its children: they may have extensions of their own. */
const accounts = new WeakMap<Run, Account>()

/** A child with its parent's limits shares the parent's meters; other limits add a meter. */
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

/** Keeps one run within its account, and reports limits that are near or reached. */
export class Guard {
  readonly #run: Run
  readonly #account: Account
  readonly #tally: RunTally
  /** Limits that the model was warned of. */
  readonly #warned = new Set<string>()
  /** A limit that was reached and not reported yet. */
  #reached: LimitState | undefined
  /** The limit that cut the latest reply short. */
  #cutBy: LimitState | undefined
  /** A call was refused or a reply was cut short: no other turn follows. */
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

  /** Counts a call or blocks it. */
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
    // Side calls come before the reply of the turn, so a limit noted here cut the turn's own reply.
    if (this.#cutBy && !error) this.#endAfterTurn(this.#cutBy)
    if (error instanceof AgentBudgetError) await this.#reportReached(turnId)
    // The run went on without a side call that did not fit.
    else if (!this.#isLastTurn) this.#reached = undefined
  }

  async nextTurn(next: HookContexts['turn:next']): Promise<void> {
    const full = this.#isLastTurn ? this.#reached : this.#usedUp(next)
    if (full) {
      next.error = this.#refuse(full, 'there is more to do')
      next.stop = false // extensions need not end the run themselves
      return this.#reportReached(next.turnId)
    }
    if (next.stop) return
    for (const state of this.#near()) {
      next.add.push(noteOn(state))
      await this.#run.hooks.tell('limit:near', { turnId: next.turnId, ...state })
    }
  }

  async done(stopReason: string): Promise<void> {
    if (stopReason === 'budget') await this.#reportReached('')
  }

  /** Cancels the run when its time is over. Returns a function that stops the timer. */
  limitTime(meter: Meter): () => void {
    const { clock, cancellation } = this.#run
    let stopTimer = (): void => {}
    const check = (): void => {
      const state = meter.state('timeMs')
      const left = state.max - state.spent
      if (left > 0) {
        stopTimer = clock.timer(left, check) // checks again: timers have a maximum length
        return
      }
      const error = this.#refuse(state, 'there is more to do')
      void this.#reportReached('')
      cancellation.cancel(error)
    }
    const { timeMs } = meter.limits
    if (timeMs !== undefined && timeMs !== noLimit) check()
    return () => stopTimer()
  }

  #endAfterTurn(state: LimitState): void {
    this.#isLastTurn = true
    this.#reached = state
  }

  #refuse(state: LimitState, why: string): AgentBudgetError {
    this.#reached = state
    const { limit, spent, max } = state
    return new AgentBudgetError(limit, `The budget is used up: ${spent} of ${max} (limits.${limit}), and ${why}`)
  }

  async #reportReached(turnId: string): Promise<void> {
    const state = this.#reached
    this.#reached = undefined
    if (state) await this.#run.hooks.tell('limit:reached', { turnId, ...state })
  }

  /** A limit that allows no other turn. Without tool calls left, the model may still answer. */
  #usedUp({ stop }: HookContexts['turn:next']): LimitState | undefined {
    if (stop) return undefined
    for (const { states } of this.#account.meters)
      for (const state of states)
        if (endsRuns.has(state.limit) && state.spent >= state.max && !isFree(state)) return state
    return undefined
  }

  /** Limits that have become near; each is returned once. */
  #near(): LimitState[] {
    const near: LimitState[] = []
    for (const meter of this.#account.meters)
      for (const state of meter.states) {
        if (this.#warned.has(state.limit) || isFree(state)) continue
        const forWork = state.max - meter.reserved(state.limit)
        if (state.spent < forWork * (meter.limits.warnAt ?? defaultWarnAt)) continue
        this.#warned.add(state.limit)
        near.push(state)
      }
    return near
  }
}

const defaultWarnAt = 0.8
const noLimit = Number.POSITIVE_INFINITY
const endsRuns: ReadonlySet<string> = new Set(['cost', 'tokens', 'turns'])

/** With a cost limit of 0, a run continues as long as it is free of charge. */
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
