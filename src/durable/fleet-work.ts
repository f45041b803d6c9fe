import type { Clock } from '../core/clock.ts'
import type { SessionStore, SessionSummary } from '../core/store.ts'
import type { Dispatcher, Job } from './dispatcher.ts'

/**
 * Work of a fleet that is no run of a plain session: agents of a workflow, deliveries to webhooks. A worker claims the jobs of
 * `kind` and passes them here; every other kind is one of `createFleet({ kinds })`.
 */
export interface FleetWork {
  /** The kind of its jobs. */
  readonly kind: string
  /** Its jobs run sessions, for long: a session that may have ended its process is not run beside them, if possible. */
  readonly runsSessions?: boolean
  /** Whether jobs of this session belong here: the fleet then wakes it with the kind above, not with `kind`, that of the session. */
  owns(sessionId: string, kind?: string): boolean
  /**
   * Does what a job asks for, and resolves when the job can be settled. What has to be done later is a wake of its own
   * (`context.dispatcher.wake`). Rejects for errors that are reported; the job is settled all the same.
   */
  work(job: Job, context: FleetJobContext): Promise<void>
  /** Called by every worker when it begins, and with each look of its reconciler. Must be cheap when there is nothing to do. */
  reconcile?(context: FleetWorkContext): Promise<void>
  /** Called by a worker after it has worked on a session of any kind: its log may have changed. */
  worked?(session: Pick<SessionSummary, 'id' | 'tenant'>, context: FleetWorkContext): Promise<void>
  /** Called after `context.signal` has aborted: resolves when this worker does nothing more here. */
  stop?(context: FleetWorkContext): Promise<void>
}

/** What a worker gives to its work. */
export interface FleetWorkContext {
  /** The id of the worker. */
  readonly worker: string
  readonly store: SessionStore
  readonly dispatcher: Pick<Dispatcher, 'wake'>
  readonly clock: Clock
  readonly onError: (error: Error) => void
  /** Aborts when the worker leaves its work to others. */
  readonly signal: AbortSignal
}

export interface FleetJobContext extends FleetWorkContext {
  /** Whether a session may run in this process now: not while one that may have killed its process runs alone. */
  admit(summary: SessionSummary): Promise<boolean>
}
