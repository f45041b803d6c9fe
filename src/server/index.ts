/** `libero/server`: sessions and agents over HTTP, as a function from `Request` to `Response`. */

export type { Clock } from '../core/clock.ts'
export type { SessionStore, SessionSummary } from '../core/store.ts'
export type { JoinRun } from '../events/runs-elsewhere.ts'
export type { Workflow } from '../workflow/workflow-contract.ts'
export { createServer, type LiberoServer } from './create-server.ts'
export type { ServerOptions } from './server-options.ts'
