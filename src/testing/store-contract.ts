import type { Clock } from '../core/clock.ts'
import type { SessionStore } from '../core/store.ts'
import type { ContractCase } from './contract.ts'
import { fakeClock } from './fake-clock.ts'
import { entryCases } from './store-contract-entries.ts'
import { familyCases } from './store-contract-family.ts'
import { inboxCases } from './store-contract-inbox.ts'
import { leaseCases } from './store-contract-leases.ts'

export interface StoreContractOptions {
  /** How time passes for a store that cannot be given a clock. Default: the clock that `make` got is turned. */
  readonly clock?: { advance(ms: number): Promise<void> }
}

/** What makes a store a store. `make` gives an empty one, for each case anew, that tells the time by `clock`. */
export function storeContract(
  make: (clock: Clock) => SessionStore | Promise<SessionStore>,
  options: StoreContractOptions = {},
): ContractCase[] {
  return Object.entries({ ...entryCases, ...leaseCases, ...inboxCases, ...familyCases }).map(([name, prove]) => ({
    name,
    async run() {
      const clock = fakeClock(1_700_000_000_000)
      const store = await make(clock)
      await prove(store, (ms) => (options.clock ?? clock).advance(ms))
    },
  }))
}
