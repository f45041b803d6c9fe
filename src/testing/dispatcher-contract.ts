import { sleep } from '../core/waiting.ts'
import type { Dispatcher, Job } from '../durable/dispatcher.ts'
import type { PostgresTransaction } from '../sessions/postgres-store.ts'
import { type ContractCase, check, checkEqual } from './contract.ts'
import { dispatcherCases, type Scene, transactionCases } from './dispatcher-contract-cases.ts'
import { type FakeClock, fakeClock } from './fake-clock.ts'

/**
 * The requirements on a dispatcher. `make` creates one without jobs for each case, which uses `clock` for the time. A claim that
 * is not kept must have lapsed after ten times `extendEveryMs`.
 */
export function dispatcherContract(
  make: (clock: Omit<FakeClock, 'pending'>) => Dispatcher | Promise<Dispatcher>,
  {
    clock: makeClock = () => fakeClock(1_700_000_000_000),
    again,
    transaction,
  }: {
    /** The clock of a case, for a dispatcher whose time is that of a server. */
    readonly clock?: () => Omit<FakeClock, 'pending'>
    /** A dispatcher for the same jobs as the last one of `make`, as another process would create it. */
    readonly again?: (clock: Omit<FakeClock, 'pending'>) => Dispatcher | Promise<Dispatcher>
    /** Runs `work` in a transaction of the dispatcher's database. Without it, wakes in transactions are not checked. */
    readonly transaction?: (work: (sql: PostgresTransaction) => Promise<unknown>) => Promise<unknown>
  } = {},
): ContractCase[] {
  const cases = { ...dispatcherCases, ...(transaction && transactionCases) }
  return Object.entries(cases).map(([name, runCase]) => ({
    name,
    async run() {
      const clock = makeClock()
      const first = await make(clock)
      const second = again ? await again(clock) : first
      try {
        await runCase(sceneOf(clock, first, second, transaction))
      } finally {
        await first.close()
        if (second !== first) await second.close()
      }
    },
  }))
}

function sceneOf(
  clock: Omit<FakeClock, 'pending'>,
  first: Dispatcher,
  second: Dispatcher,
  transaction: Scene['transaction'] = async () => {},
): Scene {
  const claim: Scene['claim'] = (free, { by = first, kinds = ['coder'], tenantLimits = {} } = {}) =>
    by.claim(free, { kinds, tenantLimits })
  return {
    ...{ clock, first, second, transaction, claim },
    wake: async (...ids) => {
      for (const id of ids) await first.wake(id, { kind: 'coder' })
    },
    async expectClaimed(ids, options) {
      const jobs = await claim(100, options)
      checkEqual(namesOf(jobs), ids, 'the sessions of the claimed jobs, in this order')
      return jobs
    },
    async eventually(isTrue, what) {
      for (let tries = 0; tries < 150 && !isTrue(); tries++) await sleep(20)
      check(isTrue(), what)
    },
  }
}

const namesOf = (jobs: readonly Job[]): string[] => jobs.map(({ sessionId }) => sessionId)
