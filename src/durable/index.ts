/** `libero/durable`: the same program on a laptop and on many machines. */

export type { Clock } from '../core/clock.ts'
export type { PendingAnswer, Session, SessionStore, SessionSummary } from '../core/store.ts'
export { createFleet } from './create-fleet.ts'
export type * from './dispatcher.ts'
export { inProcessDispatcher } from './dispatchers/in-process.ts'
export { type PgBossDispatcherOptions, pgBossDispatcher } from './dispatchers/pg-boss.ts'
export type * from './fleet.ts'
export type * from './fleet-work.ts'
