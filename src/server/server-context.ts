import type { Clock } from '../core/clock.ts'
import type { SessionStore } from '../core/store.ts'
import type { SessionChanges } from '../sessions/session-changes.ts'
import type { DraftChanges } from './draft-changes.ts'
import type { RateLimits, ServerLimits } from './rate-limits.ts'
import type { Route } from './route.ts'
import type { ServerOptions } from './server-options.ts'
import type { ChosenSettings } from './session-settings.ts'
import type { AuthorityFor, SessionWork } from './session-work.ts'
import type { UsageBook } from './usage/usage-book.ts'
import type { Webhooks } from './webhooks/webhooks.ts'
import type { Workspaces } from './workspaces.ts'

/** What the routes of one server share. */
export interface ServerContext {
  readonly routes: readonly Route[]
  readonly options: ServerOptions
  readonly store: SessionStore
  readonly work: SessionWork
  readonly changes: SessionChanges
  readonly webhooks: Webhooks
  readonly usage: UsageBook
  readonly authorityFor: AuthorityFor
  readonly drafts: DraftChanges
  readonly settings: ChosenSettings
  readonly workspaces: Workspaces
  readonly limits: ServerLimits
  readonly rates: RateLimits
  readonly clock: Clock
  /** Aborts when the server closes. */
  readonly closing: AbortSignal
  /** Each ends an open stream. A signal for every stream would take more memory than the rest of it. */
  readonly openStreams: Set<() => void>
  readonly startedAt: number
}
