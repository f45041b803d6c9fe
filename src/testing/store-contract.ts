import type { Clock } from '../core/clock.ts'
import type { SessionStore } from '../core/store.ts'
import type { ContractCase } from './contract.ts'
import { fakeClock } from './fake-clock.ts'
import { entryCases } from './store-contract-entries.ts'
import { familyCases } from './store-contract-family.ts'
import { inboxCases } from './store-contract-inbox.ts'
import { leaseCases } from './store-contract-leases.ts'
import { rivalCases } from './store-contract-rivals.ts'

export interface StoreContractOptions {
  /** How time passes for a store that cannot be given a clock. Default: the clock that `make` got is turned. */
  readonly clock?: { advance(ms: number): Promise<void> }
  /**
   * Opens the place of the store that `make` gave last once more, as another process would. Without it, and for a store
   * that declares itself `isOneProcess`, nothing is shown about rivals.
   */
  readonly again?: (clock: Clock) => SessionStore | Promise<SessionStore>
}

/** What makes a store a store. `make` gives an empty one, for each case anew, that tells the time by `clock`. */
export function storeContract(
  make: (clock: Clock) => SessionStore | Promise<SessionStore>,
  { clock: turned, again }: StoreContractOptions = {},
): ContractCase[] {
  const alone = Object.entries({ ...entryCases, ...leaseCases, ...inboxCases, ...familyCases })
  const rivals = again ? Object.entries(rivalCases) : []
  return [
    ...alone.map(([name, prove]) => ({
      name,
      async run() {
        const clock = fakeClock(1_700_000_000_000)
        const store = await make(clock)
        await prove(store, (ms) => (turned ?? clock).advance(ms))
        await store.close?.()
      },
    })),
    ...rivals.map(([name, prove]) => ({
      name,
      async run() {
        const clock = fakeClock(1_700_000_000_000)
        const opened = [await make(clock)]
        const reopen = async (): Promise<SessionStore> => {
          opened.push(await again!(clock))
          return opened.at(-1)!
        }
        if (!opened[0]!.isOneProcess) await prove(reopen, opened[0]!, (ms) => (turned ?? clock).advance(ms))
        for (const store of opened) await store.close?.()
      },
    })),
  ]
}
