import type { PostgresTransaction } from '../sessions/postgres-store.ts'

/**
 * Tells workers which sessions to look at. It only gives hints: the log says whether a session needs a run, and the lease
 * decides which worker writes it. A wake may come twice or late without harm. `dispatcherContract` of `libero/testing`
 * tests what each method must do.
 */
export interface Dispatcher {
  /**
   * Asks for a look at a session. Several wakes of a session that waits to be claimed are one job. A wake that comes while
   * a job of the session is claimed is kept: one more job follows.
   */
  wake(sessionId: string, options: WakeOptions): Promise<void>
  /** Claims at most `free` jobs that are due, the oldest first, as far as the limits of their tenants allow. */
  claim(free: number, options: ClaimOptions): Promise<readonly Job[]>
  /** Keeps the claims of jobs. A job whose claim is not kept may be claimed again, by any worker. */
  extend(jobs: readonly Job[]): Promise<void>
  /** Removes jobs that are done. Does nothing for a job that was claimed again since. */
  settle(jobs: readonly Job[]): Promise<void>
  /** How often a worker must call `extend`, in milliseconds. */
  readonly extendEveryMs: number
  /** Calls `listener` when there may be a job to claim. Returns a function that stops it. Without it workers only poll. */
  onWake?(listener: () => void): () => void
  /**
   * Makes what wakes of a kind need, and finds out whether the queue can be reached. Called before a transaction with such a wake:
   * to make an index, Postgres may wait for the end of all others, and no connection of the store is kept meanwhile.
   */
  start?(kind: string): Promise<void>
  /** Counts jobs, for people. */
  stats?(): Promise<DispatcherStats>
  close(): Promise<void>
}

export interface WakeOptions {
  /** Only a worker that has this kind of agent claims the job. */
  readonly kind: string
  /** Default: the empty text, a tenant of its own. */
  readonly tenant?: string
  /** Not before this time, in milliseconds since 1970. */
  readonly at?: number
  /** Claimed before others that are due, if the dispatcher can: a run was interrupted, and should not wait behind new work. */
  readonly isUrgent?: boolean
  /** The wake counts when this transaction commits, or right after it if the dispatcher uses another database. */
  readonly transaction?: PostgresTransaction
  /** Called if the wake fails after the commit, when `wake` has resolved. */
  readonly onFailure?: (error: unknown) => void
}

export interface ClaimOptions {
  readonly kinds: readonly string[]
  /** How many jobs of a tenant may be claimed at once, over all workers. */
  readonly tenantLimits: TenantLimits
}

/** The limit of each tenant by its name; `default` is that of the others. Without `default` they have none. */
export type TenantLimits = Readonly<Record<string, number>>

/** A session to look at. */
export interface Job {
  readonly sessionId: string
  readonly kind: string
  readonly tenant: string
  /** 1 for the first claim; higher if a worker before did not keep its claim. */
  readonly attempt: number
  /** When the job could be claimed at the earliest. */
  readonly dueAt: number
}

export interface DispatcherStats {
  /** Jobs that are due and wait for a worker. */
  readonly waiting: number
  readonly claimed: number
  /** Jobs for a later time. */
  readonly later: number
  /** When the oldest waiting job was due. */
  readonly oldestDueAt?: number
}
