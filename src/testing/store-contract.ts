import type { Clock } from '../core/clock.ts'
import type { SessionStore } from '../core/store.ts'
import type { ContractCase } from './contract.ts'
import { fakeClock } from './fake-clock.ts'
import { entryCases, familyCases } from './store-contract-entries.ts'
import { existenceCases } from './store-contract-existence.ts'
import { forkCases } from './store-contract-forks.ts'
import { inboxCases } from './store-contract-inbox.ts'
import { leaseCases, sharedStoreCases } from './store-contract-leases.ts'
import { pageCases } from './store-contract-pages.ts'
import { rangeCases } from './store-contract-ranges.ts'
import { summaryCases } from './store-contract-summaries.ts'

/** The requirements on a store. `make` creates an empty store for each case, which uses `clock` for the time. */
export function storeContract(
  make: (clock: Clock) => SessionStore | Promise<SessionStore>,
  {
    clock: givenClock,
    again,
  }: {
    /** Advances time for a store that takes no clock. Default: the clock that `make` gets is advanced. */
    readonly clock?: { advance(ms: number): Promise<void> }
    /**
     * Opens the same location as the last store of `make` again, as another process would. Without it, and for a store
     * with `isOneProcess`, concurrent store instances are not checked.
     */
    readonly again?: (clock: Clock) => SessionStore | Promise<SessionStore>
  } = {},
): ContractCase[] {
  const singleCases = Object.entries({
    ...{ ...entryCases, ...rangeCases, ...leaseCases, ...inboxCases, ...familyCases },
    ...{ ...existenceCases, ...summaryCases, ...pageCases, ...forkCases },
  })
  const sharedCases = again ? Object.entries(sharedStoreCases) : []
  return [
    ...singleCases.map(([name, runCase]) => ({
      name,
      async run() {
        const clock = fakeClock(1_700_000_000_000)
        const store = await make(clock)
        await runCase(store, (ms) => (givenClock ?? clock).advance(ms))
        await store.close?.()
      },
    })),
    ...sharedCases.map(([name, runCase]) => ({
      name,
      async run() {
        const clock = fakeClock(1_700_000_000_000)
        const opened = [await make(clock)]
        const reopen = async (): Promise<SessionStore> => {
          opened.push(await again!(clock))
          return opened.at(-1)!
        }
        if (!opened[0]!.isOneProcess) await runCase(reopen, opened[0]!, (ms) => (givenClock ?? clock).advance(ms))
        for (const store of opened) await store.close?.()
      },
    })),
  ]
}
