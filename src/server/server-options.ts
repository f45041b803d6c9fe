import type { Clock } from '../core/clock.ts'
import type { SessionStore, SessionSummary } from '../core/store.ts'
import type { JoinRun } from '../events/runs-elsewhere.ts'
import type { Workflow } from '../workflow/workflow-contract.ts'
import type { Caller, ServerAuth } from './caller.ts'
import type { HostGuardOptions } from './host-guard.ts'
import type { ServerLimits } from './rate-limits.ts'
import type { AgentForRequest, AuthorityFor, ServedAgent } from './session-work.ts'
import type { SessionWorkspace } from './session-workspace.ts'
import type { WebhookOptions } from './webhooks/webhook.ts'

/** The options of `createServer`. */
export interface ServerOptions extends HostGuardOptions {
  readonly store: SessionStore
  /** Opens the agent that works on a session. The server closes it when the session has nothing left to do. */
  readonly agentFor: (request: AgentForRequest) => Promise<ServedAgent>
  /** There is no server without authentication. */
  readonly auth: ServerAuth
  /**
   * Opens what is known about the place in which a session works, without an agent: for settings, files, commands and the
   * like. `undefined`: the session has none.
   */
  readonly workspaceFor?: (request: AgentForRequest) => Promise<SessionWorkspace | undefined>
  /** The authority that signs answers. Each tenant must have its own. Without it calls that wait can only be denied. */
  readonly authorityFor?: AuthorityFor
  /** Agents and schedules. For several tenants: one for each. */
  readonly workflowFor?: (tenant: string | undefined) => Promise<Workflow | undefined>
  /** What the routes about models, tools, settings, rules and the audit tell. */
  readonly about?: ServerAbout
  /** Unsent texts of clients, by session. Default: in memory. */
  readonly drafts?: ServerDrafts
  /** The path before the routes, such as `/libero`. Default: empty. */
  readonly basePath?: string
  readonly limits?: Partial<ServerLimits>
  /** Joins runs of other processes on this machine, so that their deltas come too: `joinLocalRuns` of `libero/rpc`. */
  readonly join?: JoinRun
  /** Whether the server continues a session that needs attention by itself. Default: every one. */
  readonly mayContinue?: (summary: SessionSummary) => boolean | Promise<boolean>
  /** Where webhooks may lead to. Default: to public https addresses. */
  readonly webhooks?: WebhookOptions
  /** Lets tenants run commands on this machine itself, without a container around them. */
  readonly trustsAllUsers?: boolean
  readonly clock?: Clock
  /** Called with errors that clients get only as `internal`, and with wrong tokens. Default: the console. */
  readonly onError?: (error: Error) => void
}

/** Texts that clients have not sent yet. */
export interface ServerDrafts {
  load(sessionId: string): Promise<string>
  /** An empty text removes the draft. */
  save(sessionId: string, text: string): Promise<void>
}

/** Facts about the host, as JSON. A function that is absent is answered with a problem `not_offered`. */
export interface ServerAbout {
  readonly models?: (caller: Caller) => Promise<unknown>
  readonly tools?: (caller: Caller) => Promise<unknown>
  readonly mcp?: (caller: Caller) => Promise<unknown>
  readonly skills?: (caller: Caller) => Promise<unknown>
  /** Secrets are left out. */
  readonly settings?: (caller: Caller) => Promise<unknown>
  readonly changeSettings?: (changes: Readonly<Record<string, unknown>>, caller: Caller) => Promise<unknown>
  /** What the rules say about a call, and why. */
  readonly explain?: (
    call: { readonly tool: string; readonly input: Readonly<Record<string, unknown>> },
    caller: Caller,
  ) => Promise<unknown>
  readonly audit?: (query: { readonly limit: number; readonly session?: string }, caller: Caller) => Promise<unknown>
}
