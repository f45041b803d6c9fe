/** `libero/server`: sessions and agents over HTTP, as a function from `Request` to `Response`. */

export type { Clock } from '../core/clock.ts'
export type { SessionStore, SessionSummary } from '../core/store.ts'
export type { JoinRun } from '../events/runs-elsewhere.ts'
export type { Workflow } from '../workflow/workflow-contract.ts'
export type { Caller, Scope, ServerAuth } from './caller.ts'
export { createServer, type LiberoServer } from './create-server.ts'
export type { HostGuardOptions } from './host-guard.ts'
export type { ServerLimits } from './rate-limits.ts'
export type { ServerAbout, ServerDrafts, ServerOptions } from './server-options.ts'
export type { AgentForRequest, AuthorityFor, ServedAgent } from './session-work.ts'
export type { WebhookOptions } from './webhooks/webhook.ts'
