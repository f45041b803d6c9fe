import type { Behavior } from '../core/behavior.ts'
import type { Extension, Run } from '../core/run.ts'
import { Account } from './limits/account.ts'
import { Guard } from './limits/guard.ts'
import { amountsOf, Meter } from './limits/meter.ts'
import { keepTally, priced, spentBefore } from './limits/spent.ts'
import type { RunTally } from './limits/tally.ts'

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
