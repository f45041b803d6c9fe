import type { StoreKind } from './stores.ts'

/** What a world is told, as JSON in its first argument. */
export interface WorldOptions {
  readonly kind: StoreKind
  readonly folder: string
  /** Names the process in the ledger and as the owner of leases. */
  readonly writer: string
  /** Which plan the model follows. */
  readonly plan: number
  /** Die (or stop until SIGCONT) when a failpoint is passed for the n-th time. */
  readonly at?: { readonly name: string; readonly hit: number; readonly signal: 'SIGKILL' | 'SIGSTOP' }
  /** Write down which failpoints were passed. */
  readonly lists?: boolean
  readonly takeOver?: boolean
  readonly leaseMs?: number
  /** What this process's clock is off by. */
  readonly skewMs?: number
  /** Whether this process answers the calls that wait, in the place of a person. */
  readonly answers?: boolean
  readonly unparks?: boolean
  /** What it came for. Default `run`. */
  readonly role?: 'run' | 'steer' | 'answer'
  /** Says something of its own instead of the prompt that all share. */
  readonly ownPrompt?: boolean
  /** A run that has begun waits until this file is there. */
  readonly hold?: string
}

/** How a world ends, as exit codes. */
export const exits = { done: 0, failed: 1, suspended: 3, busy: 4, leaseLost: 5, parked: 6, storeBusy: 7 } as const
