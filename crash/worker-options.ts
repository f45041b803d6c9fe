import type { StoreKind } from './stores.ts'

/** The options of a worker, as JSON in its first argument. */
export interface WorkerOptions {
  readonly kind: StoreKind
  readonly folder: string
  /** Names the process in the ledger and as the owner of leases. */
  readonly writer: string
  /** Which plan the model follows. */
  readonly plan: number
  /** Die, stop until SIGCONT, or leave the run when a failpoint is passed for the n-th time. */
  readonly at?: { readonly name: string; readonly hit: number; readonly signal: 'SIGKILL' | 'SIGSTOP' | 'leave' }
  /** Write down which failpoints were passed. */
  readonly lists?: boolean
  readonly takeOver?: boolean
  readonly leaseMs?: number
  /** The offset of this process's clock. */
  readonly skewMs?: number
  /** Whether this process answers waiting calls like a person. */
  readonly answers?: boolean
  readonly unparks?: boolean
  /** Its task. Default `run`. */
  readonly role?: 'run' | 'steer' | 'answer'
  /** Uses its own prompt instead of the shared one. */
  readonly ownPrompt?: boolean
  /** A run that has begun waits until this file exists. */
  readonly hold?: string
}

/** The exit codes of a worker. */
export const exits = {
  done: 0,
  failed: 1,
  suspended: 3,
  busy: 4,
  leaseLost: 5,
  parked: 6,
  storeBusy: 7,
  left: 8,
} as const
