import type { AuthoritySettings, SecurityMode } from '../authority/rules/settings.ts'
import type { Verdict } from '../core/authority.ts'
import type { Clock } from '../core/clock.ts'
import type { SessionStore, SessionSummary } from '../core/store.ts'
import type { JoinRun } from '../events/runs-elsewhere.ts'
import type { WikiNode } from '../plugins/wiki/tiddlywiki/wiki-nodes.ts'
import type { Workflow } from '../workflow/workflow-contract.ts'
import type { Caller, ServerAuth } from './caller.ts'
import type { HostGuardOptions } from './host-guard.ts'
import type { ServerLimits } from './rate-limits.ts'
import type { AgentForRequest, AuthorityFor, ServedAgent, ServerFleet } from './session-work.ts'
import type { SessionWorkspace } from './session-workspace.ts'
import type { WebhookOptions } from './webhooks/webhook.ts'

/** The options of `createServer`. */
export interface ServerOptions extends HostGuardOptions {
  readonly store: SessionStore
  /** Opens the agent that works on a session. The server closes it when the session has nothing left to do. */
  readonly agentFor?: (request: AgentForRequest) => Promise<ServedAgent>
  /** Instead of `agentFor`: runs sessions in other processes. This one then stores messages and answers, and runs nothing. */
  readonly fleet?: ServerFleet
  /** There is no server without authentication. */
  readonly auth: ServerAuth
  /**
   * Opens what is known about the place in which a session works, without an agent: for settings, files, commands and the
   * like. `undefined`: the session has none.
   */
  readonly workspaceFor?: (request: AgentForRequest) => Promise<SessionWorkspace | undefined>
  /** The full path of the folder that a client names for a new session; throws if no agent can work there. Default: as it is. */
  readonly folderFor?: (folder: string) => Promise<string>
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
  readonly explain?: (call: PolicyCase, caller: Caller) => Promise<unknown>
  /** Stops when the signal aborts: the client is gone, or it took too long. */
  readonly testPolicy?: (test: PolicyTest, caller: Caller, signal: AbortSignal) => Promise<unknown>
  readonly rules?: (caller: Caller) => Promise<unknown>
  readonly grants?: (caller: Caller) => Promise<unknown>
  /** False if there was no such grant. */
  readonly revokeGrant?: (id: string, caller: Caller) => Promise<boolean>
  /** Newest first. */
  readonly audit?: (
    query: AuditQuery,
    caller: Caller,
  ) => Promise<{ readonly records: readonly unknown[]; readonly next?: string }>
  /** Gives the address to open. What `mcp` tells of the server says when it is done. */
  readonly mcpLogin?: (name: string, caller: Caller) => Promise<{ readonly url: string }>
  readonly mcpLogout?: (name: string, caller: Caller) => Promise<{ readonly removed: number; readonly revoked: number }>
  readonly mcpTest?: (name: string, caller: Caller) => Promise<unknown>
  /** Keys are left out. */
  readonly providers?: (caller: Caller) => Promise<unknown>
  readonly setKey?: (
    given: { readonly provider: string; readonly key: string; readonly check: boolean },
    caller: Caller,
  ) => Promise<void>
  /** False if nothing was stored. */
  readonly deleteKey?: (provider: string, caller: Caller) => Promise<boolean>
  /** Renders wikitext: that of `createWikitextRenderer` of `libero/plugins`. */
  readonly wikitext?: (text: string, caller: Caller) => Promise<readonly WikiNode[]>
  /** The name of the machine, and the folder of sessions without one, as far as the caller may know them. */
  readonly place?: (caller: Caller) => Promise<{ readonly host?: string; readonly folder?: string }>
}

/** A call to be explained. */
export interface PolicyCase {
  readonly tool: string
  readonly input: Readonly<Record<string, unknown>>
  readonly mode?: SecurityMode
}

/** Calls to be explained, by the rules in force or by others. */
export interface PolicyTest {
  readonly rules?: AuthoritySettings
  readonly cases: readonly (PolicyCase & { readonly expect?: Verdict })[]
}

/** Which records of the audit. */
export interface AuditQuery {
  readonly limit: number
  readonly session?: string
  readonly tool?: string
  readonly decision?: Verdict
  readonly text?: string
  /** In milliseconds since 1970. */
  readonly since: number
  readonly cursor?: string
}
